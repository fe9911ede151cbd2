"""What became of the rules of TileGym's own skill: those that text decides are here, or shown not to hold."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.skill.lint.test_rules import found

from tileport_skill.emit.cli import built_emitter
from tileport_skill.emit.mapping import Request
from tileport_skill.emit.program import Emitter
from tileport_skill.lint.registry import BY_PROGRAM, DECIDABLE_FROM_TEXT, NO_LONGER_TRUE, RULES
from tileport_skill.lint.rules.kernel import module
from tileport_skill.tileir.assemble import disassemble

ONES = "let a: Tile<f32, { [N] }> = constant(1.0f32, const_shape![N]);"
POINTERS = (
    "let p: PointerTile<*mut E, { [] }> = pointer_to_tile(x);"
    " let p: PointerTile<*mut E, { [1] }> = p.reshape(const_shape![1]);"
    " let p: PointerTile<*mut E, { [N] }> = p.broadcast(const_shape![N]);"
)
FORBIDDEN = {
    3: (
        f"{POINTERS} let (t, _): (Tile<E, {{ [N] }}>, Token) = load_ptr_tko(p, ordering::Weak,"
        " None::<scope::TileBlock>, None, None::<E>, None::<Token>, Latency::<0>);",
        "load_ptr_tko",
    ),
    22: (
        f"{ONES} let mut t: Tile<f32, {{ [N] }}> = a; if n > 3i32 {{ t = t + a; }}"
        " let u: Tile<f32, { [N] }> = t * a;",
        "-> (tile<128xf32>)",
    ),
    25: (f"{ONES} let t: Tile<f32, {{ [N] }}> = if n > 3i32 {{ a + a }} else {{ a }};", "-> (tile<128xf32>)"),
}
"""What such a rule forbids, and what of it stands in the Tile IR."""


def test_every_rule_that_text_decides_is_accounted_for_once() -> None:
    covered = {number for rule in RULES for number in rule.upstream}
    assert covered | set(NO_LONGER_TRUE) | set(BY_PROGRAM) >= DECIDABLE_FROM_TEXT
    assert len(DECIDABLE_FROM_TEXT) == 34
    assert not covered & (set(NO_LONGER_TRUE) | set(BY_PROGRAM))


@pytest.mark.parametrize("number", NO_LONGER_TRUE)
def test_what_a_rule_forbids_that_is_not_here_compiles_as_it_is_written(number: int, tmp_path: Path) -> None:
    body, expected = FORBIDDEN[number]
    kernel = tmp_path / "kernel.rs"
    kernel.write_text(module(body), encoding="utf-8")
    asked = Request(
        entry="k",
        arch="sm_90",
        symbol="kernel_entry",
        generics=("bf16", "128"),
        tensors=(),
        scalars=(("x", 16), ("n", 1)),
        occupancy=None,
        num_cta_in_cga=None,
    )
    (answer,) = Emitter(built_emitter()).emit(kernel, [asked])
    assert answer.bytecode is not None, answer.problem
    assert expected in str(disassemble(answer.bytecode))
    assert found({"kernel": module(body)}) == []
