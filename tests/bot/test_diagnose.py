"""A failure is put down to whoever the record says, and to nobody where it does not say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tileport_bot.diagnose import GATE_MEANINGS, OWNERS, Owner, diagnose, first_failed_gate, owner_of
from tileport_bot.excerpts import Excerpt, first_failure
from tileport_driver.records import (
    Failed,
    GateName,
    Inconclusive,
    MachineryFailed,
    NotPorted,
    NotRun,
    Passed,
    Refused,
)
from tileport_skill.pipeline.diagnosis import Diagnosis as GivenUp
from tileport_skill.pipeline.diagnosis import Owner as GivenUpOwner
from tileport_skill.pipeline.diagnosis import Turn
from tileport_skill.pipeline.verdicts import Role, Verdict


@pytest.mark.parametrize(
    ("gate", "text", "owner"),
    [
        ("policy", "it touches setup.py", "agent"),
        ("apply", "the tree differs", "environment"),
        ("build", "error[E0308] --> src/../silu_kernel/kernel.rs:4:1", "kernel"),
        ("build", "error --> ffi.rs:4:1", "host"),
        ("build", "error: linking failed", "unknown"),
        ("build", "error in kernel.rs: No space left on device (os error 28)", "environment"),
        ("build", "error: internal compiler error: kernel.rs", "compiler"),
        ("tile-ir", "value 17 differs", "kernel"),
        ("correctness", "test_silu.py::test_op FAILED", "unknown"),
        ("performance", "0.81 of the reference", "kernel"),
    ],
)
def test_whose_a_failure_is(gate: GateName, text: str, owner: Owner) -> None:
    assert owner_of(Failed(gate=gate, reasons=(text,)), None) == owner
    assert owner_of(Failed(gate=gate, reasons=("it failed",)), Excerpt("log", text)) == owner


def test_every_owner_and_every_gate_has_words() -> None:
    assert set(OWNERS) == set(Owner.__args__)  # type: ignore[attr-defined]
    assert set(GATE_MEANINGS) == set(GateName.__args__)  # type: ignore[attr-defined]


def test_the_first_failed_gate_is_the_cause() -> None:
    later = Failed(gate="tile-ir", reasons=("b",))
    first = Failed(gate="build", reasons=("a",))
    gates = (Passed(gate="policy", evidence=()), first, later, NotRun(gate="performance", why="", how=""))
    assert first_failed_gate(Inconclusive(gates=gates)) is first
    assert first_failed_gate(None) is None


def test_without_a_gate_the_outcome_says_whose_it_is() -> None:
    found = [
        diagnose(outcome, None, None)
        for outcome in (NotPorted(reasons=("a", "b")), Refused(reason="a"), MachineryFailed(reason="a"))
    ]
    assert [diagnosis.owner for diagnosis in found] == ["agent", "request", "environment"]
    assert [diagnosis.causes[0] for diagnosis in found] == ["a", "a", "a"]
    assert {diagnosis.gate for diagnosis in found} == {None}


RUNS = (
    Turn(number=1, role=Role.PREFLIGHT, verdict=Verdict.PASS, claimed=None),
    Turn(number=2, role=Role.HOST_BUILDER, verdict=Verdict.FAIL_HOST, claimed=Verdict.PASS, problems=("a stride",)),
)


def test_a_port_that_roles_gave_up_is_put_down_to_whom_they_name_with_the_way_it_went() -> None:
    given_up = GivenUp(why="host-builder has had its 2 runs", owner="host", seen=True, runs=RUNS)
    found = diagnose(NotPorted(reasons=("The roles gave the port up: …", "a stride")), None, None, given_up=given_up)
    assert (found.gate, found.owner) == (None, "host")
    assert found.causes == ("The roles gave the port up: …", "a stride")
    assert found.excerpt is not None
    assert found.excerpt.text.splitlines()[1] == "2. host-builder: fail-host (it said pass)"


def test_every_owner_that_a_stop_may_have_has_words() -> None:
    assert set(GivenUpOwner.__args__) <= set(OWNERS)  # type: ignore[attr-defined]


def excerpt(folder: Path, text: str, name: str = "log.txt") -> str | None:
    (folder / name).write_text(text, encoding="utf-8")
    found = first_failure(Failed(gate="build", reasons=(), files=(name,)), folder)
    return found.text if found else None


def test_the_excerpt_begins_at_the_first_error(tmp_path: Path) -> None:
    log = "".join(f"Compiling crate {n}\n" for n in range(500)) + "error: first\n| code\nerror: second\n"
    assert excerpt(tmp_path, log) == "error: first\n| code\nerror: second"


@pytest.mark.parametrize(
    "line",
    [
        "error[E0425]: cannot find value",
        "\x1b[1m\x1b[31merror\x1b[0m: coloured",
        "E       AssertionError: Tensor-likes are not close!",
        "FAILED tests/ops/test_x.py::test_op",
        "Traceback (most recent call last):",
        "thread 'main' panicked at src/lib.rs:1:1",
        "ld: error: undefined symbol",
    ],
)
def test_errors_of_every_tool_are_seen(tmp_path: Path, line: str) -> None:
    assert excerpt(tmp_path, f"quiet\n{line}\nafter\n") == f"{line}\nafter"


def test_without_an_error_the_end_is_shown(tmp_path: Path) -> None:
    found = excerpt(tmp_path, "".join(f"line {n}\n" for n in range(100)))
    assert found is not None
    assert found.splitlines()[-1] == "line 99"
    assert len(found.splitlines()) == 14


def test_a_huge_log_of_one_line_is_read_in_pieces(tmp_path: Path) -> None:
    found = excerpt(tmp_path, "x" * 20_000_000)
    assert found is not None
    assert len(found) < 14 * 301


def test_a_file_outside_the_attempt_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("error: secret")
    inside = tmp_path / "attempt"
    inside.mkdir()
    (inside / "link.txt").symlink_to(tmp_path / "secret.txt")
    failed = Failed(gate="build", reasons=(), files=("../secret.txt", "link.txt", "missing.txt"))
    assert first_failure(failed, inside) is None
    assert first_failure(failed, None) is None


def test_an_excerpt_that_the_gate_brings_along_is_taken_before_any_file(tmp_path: Path) -> None:
    (tmp_path / "build.log").write_text("error: of the file")
    failed = Failed(gate="build", reasons=("`cargo build` failed:\nerror: of ffi.rs\n",), files=("build.log",))
    found = first_failure(failed, tmp_path)
    assert found == Excerpt(None, "error: of ffi.rs")
    diagnosis = diagnose(NotPorted(reasons=failed.reasons), failed, found)
    assert (diagnosis.causes, diagnosis.owner) == (("`cargo build` failed",), "host")


def test_a_patch_is_no_log(tmp_path: Path) -> None:
    assert excerpt(tmp_path, "+error: in a comment\n", name="patch.diff") is None
