"""Kernels of our own from their Tile IR: which route each takes, what the entries are for, and that they are equal."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.skill.draft.from_ir.conftest import OPERATOR, ROOT, specialisations

from tileport_skill.draft.crossing import c_function
from tileport_skill.draft.from_ir.route import entries_of
from tileport_skill.draft.from_ir.samples import Sample, read_samples
from tileport_skill.draft.kernel import Entry
from tileport_skill.draft.operator import KernelDraft, draft_kernel
from tileport_skill.emit.cli import built_emitter
from tileport_skill.emit.launcher import TensorFacts
from tileport_skill.emit.mapping import Request
from tileport_skill.emit.program import Emitter
from tileport_skill.tilegym.operators import open_checkout
from tileport_skill.tileir.ladder import compare
from tileport_skill.tileir.verdicts import Equal

SYMBOL = "kernel"


def entry_of(draft: KernelDraft, kernel: str) -> Entry:
    (found,) = (one for one in draft.entries if one.kernel == kernel)
    return found


def test_tile_ir_is_taken_where_translation_refuses_and_the_head_says_so() -> None:
    draft = draft_kernel(open_checkout(ROOT), OPERATOR, specialisations(), "sm_90")
    routes = {one.kernel: one.route for one in draft.translated}
    assert routes == {"_branching_kernel": "translation", "_halved_kernel": "tile-ir", "_halving_kernel": "tile-ir"}
    assert draft.text is not None
    head = draft.text[: draft.text.index("#[cutile::module]")]
    assert "translated from the cuTile Python source by `tileport-skill draft` (_branching_kernel)" in head
    assert "compiles it to: _halving_kernel. Not translated: the statement `while left > 0:` (line" in head


def test_constants_that_vary_together_are_told_apart(irregular: KernelDraft) -> None:
    """Every captured launch has `PARTS = TILE / 8`; the compiler was asked about others."""
    entry = entry_of(irregular, "_halved_kernel")
    assert {name: one.python for name, one in entry.derived.items()} == {
        "TILE_OVER_2": "TILE // 2",
        "PARTS_BITS": "float(PARTS)",
    }
    assert "const TILE_OVER_2: i32" in entry.entry.generics
    assert "E: ElementType" in entry.entry.generics


def test_an_entry_is_for_the_constants_that_were_compiled_and_no_others(irregular: KernelDraft) -> None:
    guard = entry_of(irregular, "_halved_kernel").guard
    assert guard is not None
    condition = " and ".join(guard)
    assert eval(condition, {"TILE": 64, "PARTS": 8})  # captured
    assert eval(condition, {"TILE": 32, "PARTS": 8})  # compiled to tell the two apart
    assert not eval(condition, {"TILE": 512, "PARTS": 64})


def test_what_the_host_computes_crosses_as_an_expression(irregular: KernelDraft) -> None:
    function = c_function("irregular", entry_of(irregular, "_halved_kernel"))
    assert [one.python for one in function.arguments] == ["x", "y", "TILE // 2", "float(PARTS)"]


def test_an_operation_without_a_word_is_refused_with_its_line_unless_it_may_be_declared(
    irregular: KernelDraft, declared: KernelDraft
) -> None:
    (refusal,) = irregular.refused
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


@pytest.mark.parametrize("kernel", ["_halved_kernel", "_branching_kernel", "_halving_kernel"])
def test_every_sampled_specialisation_is_equal(irregular: KernelDraft, kernel: str, tmp_path: Path) -> None:
    assert irregular.text is not None
    path = tmp_path / "kernel.rs"
    path.write_text(irregular.text, encoding="utf-8")
    captured = [one for one in specialisations() if one.kernel == kernel]
    samples, _ = read_samples(open_checkout(ROOT), captured, [], "sm_90")
    emitter = Emitter(built_emitter())
    answers = emitter.emit(path, [request(entry_of(irregular, kernel), one) for one in samples])
    assert [str(answer.problem) for answer in answers if answer.problem] == []
    for sample, answer in zip(samples, answers, strict=True):
        assert answer.bytecode is not None
        verdict = compare(renamed(sample), answer.bytecode, "sm_90")
        assert isinstance(verdict, Equal), verdict


def test_an_entry_from_other_samples_is_not_equal(tmp_path: Path) -> None:
    """The proof can fail: a kernel drafted for one constant, taken for another."""
    one, other = (s for s in specialisations() if s.kernel == "_halved_kernel" and s.parameters[0].dtype == "float16")  # type: ignore[union-attr]
    samples, _ = read_samples(open_checkout(ROOT), [one, other], [], "sm_90")
    draft = draft_kernel(open_checkout(ROOT), OPERATOR, [one], "sm_90", route="tile-ir")
    (entry,) = entries_of(samples[:1], draft.entries[0].source, declare=False)
    path = tmp_path / "kernel.rs"
    assert draft.text is not None
    path.write_text(draft.text, encoding="utf-8")
    (answer,) = Emitter(built_emitter()).emit(path, [request(draft.entries[0], samples[0])])
    assert answer.bytecode is not None
    assert isinstance(compare(renamed(samples[0]), answer.bytecode, "sm_90"), Equal)
    assert not isinstance(compare(renamed(samples[1]), answer.bytecode, "sm_90"), Equal)
    assert entry.guard == ("TILE == 32", "PARTS == 4")


def renamed(sample: Sample) -> bytes:
    """A bytecode whose entry is called as the other side's."""
    from tileport_skill.emit.symbol import rename_entry

    return rename_entry(sample.bytecode, sample.entry.name, SYMBOL)


def request(entry: Entry, sample: Sample) -> Request:
    """The entry for a sample, with nothing assumed of its arguments, as in the sample."""
    constants = {p.name: int(p.text) for p in sample.specialisation.parameters if p.kind == "constant"}
    values = {"E": {"float16": "f16", "bfloat16": "bf16"}.get(sample.specialisation.parameters[0].dtype, "")}  # type: ignore[union-attr]
    for generic in entry.entry.generics:
        name = generic.removeprefix("const ").partition(":")[0]
        derived = entry.derived.get(name)
        if derived is not None:
            value = eval(derived.python, dict(constants))
            values[name] = str(bits(value) if derived.float else value)
        elif name in constants:
            values[name] = str(constants[name])
    names = [text.partition(":")[0] for text in entry.entry.parameters]
    tensors = [text.partition(":")[0] for text in entry.entry.parameters if "&Tensor" in text]
    facts = tuple(
        TensorFacts(
            name=name, strides=(1,), shape_div=(1,), stride_div=(1,), stride_one=(True,), base_div=1, disjoint=False
        )
        for name in tensors
    )
    return Request(
        entry=entry.entry.name,
        arch="sm_90",
        symbol=SYMBOL,
        generics=tuple(values[g.removeprefix("const ").partition(":")[0]] for g in entry.entry.generics),
        tensors=facts,
        scalars=tuple((name, 1) for name in names if name not in tensors),
        occupancy=None,
        num_cta_in_cga=None,
    )


def bits(value: float) -> int:
    from tileport_skill.emit.mapping import float_bits

    return float_bits(value)


def test_a_binding_names_every_parameter_of_its_entry(irregular: KernelDraft) -> None:
    bindings = {one.kernel: one for one in irregular.bindings}
    assert bindings["_halved_kernel"].generics == {"TILE_OVER_2": "TILE // 2", "PARTS_BITS": "float(PARTS)"}
    assert bindings["_branching_kernel"].parameters == {"x": "x", "y": "y", "limit": "limit"}
