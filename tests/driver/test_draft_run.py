"""A draft in place of an agent: what its container's end means, and what commit and report then say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.driver.test_report import sample
from tileport_driver.container import Finished
from tileport_driver.draft_run import _record
from tileport_driver.draft_words import drafted_how
from tileport_driver.outcome import decide
from tileport_driver.records import Delivery, DraftRun, Inconclusive, NotPorted, NotRun, Unproved
from tileport_driver.report import headline, report_html, report_markdown
from tileport_skill.draft.measure import Measured
from tileport_skill.draft.operator import Refusal
from tileport_skill.draft.report import DraftReport, write_report
from tileport_skill.errors import MachineryError

FORWARD = Measured(
    kernel="_rows_kernel",
    entry="rows_kernel",
    python_lines=9,
    rust_lines=20,
    names=5,
    names_kept=5,
    numbered=(),
    unsafe=1,
)
RUNNING = Refusal(kernel="_running_kernel", reason="a call of cuda.tile.cumsum", line=41)


def report(host: str | None = None) -> DraftReport:
    files = ("a/rows.py", "a/rows_kernel/kernel.rs") if host is None else ("a/rows_kernel/kernel.rs",)
    return DraftReport(operator="rows", files=files, kernels=(FORWARD,), refused=(RUNNING,), host=host, seconds=21.5)


def ended(code: int | None, log: str = "") -> Finished:
    return Finished(exit_code=code, seconds=30.0, log=log)


def test_a_whole_draft_is_recorded_with_what_it_refused(tmp_path: Path) -> None:
    write_report(report(), tmp_path / "draft.json")
    run = _record(ended(11), tmp_path / "draft.json")
    assert run == DraftRun(seconds=30.0, report=report(), refused=())


def test_a_draft_without_wrapper_is_no_port_and_names_every_refusal_with_its_line(tmp_path: Path) -> None:
    write_report(report("the hint occupancy=ct.x (ops/rows.py:7)"), tmp_path / "draft.json")
    run = _record(ended(11), tmp_path / "draft.json")
    assert run.refused == (
        "No port can be drafted: the hint occupancy=ct.x (ops/rows.py:7).",
        "_running_kernel (line 41) is not drafted: a call of cuda.tile.cumsum.",
    )
    assert decide(run, None, None) == NotPorted(reasons=run.refused)


def test_where_no_kernel_is_drafted_the_first_reason_is_a_kernels_own() -> None:
    nothing = replace(report("not one kernel is translated"), kernels=())
    assert nothing.reasons == (
        "_running_kernel (line 41) is not drafted: a call of cuda.tile.cumsum.",
        "No port can be drafted: not one kernel is translated.",
    )


def test_a_refused_request_is_the_programs_own_sentence(tmp_path: Path) -> None:
    run = _record(ended(12, "some warning\nerror: tests/test_rows.py:3 calls the reference.\n"), tmp_path / "none")
    assert run.refused == ("tests/test_rows.py:3 calls the reference.",)
    assert run.report is None


@pytest.mark.parametrize("code", [1, 13, 137, None, 0])
def test_a_program_that_breaks_down_or_leaves_no_report_is_our_failure(tmp_path: Path, code: int | None) -> None:
    with pytest.raises(MachineryError, match="last words"):
        _record(ended(code, "its last words"), tmp_path / "none")


def test_a_report_of_another_version_is_our_failure(tmp_path: Path) -> None:
    (tmp_path / "draft.json").write_text('{"operator": "rows"}')
    with pytest.raises(MachineryError, match="does not read as a draft's report"):
        _record(ended(0), tmp_path / "draft.json")


def test_the_commit_says_that_no_model_had_a_hand_in_it_and_which_kernels_came_how() -> None:
    text = drafted_how(DraftRun(seconds=1, report=report(), refused=()))
    assert text.startswith("Drafted by a program; no model was in the loop.")
    assert "- _rows_kernel: from the Python source" in text
    assert "- _running_kernel: not drafted (line 41): a call of cuda.tile.cumsum" in text


def test_a_draft_that_passes_what_could_run_is_unproved_as_any_port_is() -> None:
    missing = NotRun(gate="correctness", why="no GPU", how="on a GPU")
    run = DraftRun(seconds=1, report=report(), refused=())
    outcome = decide(run, Inconclusive(gates=(missing,)), Delivery(branch="port/rows", commit="0" * 40))
    assert isinstance(outcome, Unproved)


@pytest.mark.parametrize("page", [report_markdown, report_html])
def test_the_report_says_so_too_and_speaks_of_no_agent(page: type[str]) -> None:
    run = DraftRun(seconds=1, report=report(), refused=())
    text = page(sample(agent_run=None, turns=(), draft_run=run))  # type: ignore[call-arg]
    for said in ("no model was in the loop", "_rows_kernel", "Python source", "not drafted", "line 41", "cumsum"):
        assert said in text
    assert "of 2" not in text
    assert "hidden from the program" in text
    assert "What the agent did" not in text


def test_a_rejected_draft_costs_nothing_and_an_agents_port_does() -> None:
    outcome = NotPorted(reasons=("they differ",))
    assert "costs no attempt" in headline(outcome, "rows", draft=True).sentence
    assert "costs no attempt" not in headline(outcome, "rows").sentence
