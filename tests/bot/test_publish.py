"""What a pull request is called, draws and says about where it stands."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.bot.conftest import unproved
from tests.bot.test_replies import RECORD

from tileport_bot.bars import text_bars
from tileport_bot.driver import FileChange, TimedRow
from tileport_bot.github import BaseState
from tileport_bot.publish import refuse_foreign
from tileport_bot.replies import NOT_MOVED, pull_request_body
from tileport_bot.status import Record
from tileport_bot.titles import title_for
from tileport_skill.errors import MachineryError


@pytest.mark.parametrize(
    ("subjects", "title"),
    [
        (["fix(bmm): x", "feat(liger): y", "perf: z", "Add it", "ci: w"], "feat(cutile-rs): port relu to cuTile Rust"),
        (["[FEA] x", "[liger][cutile] y", "[ci] z", "Add", "[x] w"], "[cutile-rs] Port relu to cuTile Rust"),
        (["Add relu", "Fix: it", "Widen the tile", "x", "y"], "Port relu to cuTile Rust"),
        (["fix: x", "fix: y"], "Port relu to cuTile Rust"),
        ([], "Port relu to cuTile Rust"),
    ],
)
def test_the_title_follows_what_the_last_commits_are_called(subjects: list[str], title: str) -> None:
    assert title_for("relu", subjects) == title


def test_measured_rows_are_drawn_slowest_first_against_the_rule() -> None:
    rows = [TimedRow("row 2", 0.97, 1.0, 1.03), TimedRow("row 1", 0.75, 0.8, 0.85), TimedRow("row 3", 1.4, 2.0, 2.5)]
    head, *lines = text_bars(rows).split("\n")
    assert head.split() == ["0.70", "1.00", "1.30"]
    assert [line[:5] for line in lines] == ["row 1", "row 2", "row 3"]
    assert lines[0] == "row 1  0.800 [0.750, 0.850]  ···━━━━●━━━·····│·······················"
    assert lines[1] == "row 2  1.000 [0.970, 1.030]  ················│·━━●━··················"
    assert lines[2] == "row 3  2.000 [1.400, 2.500]  ················│······················●"
    assert text_bars([]) == ""


def body(
    base: BaseState = NOT_MOVED,
    *,
    starts_checks: bool = True,
    rows: tuple[TimedRow, ...] = (),
    record: Record = RECORD,
) -> str:
    return pull_request_body(
        record,
        issue=12,
        finished=replace(unproved(), timed_rows=rows),
        delivery_branch="port/x",
        base=base,
        starts_checks=starts_checks,
    )


@pytest.mark.parametrize(
    ("base", "said"),
    [
        (BaseState(moved=True), "`main` has moved on since this was judged; it merges"),
        (
            BaseState(moved=True, conflicts=("a.py", "b.py")),
            "and `a.py`, `b.py` conflict. `/retry` makes it anew there.",
        ),
        (BaseState(moved=True, reference_changed=True), "**The reference has changed since:**"),
    ],
)
def test_a_base_that_moved_is_told_and_one_that_did_not_is_not(base: BaseState, said: str) -> None:
    assert said in body(base)
    assert said not in body()


def test_a_token_that_starts_no_checks_says_so_and_rows_are_in_the_body() -> None:
    assert "The token that opened this cannot start workflows" in body(starts_checks=False)
    assert "The token that opened this cannot start workflows" not in body()
    assert "1.000 [0.970, 1.030]" in body(rows=(TimedRow("row", 0.97, 1.0, 1.03),))


def test_the_plot_is_linked_where_rows_were_measured_and_people_reach_the_record() -> None:
    rows = (TimedRow("row", 0.97, 1.0, 1.03),)
    kept = replace(RECORD, evidence="https://tileport.example/requests/7")
    link = "[The record](<https://tileport.example/requests/7>) has the same as a plot"
    assert link in body(rows=rows, record=kept)
    assert link not in body(record=kept)
    assert "has the same as a plot" not in body(rows=rows)


@pytest.mark.parametrize("path", [".github/workflows/evil.yml", "skills/x/SKILL.md"])
def test_a_port_that_touches_what_no_port_may_is_not_pushed(path: str) -> None:
    refuse_foreign(unproved())
    with pytest.raises(MachineryError, match="which no port may"):
        refuse_foreign(replace(unproved(), changes=(FileChange(path, 1, 0),)))
