"""What comes back from a machine with a GPU becomes gates; evidence about anything else is refused."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from tests.skill.correctness.evidence import flawless, recorded, with_port
from tests.skill.timing.raw_samples import OPERATOR, Made
from tileport_driver.gpu import judging
from tileport_driver.gpu.gates import correctness_gate, read_evidence
from tileport_driver.gpu.performance import LIBRARY, performance_gate
from tileport_driver.records import Failed, NotRun, Passed, Patch
from tileport_skill.correctness import bytecodes
from tileport_skill.correctness.records import Evidence, write_json
from tileport_skill.errors import RequestError
from tileport_skill.judge.findings import Findings
from tileport_skill.tileir.bare import bare
from tileport_skill.tileir.encode import encode
from tileport_skill.tileir.parse import parse
from tileport_skill.tileir.verdicts import Equal, Proof, Unknown

TREE = "a" * 40
PATCH = Patch(base_tree="b" * 40, result_tree=TREE, changes=(), bytes=1, sha256="c" * 64, ignored=())


def about_the_patch(evidence: Evidence) -> Evidence:
    return dataclasses.replace(evidence, job=dataclasses.replace(evidence.job, result_tree=TREE))


def written(folder: Path, evidence: Evidence) -> Path:
    write_json(folder / "correctness.json", evidence)
    return folder


def test_evidence_reads_back_as_it_was_written(tmp_path: Path) -> None:
    evidence = about_the_patch(flawless())
    assert read_evidence(written(tmp_path, evidence), PATCH, evidence.job.library_sha256) == evidence


def test_evidence_about_another_patch_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="this patch makes aaaaaaaaaaaa"):
        read_evidence(written(tmp_path, flawless()), PATCH, None)


def test_evidence_made_with_another_library_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="another library"):
        read_evidence(written(tmp_path, about_the_patch(flawless())), PATCH, "d" * 64)


def test_a_folder_without_evidence_and_a_damaged_one_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"run\.sh"):
        read_evidence(tmp_path, PATCH, None)
    (tmp_path / "correctness.json").write_text("{}")
    with pytest.raises(RequestError, match="does not read"):
        read_evidence(tmp_path, PATCH, None)


def caught(
    folder: Path,
    side: str,
    symbol: str,
    value: int = 1,
    promise: str | None = None,
    sum_of: tuple[int, int] | None = None,
) -> str:
    """A bytecode of ours as the recorder leaves it; its hash. It stores `value`, or the sum of two numbers."""
    made = [f"  %c = constant <i32: {value}> : tile<i32>"]
    if sum_of is not None:
        made = [f"  %{name} = constant <i32: {n}> : tile<i32>" for name, n in zip("ab", sum_of, strict=True)]
        made += ["  %c = addi %a, %b : tile<i32>"]
    at = "%q" if promise else "%p"
    lines = (
        f"entry @{symbol}(%p: tile<ptr<i32>>) {{",
        *([f"  %q = assume {promise}, %p : tile<ptr<i32>>"] if promise else []),
        *made,
        f"  %t = store_ptr_tko weak {at}, %c : tile<ptr<i32>>, tile<i32> -> token",
        "  return",
        "}",
    )
    content = encode(parse("\n".join(lines) + "\n"))
    digest = hashlib.sha256(content).hexdigest()
    path = folder / "bytecode" / side / f"{digest}.tileirbc"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return digest


def test_the_gate_passes_with_facts_when_nothing_speaks_against_the_port(tmp_path: Path) -> None:
    caught(tmp_path, "reference", "_swiglu_forward_kernel")
    evidence = with_port(flawless(), bytecodes=(caught(tmp_path, "port", "swiglu_forward_kernel_entry"),))
    gate = correctness_gate(evidence, tmp_path, frozenset(), "sm_90", "how")
    assert isinstance(gate, Passed)
    assert "2 calls" in " ".join(gate.evidence)


def test_bytecode_that_the_reference_never_compiled_fails_the_gate_unless_it_was_judged(tmp_path: Path) -> None:
    caught(tmp_path, "reference", "_swiglu_forward_kernel", 1)
    digest = caught(tmp_path, "port", "swiglu_forward_kernel_entry", 2)
    evidence = with_port(flawless(), bytecodes=(digest,))
    gate = correctness_gate(evidence, tmp_path, frozenset(), "sm_90", "how")
    assert isinstance(gate, Failed)
    assert "a kernel the reference never compiled" in gate.reasons[0]
    assert isinstance(correctness_gate(evidence, tmp_path, frozenset({digest}), "sm_90", "how"), Passed)


def test_a_kernel_that_was_judged_is_the_same_under_other_promises_and_no_other_kernel_is(tmp_path: Path) -> None:
    caught(tmp_path, "reference", "_swiglu_forward_kernel", 1)
    judged = caught(tmp_path, "judged", "swiglu_forward_kernel_entry", 2)
    kernel = bare((tmp_path / "bytecode/judged" / f"{judged}.tileirbc").read_bytes()).sha256
    ran = caught(tmp_path, "port", "swiglu_forward_kernel_entry", 2, promise="div_by<4>")
    assert ran != judged
    evidence = with_port(flawless(), bytecodes=(ran,))
    assert isinstance(correctness_gate(evidence, tmp_path, frozenset({judged}), "sm_90", "how"), Failed)
    assert isinstance(correctness_gate(evidence, tmp_path, frozenset({kernel}), "sm_90", "how"), Passed)
    another = with_port(flawless(), bytecodes=(caught(tmp_path, "port", "swiglu_forward_kernel_entry", 3),))
    assert isinstance(correctness_gate(another, tmp_path, frozenset({kernel}), "sm_90", "how"), Failed)


def test_a_kernel_of_the_same_graph_as_one_of_the_references_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bytecodes, "_image", lambda *_: None)  # without cubins
    caught(tmp_path, "reference", "_swiglu_forward_kernel", 4)
    ran = caught(tmp_path, "port", "swiglu_forward_kernel_entry", 4, sum_of=(1, 3))
    gate = correctness_gate(with_port(flawless(), bytecodes=(ran,)), tmp_path, frozenset(), "sm_90", "how")
    assert isinstance(gate, Passed)


def test_an_entry_that_ran_without_passing_the_assembler_fails_the_gate(tmp_path: Path) -> None:
    gate = correctness_gate(with_port(flawless(), bytecodes=()), tmp_path, frozenset(), "sm_90", "how")
    assert isinstance(gate, Failed)
    assert gate.reasons == ("bytecode: swiglu_forward_kernel ran, but no bytecode of it went through the assembler.",)


@pytest.mark.parametrize("tuned", [True, False])
def test_an_entry_that_a_tuner_compiled_and_did_not_choose_is_judged_by_its_bytecode(
    tmp_path: Path, tuned: bool
) -> None:
    caught(tmp_path, "reference", "_swiglu_forward_kernel", 1)
    caught(tmp_path, "reference", "_swiglu_forward_kernel", 2)
    ran = caught(tmp_path, "port", "swiglu_forward_kernel_entry", 1)
    tried = caught(tmp_path, "port", "swiglu_forward_kernel_2_entry", 2)
    evidence = with_port(flawless(), bytecodes=(ran, tried))
    job = dataclasses.replace(evidence.job, entries=(*evidence.job.entries, "swiglu_forward_kernel_2"), tuned=tuned)
    gate = correctness_gate(dataclasses.replace(evidence, job=job), tmp_path, frozenset(), "sm_90", "how")
    if tuned:
        assert isinstance(gate, Passed)
        assert "The tuner compiled swiglu_forward_kernel_2 too and chose another" in " ".join(gate.evidence)
    else:
        assert isinstance(gate, Failed)
        assert gate.reasons == ("entries: swiglu_forward_kernel_2 never ran, in any test or call.",)


def test_an_entry_that_nothing_ever_compiled_fails_the_gate(tmp_path: Path) -> None:
    caught(tmp_path, "reference", "_swiglu_forward_kernel")
    evidence = with_port(flawless(), bytecodes=(caught(tmp_path, "port", "swiglu_forward_kernel_entry"),))
    job = dataclasses.replace(evidence.job, entries=(*evidence.job.entries, "swiglu_spare"), tuned=True)
    gate = correctness_gate(dataclasses.replace(evidence, job=job), tmp_path, frozenset(), "sm_90", "how")
    assert isinstance(gate, Failed)
    assert gate.reasons == ("entries: swiglu_spare never ran, in any test or call.",)


def test_a_forward_only_port_fails_by_the_skip_the_base_does_not_have(tmp_path: Path) -> None:
    """As an H200 recorded it of the port that TileGym ships."""
    gate = correctness_gate(recorded(), tmp_path, frozenset(), "sm_90", "how")
    assert isinstance(gate, Failed)
    assert gate.reasons[0].startswith("skips: tests/ops/test_swiglu.py::Test_SwiGLU::test_op_backward")


def test_one_check_does_not_drown_the_others(tmp_path: Path) -> None:
    evidence = with_port(flawless(), tests=(), patched=("torch.allclose",))
    gate = correctness_gate(evidence, tmp_path, frozenset(), "sm_90", "how")
    assert isinstance(gate, Failed)
    assert [reason.split(":")[0] for reason in gate.reasons].count("tests") <= 4
    assert any(reason.startswith("integrity:") for reason in gate.reasons)


def test_a_reference_that_breaks_down_says_nothing_about_the_port(tmp_path: Path) -> None:
    evidence = recorded()
    broken = dataclasses.replace(
        evidence, reference=dataclasses.replace(evidence.reference, exit="died with status 1 during the tests")
    )
    gate = correctness_gate(broken, tmp_path, frozenset(), "sm_90", "how")
    assert isinstance(gate, NotRun)
    assert "died with status 1" in gate.why


def timed(folder: Path, made: Made, library: str = "l" * 64) -> Path:
    raw = folder / "timing"
    made.write(raw)
    (raw / LIBRARY).write_text(f"{library}  -\n")
    return folder


def test_rows_that_keep_the_rule_pass_with_their_intervals(tmp_path: Path) -> None:
    gate = performance_gate(timed(tmp_path, Made(ratio=1.0)), OPERATOR, "l" * 64, "how")
    assert isinstance(gate, Passed)
    assert "lower 95 % bound at least 0.95" in gate.evidence[0]
    assert "95 % between" in gate.evidence[1]


def test_a_slow_row_fails_with_its_interval(tmp_path: Path) -> None:
    gate = performance_gate(timed(tmp_path, Made(ratio=0.8)), OPERATOR, "l" * 64, "how")
    assert isinstance(gate, Failed)
    assert "0.8" in gate.reasons[0]


def test_a_null_that_fails_is_no_verdict(tmp_path: Path) -> None:
    gate = performance_gate(timed(tmp_path, Made(null_ratio=0.9)), OPERATOR, "l" * 64, "how")
    assert isinstance(gate, NotRun)


def test_samples_of_another_library_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="another library"):
        performance_gate(timed(tmp_path, Made()), OPERATOR, "m" * 64, "how")


def test_no_samples_are_no_verdict(tmp_path: Path) -> None:
    gate = performance_gate(tmp_path, OPERATOR, "l" * 64, "sh run.sh")
    assert isinstance(gate, NotRun)
    assert gate.how == "sh run.sh"


def test_the_evidence_is_plain_json(tmp_path: Path) -> None:
    document = json.loads(written(tmp_path, flawless()).joinpath("correctness.json").read_text())
    assert document["schema"] == 1


@pytest.mark.parametrize(("while_true", "kept"), [((), {"b", "k"}), (("argument 3 is 1",), {"b"})])
def test_a_proof_for_certain_arguments_judges_one_bytecode_and_not_its_kernel(
    while_true: tuple[str, ...], kept: set[str]
) -> None:
    proof = Proof(rung="named rules", text="the same", while_true=while_true)
    rows = [
        SimpleNamespace(port_bytecode="b", port_kernel="k", verdict=Equal(proof=proof)),
        SimpleNamespace(port_bytecode="c", port_kernel="l", verdict=Unknown(reasons=("who knows",))),
        SimpleNamespace(port_bytecode=None, port_kernel=None, verdict=Equal(proof=proof)),
    ]
    findings = cast(Findings, SimpleNamespace(tile_ir=SimpleNamespace(rows=rows)))
    assert judging._judged(findings) == kept
    assert judging._judged(None) == frozenset()
