"""Kernels of our own from their Tile IR: which route each takes, what the entries are for, and that they are equal."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from tests.skill.draft.from_ir.conftest import ROOT, Asked, drafted

from tileport_skill.draft.crossing import c_function
from tileport_skill.draft.from_ir.proof import Prover, request_for_sample
from tileport_skill.draft.from_ir.route import folded
from tileport_skill.draft.from_ir.samples import Sample
from tileport_skill.draft.idioms import with_their_own
from tileport_skill.draft.kernel import Entry
from tileport_skill.draft.operator import KernelDraft
from tileport_skill.draft.printer import print_function, print_module
from tileport_skill.draft.rust import Block, Call, Let, Module, call
from tileport_skill.emit.cli import built_emitter
from tileport_skill.emit.program import Emitter
from tileport_skill.tileir.ladder import compare
from tileport_skill.tileir.verdicts import Equal


def entry_of(draft: KernelDraft, kernel: str) -> Entry:
    (found,) = (one for one in draft.entries if one.kernel == kernel)
    return found


def test_tile_ir_is_taken_where_translation_refuses_and_the_head_says_so(asked: Asked, samples: list[Sample]) -> None:
    draft = drafted(asked, samples, forced=False)
    routes = {one.kernel: one.route for one in draft.translated}
    assert routes == {
        "_branching_kernel": "Python source",
        "_halved_kernel": "Python source",
        "_halving_kernel": "Tile IR",
        "_leaving_kernel": "Python source",
        "_filled_kernel": "Tile IR",
    }
    assert draft.text is not None
    head = draft.text[: draft.text.index("#[cutile::module]")]
    assert (
        "translated from the cuTile Python source by `tileport-skill draft` (_halved_kernel, _branching_kernel, "
        "_leaving_kernel)" in head
    )
    assert "compiles it to: _halving_kernel. Not translated: the statement `while left > 0:` (line" in head


def test_constants_that_vary_together_are_told_apart(irregular: KernelDraft) -> None:
    """Every captured launch has `PARTS = TILE / 8`; the compiler was asked about others."""
    entry = entry_of(irregular, "_halved_kernel")
    assert {one.generic: one.python for one in entry.derived} == {
        "TILE_OVER_2": "TILE // 2",
        "PARTS_BITS": "float(PARTS)",
    }
    assert "const TILE_OVER_2: i32" in entry.entry.generics
    assert "E: ElementType" in entry.entry.generics


def test_an_entry_is_for_the_constants_that_were_compiled_and_no_others(irregular: KernelDraft) -> None:
    condition = entry_of(irregular, "_halved_kernel").variant.guard
    assert eval(condition, {"TILE": 64, "PARTS": 8})  # captured
    assert eval(condition, {"TILE": 32, "PARTS": 8})  # compiled to tell the two apart
    assert not eval(condition, {"TILE": 512, "PARTS": 64})


def test_what_the_host_computes_crosses_as_an_expression(irregular: KernelDraft) -> None:
    function = c_function("irregular", entry_of(irregular, "_halved_kernel"))
    assert [one.python for one in function.arguments] == ["x", "y", "TILE // 2", "float(PARTS)"]


def test_an_operation_without_a_word_is_refused_with_its_line_unless_it_may_be_declared(
    irregular: KernelDraft, asked: Asked, samples: list[Sample]
) -> None:
    declared = drafted(asked, samples, declare=True)
    (refusal,) = (one for one in irregular.refused if one.kernel == "_shifted_kernel")
    lines = (ROOT / "tilegym/ops/cutile/irregular.py").read_text(encoding="utf-8").splitlines()
    assert "`shli`" in refusal.reason
    assert "<< 3" in lines[(refusal.line or 0) - 1]
    assert declared.text is not None
    assert "this declares Tile IR's operation" in declared.text


def test_variables_keep_the_names_of_the_source(irregular: KernelDraft) -> None:
    assert irregular.text is not None
    halving = irregular.text[irregular.text.index("fn halving_kernel") :]
    assert "let mut left:" in halving
    assert "let total:" in halving


def test_a_kernel_that_returns_early_is_refused_and_not_drafted_without_its_return(irregular: KernelDraft) -> None:
    (refusal,) = (one for one in irregular.refused if one.kernel == "_leaving_kernel")
    assert "`return` inside a branch" in refusal.reason


@pytest.mark.parametrize(
    "kernel",
    [
        "_halved_kernel",
        "_halving_kernel",
        "_filled_kernel",
        pytest.param("_branching_kernel", marks=pytest.mark.soak),
        pytest.param("_shifted_kernel", marks=pytest.mark.soak),
    ],
)
def test_every_captured_specialisation_is_equal_literal_and_folded(
    asked: Asked, samples: list[Sample], kernel: str, tmp_path: Path
) -> None:
    draft = drafted(asked, samples, declare=True)
    prover = Prover(Emitter(built_emitter()), "sm_90", declare=True)
    entry, mine = entry_of(draft, kernel), [one for one in samples if one.specialisation.kernel == kernel]
    assert prover.holds(entry, mine)
    shorter = folded(entry, mine, prover)
    assert len(print_function(shorter.entry)) < len(print_function(entry.entry))
    path = tmp_path / "kernel.rs"
    path.write_text(file_of(shorter), encoding="utf-8")
    captured = [one for one in mine if one.captured]
    requests = [request_for_sample(shorter, one, "sm_90") for one in captured]
    for sample, answer in zip(captured, Emitter(built_emitter()).emit(path, requests), strict=True):
        assert answer.bytecode is not None, answer.problem
        assert isinstance(compare(sample.bytecode, answer.bytecode, "sm_90"), Equal)


def test_a_translated_kernel_that_ends_early_is_equal(asked: Asked, samples: list[Sample], tmp_path: Path) -> None:
    entry = entry_of(drafted(asked, samples, forced=False), "_leaving_kernel")
    (sample,) = (one for one in samples if one.captured and one.specialisation.kernel == "_leaving_kernel")
    path = tmp_path / "kernel.rs"
    path.write_text(file_of(entry), encoding="utf-8")
    (answer,) = Emitter(built_emitter()).emit(path, [request_for_sample(entry, sample, "sm_90")])
    assert answer.bytecode is not None, answer.problem
    assert isinstance(compare(sample.bytecode, answer.bytecode, "sm_90"), Equal)


def test_the_proof_can_fail(irregular: KernelDraft, samples: list[Sample]) -> None:
    """A step that changes what the kernel does is not kept."""
    prover = Prover(Emitter(built_emitter()), "sm_90", declare=False)
    entry = entry_of(irregular, "_halved_kernel")
    mine = [one for one in samples if one.specialisation.kernel == "_halved_kernel"]
    wrong = tuple(
        dataclasses.replace(one, value=call("addf", *one.value.arguments))
        if isinstance(one, Let) and isinstance(one.value, Call) and one.value.function == "mulf"
        else one
        for one in entry.entry.body.statements
    )
    other = dataclasses.replace(entry, entry=dataclasses.replace(entry.entry, body=Block(wrong)))
    assert prover.holds(entry, mine)
    assert not prover.holds(other, mine)


def file_of(entry: Entry) -> str:
    idioms = with_their_own(sorted(entry.idioms), declare=True)
    return print_module(Module(name="proof", head=(), idioms=idioms, functions=(entry.entry,)))


def test_every_captured_specialisation_has_its_entry(irregular: KernelDraft, samples: list[Sample]) -> None:
    captured = [one.specialisation for one in samples if one.captured]
    drafted_kernels = {one.kernel for one in irregular.entries}
    for one in captured:
        if one.kernel in drafted_kernels:
            assert irregular.chosen[one.id] == entry_of(irregular, one.kernel).entry.name
