"""What the agent is told of the draft it begins at."""

from __future__ import annotations

from dataclasses import replace

from tests.driver.test_draft_run import RUNNING, report
from tileport_driver.records import AgentCheckout, DraftRun
from tileport_driver.task import task_text, told_text

CHECKOUT = AgentCheckout(
    operator="rows", base_commit="0" * 40, base_tree="1", agent_tree="2", hidden=(), allowed=("a/rows.py",)
)


def test_without_a_draft_nothing_is_said_of_one() -> None:
    assert "draft" not in task_text(CHECKOUT)


def test_a_whole_draft_is_to_be_made_a_port_to_own() -> None:
    whole = DraftRun(seconds=1, report=replace(report(), refused=()), refused=())
    assert "A program has drafted the port already" in task_text(CHECKOUT, whole)


def test_of_a_draft_with_gaps_each_is_named() -> None:
    text = task_text(CHECKOUT, DraftRun(seconds=1, report=report(), refused=()))
    assert f"- {RUNNING.kernel}: {RUNNING.reason}" in text
    assert "has drafted the port already" not in text


def test_a_refused_draft_is_said_in_its_own_words() -> None:
    text = task_text(CHECKOUT, DraftRun(seconds=1, report=None, refused=("No test launches a kernel.",)))
    assert "- No test launches a kernel." in text


def test_roles_are_told_only_what_their_own_texts_cannot_say() -> None:
    whole = DraftRun(seconds=1, report=replace(report(), refused=()), refused=())
    assert told_text(None, "", False) == told_text(whole, "", False) == ""
    gaps = told_text(DraftRun(seconds=1, report=report(), refused=()), "", False)
    assert gaps.startswith("A program tried to draft the port")
    assert f"- {RUNNING.kernel}: {RUNNING.reason}" in gaps
    before = told_text(whole, "tile-ir: value 7 differs", True)
    assert before.startswith("An attempt before this one was judged and rejected.")
    assert "    tile-ir: value 7 differs" in before
    assert "/task/previous.diff" in before
