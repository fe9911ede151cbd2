"""Many operators: in order, each by itself, stoppable and resumable."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from tests.driver.conftest import commit_all, write_files
from tests.driver.test_cli import tileport
from tileport_driver.batch import Batch, Pace, last_batch, new_batch, run_batch, script_of, start_batch
from tileport_driver.batch_show import batch_table, show_batch, watch_batch
from tileport_driver.container import Stopped
from tileport_driver.dependencies import in_order
from tileport_driver.progress import Progress, Stage
from tileport_driver.records import Delivery, MachineryFailed, NotPorted, Outcome, Ported, Refused
from tileport_driver.requests import Order
from tileport_driver.service import Ended
from tileport_skill.errors import RequestError
from tileport_skill.tilegym.operators import open_checkout, read_operators

PORTED = Ported(delivery=Delivery(branch="port/x", commit="c" * 40))
NAMES = ("alpha", "beta", "gamma", "delta")


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEPORT_STATE", str(tmp_path / "state"))


def batch(*names: str) -> Batch:
    return new_batch(Path("/r"), names or NAMES, "none", None, "HEAD")


def run(
    asked: Batch,
    outcomes: dict[str, Outcome | BaseException],
    pace: Pace | None = None,
    stop: Callable[[], bool] | None = None,
) -> tuple[Batch, list[str]]:
    """The batch as it ended, and the operators that were ported, in order."""
    done: list[str] = []

    def port_one(order: Order, progress: Progress) -> Ended:
        done.append(order.operator)
        outcome = outcomes.get(order.operator, PORTED)
        if isinstance(outcome, BaseException):
            raise outcome
        return Ended(outcome, None)

    return run_batch(asked, port_one, pace or Pace(), stop or (lambda: False), lambda *_: None), done


def test_what_becomes_of_one_stops_no_other() -> None:
    ended, done = run(
        batch(),
        {
            "alpha": NotPorted(reasons=("tile-ir\nmore",)),
            "beta": ValueError("a bug of ours"),
            "gamma": Refused(reason="no"),
        },
    )
    assert done == list(NAMES)
    assert [(row.state, row.why) for row in ended.rows] == [
        ("not ported", "tile-ir"),
        ("failed", "ValueError: a bug of ours"),
        ("refused", "no"),
        ("ported", ""),
    ]
    assert ended.ended == "done"


def test_what_is_left_is_done_by_resuming_and_nothing_twice() -> None:
    first, done = run(batch(), {"beta": MachineryFailed(reason="Docker")}, Pace(limit=2))
    assert (first.ended, done) == ("limit", ["alpha", "beta"])
    second, done = run(last_batch(), {})
    assert (second.ended, done) == ("done", ["beta", "gamma", "delta"])
    assert last_batch() == second


def test_a_killed_batch_is_gone_on_with_from_its_file() -> None:
    asked = batch()

    class Killed(BaseException): ...

    with pytest.raises(Killed):
        run(asked, {"beta": Killed()})
    assert [row.state for row in last_batch().rows] == ["ported", "running", "waiting", "waiting"]
    _, done = run(last_batch(), {})
    assert done == ["beta", "gamma", "delta"]


def test_a_file_stops_it_between_two_operators_and_one_of_yesterday_does_not() -> None:
    asked = batch()
    asked.stop_file.touch()

    def port_one(order: Order, progress: Progress) -> Ended:
        if order.operator == "beta":
            asked.stop_file.touch()
        return Ended(PORTED, None)

    ended = run_batch(asked, port_one, Pace(), lambda: False, lambda *_: None)
    assert [row.state for row in ended.rows] == ["ported", "ported", "waiting", "waiting"]
    assert ended.ended == "stopped"


def test_stopping_an_operator_stops_the_batch_and_it_is_done_again() -> None:
    ended, _ = run(batch(), {"beta": Stopped()})
    assert [row.state for row in ended.rows] == ["ported", "stopped", "waiting", "waiting"]
    assert run(last_batch(), {})[1] == ["beta", "gamma", "delta"]


def test_three_failures_of_our_machinery_in_a_row_stop_it_and_two_do_not() -> None:
    broken = MachineryFailed(reason="the disk is full")
    ended, done = run(batch(*"abcdef"), {"a": broken, "b": broken, "d": broken, "e": broken, "f": broken})
    assert (ended.ended, done) == ("done", list("abcdef"))
    ended, done = run(batch(*"abcde"), {"a": broken, "b": broken, "c": broken})
    assert (ended.ended, done) == ("machinery", ["a", "b", "c"])


def test_it_is_paced() -> None:
    looks: list[int] = []

    def stop() -> bool:
        looks.append(1)
        return len(looks) > 20  # while it rests before the second

    ended, done = run(batch(), {}, Pace(seconds=3600), stop)
    assert (ended.ended, done) == ("stopped", ["alpha"])


def test_an_operator_comes_after_those_it_calls(target: Path) -> None:
    reference = "src/tilegym/ops/cutile/{}.py"
    text = (target / reference.format("scale")).read_text()
    write_files(
        target,
        {
            reference.format("aardvark"): "from .zebra import zebra\n" + text.replace("scale", "aardvark"),
            reference.format("zebra"): "from tilegym.ops.cutile.scale import scale\n" + text.replace("scale", "zebra"),
        },
    )
    commit_all(target, "More")
    checkout = open_checkout(target)
    everyone = read_operators(checkout)
    assert [o.name for o in in_order(checkout, everyone, everyone)] == ["rms_norm", "scale", "zebra", "aardvark"]
    started = start_batch(target, ["aardvark", "SCALE", "scale"], "none", None, "HEAD", declare=True, hide_twins=True)
    assert (last_batch().declare, last_batch().hide_twins) == (True, True)
    assert [row.operator for row in started.rows] == ["scale", "aardvark"]
    assert len(started.base) == 40
    write_files(target, {reference.format("scale"): "from .aardvark import aardvark\n" + text})
    with pytest.raises(RequestError, match="in a circle"):
        in_order(open_checkout(target), everyone, everyone)


def test_an_operator_takes_its_own_script_or_the_one_for_all(tmp_path: Path) -> None:
    (tmp_path / "scale").mkdir()
    assert script_of(tmp_path, "scale") == tmp_path / "scale"
    assert script_of(tmp_path, "other") == tmp_path
    assert script_of(None, "scale") is None


def test_the_table_lives_while_an_operator_runs_and_the_end_says_how_to_go_on() -> None:
    console = Console(width=120, record=True, force_terminal=False)

    def port_one(order: Order, progress: Progress) -> Ended:
        progress.enter(Stage.CHECKING)
        progress.say("cargo build", tokens=1234)
        return Ended(NotPorted(reasons=("slower",)), None)

    shown: list[str] = []

    def work(show: Callable[[Batch, Progress | None], None]) -> Batch:
        def both(changed: Batch, progress: Progress | None) -> None:
            show(changed, progress)
            if progress is not None:
                progress.enter(Stage.CHECKING)
                progress.say("cargo build", tokens=1234)
                part = Console(width=120, record=True)
                part.print(batch_table(changed, progress))
                shown.append(part.export_text())

        return run_batch(batch(), port_one, Pace(limit=1), lambda: False, both)

    show_batch(watch_batch(work, console), console)
    assert "checking" in shown[0]
    assert "1,234" in shown[0]
    text = console.export_text()
    assert "1/4 alpha: begins" in text
    assert "alpha: not ported" in text
    assert "1 not ported, 3 waiting" in text
    assert "tileport batch --resume" in text


@pytest.mark.parametrize("args", [[], ["--all", "scale"], ["--all", "--resume"], ["--all", "--engine", "scripted"]])
def test_a_usage_error_exits_2(args: list[str], target: Path, tmp_path: Path) -> None:
    assert tileport("batch", *args, "--repo", str(target), state=tmp_path).returncode == 2


def test_a_batch_without_docker_stops_and_says_why(target: Path, tmp_path: Path) -> None:
    nowhere = {"DOCKER_HOST": "unix:///nonexistent.sock", "PATH": "/nonexistent:/usr/bin:/bin"}
    (tmp_path / "script.yaml").write_text("- reply: [{text: done}]\n")
    command = ["batch", "--all", "--repo", str(target), "--engine", "scripted", "--script", str(tmp_path), "--json"]
    cache = str(tmp_path / "cache")
    done = tileport(*command, state=tmp_path / "state", TILEPORT_CACHE=cache, **nowhere)
    rows = json.loads(done.stdout)["rows"]
    assert [row["state"] for row in rows] == ["failed", "failed"], done.stderr
    assert "apt-get install docker.io" in rows[0]["why"]
