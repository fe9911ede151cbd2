"""One page of every attempt: complete, without anything from outside, and readable on a phone."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from tests.driver.test_cli import tileport
from tileport_driver.dashboard import Shown, by_operator, dashboard_html, write_dashboard
from tileport_driver.records import (
    AgentRun,
    Failed,
    MachineryFailed,
    NotPorted,
    NotRun,
    Passed,
    PortRequest,
    Rejected,
    Usage,
)
from tileport_driver.store import AttemptFolder, new_attempt

NOW = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
SHOWN = Shown(
    id="scale-1",
    operator="scale",
    repository="/r",
    number=1,
    engine="scripted",
    began="2026-11-30 08:00",
    verdict="not ported",
    why="<b>slower</b>",
    gates=(("policy", "passed"), ("apply", "failed")),
    tokens=1200,
    stages=(("prepare", 2.0), ("run", 60.0)),
)
REQUEST = PortRequest(
    repository="/r", operator="scale", base_commit="0" * 40, reference_hash="a" * 64, engine="anthropic"
)


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TILEPORT_STATE", str(tmp_path))
    return tmp_path


def finished(name: str) -> AttemptFolder:
    attempt = new_attempt(REQUEST, name)
    gates = (
        Passed(gate="policy", evidence=("x",)),
        Failed(gate="apply", reasons=("y",)),
        NotRun(gate="build", why="z", how="w"),
    )
    usage = Usage(input_tokens=1_000_000, output_tokens=100_000)
    run = AgentRun(status="finished", exit_code=0, seconds=9, turns=3, usage=usage, summary="")
    attempt.write("agent_run", run)
    attempt.write("acceptance", Rejected(gates=gates))
    attempt.write("outcome", NotPorted(reasons=("it did not apply",)))
    (attempt.path / "stages.jsonl").write_text('{"stage": "prepare", "seconds": 4}\n{"stage": "run", "seconds": 9}\n')
    (attempt.path / "report.html").write_text("x")
    return attempt


def test_the_page_tells_of_every_attempt_with_gates_costs_and_durations(state: Path) -> None:
    finished("scale-20260101-000000-000001")
    new_attempt(replace(REQUEST, operator="rms_norm"), "rms_norm-20260101-000000-000002")
    failed = new_attempt(REQUEST, "scale-20260101-000000-000003")
    failed.write("outcome", MachineryFailed(reason="no disk"))
    assert write_dashboard(state / "dashboard.html") == 3
    page = (state / "dashboard.html").read_text()
    assert 'href="attempts/scale-20260101-000000-000001/report.html"' in page
    for words in ("it did not apply", "no disk", "not ended", "1,100,000 tokens, $", "13 s", "not reached"):
        assert words in page, words
    assert page.count("http") == page.count("http-equiv")


def test_a_damaged_attempt_is_shown_as_that_and_spoils_nothing(state: Path) -> None:
    attempt = finished("scale-20260101-000000-000001")
    (attempt.path / "outcome.json").write_text("{")
    write_dashboard(state / "dashboard.html")
    page = (state / "dashboard.html").read_text()
    assert "damaged" in page
    assert "outcome.json" in page


def test_an_operators_newest_attempt_stands_for_it() -> None:
    older, newer = SHOWN, replace(SHOWN, id="scale-2", verdict="ported", number=2)
    (row,) = by_operator((older, newer))
    assert (row.newest.id, [attempt.id for attempt in row.attempts]) == ("scale-2", ["scale-2", "scale-1"])
    elsewhere = replace(SHOWN, repository="/other")
    assert len(by_operator((older, elsewhere))) == 2


def test_what_an_attempt_says_is_text_and_never_markup() -> None:
    page = dashboard_html((SHOWN,), NOW)
    assert "&lt;b&gt;slower&lt;/b&gt;" in page
    assert "<b>slower" not in page


def test_made_up_tokens_cost_nothing_and_say_so() -> None:
    page = dashboard_html((SHOWN,), NOW)
    assert "1,200 tokens (scripted)" in page
    assert "none: no live model" in page
    live = replace(SHOWN, engine="anthropic", dollars=Decimal("1.5"))
    assert "1,200 tokens, $1.50" in dashboard_html((live,), NOW)


def test_without_attempts_the_page_says_how_to_make_one(tmp_path: Path) -> None:
    done = tileport("dashboard", state=tmp_path)
    assert done.returncode == 0
    assert "tileport port OP" in (tmp_path / "dashboard.html").read_text()
