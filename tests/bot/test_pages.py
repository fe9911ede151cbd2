"""The status page shows queue, stages, logs and gates, and nothing in them is more than text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tileport_bot import inbox, pages, requests
from tileport_bot.events import Place
from tileport_bot.inbox import Delivery
from tileport_bot.status import Record, Stage
from tileport_driver.records import Failed, NotRun, Passed, PortRequest, Rejected
from tileport_driver.store import new_attempt

EVIL = '<script>alert("x")</script>'
PLACE = Place(
    repository="example/TileGym", default_branch="main", issue=12, sender=EVIL, sender_is_bot=False, trigger="t"
)


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEPORT_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("TILEPORT_DATABASE_URL", raising=False)


def record(operator: str, stage: Stage) -> Record:
    return Record(operator=operator, reference="a" * 64, stage=stage, attempt=1, asked_by=EVIL, trigger="t")


@pytest.fixture
def rejected() -> int:
    """A request with an attempt that was rejected at a gate whose words are hostile."""
    entered, _ = requests.enter(PLACE, record("scale", Stage.QUEUED))
    request = requests.take("w", id=entered.id)
    assert request is not None
    asked = PortRequest(
        repository="/r", operator="scale", base_commit="0" * 40, reference_hash="a" * 64, engine="anthropic"
    )
    attempt = new_attempt(asked, "scale-1")
    gates = (
        Failed(gate="build", reasons=(f"no `kernel.rs` {EVIL}\x1b[31m",)),
        Passed(gate="policy", evidence=("six files",)),
        NotRun(gate="tile-ir", why="It does not build.", how="By itself."),
    )
    attempt.write("acceptance", Rejected(gates=gates))
    requests.note_attempt(request, attempt.id)
    requests.note_stage(request, record("scale", Stage.RUNNING))
    requests.end(request, record("scale", Stage.FAILED), "x", f"failed {EVIL}")
    return request.id


def test_the_queue_comes_first_in_its_order_and_then_what_ended(rejected: int) -> None:
    for operator in ("rows", "columns"):
        requests.enter(PLACE, record(operator, Stage.QUEUED))
    inbox.keep([Delivery(id="d", event="issues", about="example/TileGym#12", body="{}")], 1.0)
    page = pages.overview_html(pages.read_overview(1e10))
    assert re.findall(r'<a href="/requests/(\d)">', page) == ["2", "3", "1"]
    assert "2 active, 1 ended, 1 deliveries" in page
    assert EVIL not in page
    assert "&lt;script&gt;" in page


def test_one_request_shows_its_log_and_its_gates_in_their_order(rejected: int) -> None:
    shown = pages.read_request(rejected, 1e10)
    assert shown is not None
    assert [(gate.gate, gate.verdict) for gate in shown.gates] == [
        ("policy", "passed"),
        ("build", "failed"),
        ("tile-ir", "not run"),
    ]
    assert [line for _, line in shown.log][1:3] == ["attempt scale-1", "running"]
    page = pages.request_html(shown)
    assert EVIL not in page
    assert "\x1b" not in page
    assert "<code>kernel.rs</code>" in page
    assert pages.read_request(99, 1e10) is None


def test_an_empty_queue_says_how_to_fill_it() -> None:
    assert "A label <code>port: OP</code> on an issue asks for a port." in pages.overview_html(pages.read_overview(0.0))
