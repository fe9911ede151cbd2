"""The working folder: state is its history alone, whole lines of it, and bad input has a typed answer."""

from __future__ import annotations

import fcntl
import json
import threading

import pytest
from tests.skill.pipeline.conftest import Place

from tileport_skill.errors import MachineryError, RequestError
from tileport_skill.pipeline.diagnosis import as_markdown, diagnose
from tileport_skill.pipeline.ending import conclude
from tileport_skill.pipeline.machine import ROUTES, Run, Stop
from tileport_skill.pipeline.records import Entry, Problem
from tileport_skill.pipeline.submit import MOST_REPORT_BYTES, strayed
from tileport_skill.pipeline.validators.checked import Checked, decide
from tileport_skill.pipeline.verdicts import Role, Verdict
from tileport_skill.pipeline.work import open_work


def entry(number: int, role: Role, verdict: Verdict, **changes: object) -> Entry:
    values = {"number": number, "role": role, "verdict": verdict, "claimed": None, "problems": (), "facts": ()}
    values |= {"report": None, "report_sha256": None, "tree": {}, "at": "2026-01-01T00:00:00+00:00"}
    return Entry(**(values | changes))  # type: ignore[arg-type]


def test_preflight_finds_what_is_here_and_makes_the_analyzer_due(place: Place) -> None:
    done = place.begin()
    assert done.exit_code == 0, done.output
    assert "MISSING" not in done.output
    said = json.loads(place.run("next", "--json").output)
    assert (said["role"], said["report"]) == ("analyzer", str(place.work.root / "reports/analyzer-1.md"))
    assert "tilegym/ops/cutile_rs/scale.py" in said["write"]


def test_preflight_stops_where_a_port_is_in_the_way(place: Place) -> None:
    place.write_kernel()
    done = place.begin()
    assert done.exit_code == 10
    assert "MISSING no port in the way: Take it out first" in done.output
    assert place.work.step() == Stop("this machine lacks what a port needs")
    assert "no port in the way" in (place.work.root / "diagnosis.md").read_text()


def test_a_line_that_was_being_written_when_its_writer_was_killed_is_no_line(place: Place) -> None:
    place.begin()
    before = place.work.history()
    with place.work.history_file.open("a") as file:
        file.write('{"number": 2, "role": "analy')
    assert place.work.history() == before
    place.work.append(entry(2, Role.ANALYZER, Verdict.PASS))
    assert [one.number for one in place.work.history()] == [1, 2]
    assert place.work.step() == Run(Role.KERNEL_WRITER)


@pytest.mark.parametrize("damage", ["{}\n", '{"number": 7}\n', "not JSON\n"])
def test_a_damaged_history_is_not_gone_on_with(place: Place, damage: str) -> None:
    place.begin()
    with place.work.history_file.open("a") as file:
        file.write(damage)
    with pytest.raises(MachineryError, match="damaged"):
        place.work.history()
    place.work.history_file.write_text("")
    place.work.append(entry(2, Role.ANALYZER, Verdict.PASS))
    with pytest.raises(MachineryError, match="lacks lines"):
        place.work.history()


def test_the_end_is_written_again_if_it_is_gone(place: Place) -> None:
    place.begin()
    place.work.append(entry(2, Role.ANALYZER, Verdict.BLOCKED))
    assert place.run("next").exit_code == 10
    assert "analyzer was blocked" in (place.work.root / "diagnosis.md").read_text()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "reports/analyzer-1.md is not there"),
        ("All is well.\n", "no line `verdict: WORD`"),
        ("verdict: pass\nverdict: fail\n", "2 verdict lines"),
        ("verdict: splendid\n", "one of pass, fail, blocked"),
        ("x" * MOST_REPORT_BYTES + "\nverdict: pass\n", "more than"),
    ],
)
def test_a_report_that_says_nothing_is_asked_for_once_more(place: Place, text: str | None, says: str) -> None:
    place.begin()
    assert says in place.submit("analyzer", text)
    assert place.work.step() == Run(Role.ANALYZER, repair=True)
    (again,) = json.loads(place.run("next", "--json").output)["repair"]
    assert says in again
    place.submit("analyzer", None)
    assert place.work.step() == Stop("analyzer left no report that can be read")


def test_a_link_is_no_report(place: Place) -> None:
    place.begin()
    place.report("verdict: pass\n")
    path = place.work.report(Role.ANALYZER, place.work.history())
    elsewhere = path.rename(path.with_name("elsewhere.md"))
    path.symlink_to(elsewhere)
    assert "is not there" in place.submit("analyzer", None)


def test_only_the_role_that_is_due_may_submit(place: Place) -> None:
    place.begin()
    with pytest.raises(RequestError, match="analyzer is next, not host-builder"):
        place.submit("host-builder", None)
    with pytest.raises(RequestError, match="holds a port already"):
        raise place.begin().exception or AssertionError
    place.work.append(entry(2, Role.ANALYZER, Verdict.FAIL))
    with pytest.raises(RequestError, match="has ended"):
        place.submit("analyzer", None)


def test_two_processes_do_not_work_in_one_folder(place: Place) -> None:
    place.begin()
    with (place.work.root / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(RequestError, match="Another process"):
            place.submit("analyzer", "verdict: pass\n")
        assert isinstance(place.run("check", "analyzer").exception, RequestError)


def test_who_has_patience_gets_a_folder_once_the_other_is_done_with_it(place: Place) -> None:
    place.begin()
    with (place.work.root / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        threading.Timer(0.5, lambda: fcntl.flock(file, fcntl.LOCK_UN)).start()
        with place.work.locked(patience=60):
            pass


def test_a_working_folder_in_the_checkout_would_become_part_of_the_port(place: Place) -> None:
    with pytest.raises(RequestError, match="inside"):
        open_work(place.repo / "work", place.repo)


def test_without_preflight_there_is_nothing_to_go_on_with(place: Place) -> None:
    with pytest.raises(RequestError, match="Begin with"):
        place.work.task()


def test_every_stop_leaves_a_diagnosis_that_names_its_reason(place: Place) -> None:
    stops = [(role, verdict, route) for (role, verdict), route in ROUTES.items() if isinstance(route, Stop)]
    assert len(stops) > 8
    place.begin()
    for role, verdict, stop in stops:
        place.work.history_file.write_text("")
        problem = Problem(owner=Verdict.FAIL_HOST, text=f"seen by {role}")
        place.work.append(entry(1, role, verdict, problems=(problem,)))
        text = conclude(place.work, stop).read_text()
        assert stop.why[1:] in text
        assert f"seen by {role}" in text


HOST = Problem(owner=Verdict.FAIL_HOST, text="a stride")
V = Verdict


@pytest.mark.parametrize(
    ("role", "claimed", "checked", "verdict"),
    [
        (Role.KERNEL_WRITER, V.EQUAL, Checked(problems=(), facts=()), V.EQUAL),
        (Role.KERNEL_WRITER, V.EQUAL, Checked(problems=(HOST,), facts=()), V.NOT_EQUAL),
        (Role.KERNEL_WRITER, V.BLOCKED, Checked(problems=(HOST,), facts=()), V.BLOCKED),
        (Role.HOST_BUILDER, V.PASS, Checked(problems=(HOST,), facts=()), V.FAIL_HOST),
        (Role.HOST_BUILDER, V.FAIL_KERNEL, Checked(problems=(HOST,), facts=()), V.FAIL_KERNEL),
        (Role.ANALYZER, V.PASS, Checked(problems=(HOST,), facts=()), V.FAIL),
        (Role.PERFORMANCE_VERIFIER, V.PASS, Checked(problems=(), facts=(), measured=V.NOT_RUN), V.NOT_RUN),
        (Role.PERFORMANCE_VERIFIER, V.PASS, Checked(problems=(), facts=(), measured=V.BELOW_BOUND), V.BELOW_BOUND),
        (Role.IR_ANALYST, V.FAIL_KERNEL, Checked(problems=(HOST,), facts=(), malformed=True), V.MALFORMED),
    ],
)
def test_what_a_role_says_stands_only_where_the_files_do_not_speak(
    role: Role, claimed: Verdict, checked: Checked, verdict: Verdict
) -> None:
    assert decide(role, claimed, checked) is verdict


def test_a_change_to_any_file_that_is_not_the_roles_is_straying() -> None:
    before = {"a": "1", "b": "1", "c": "1"}
    assert strayed(before, {"a": "2", "b": "1", "c": "1"}, frozenset({"a"})) == []
    (problem,) = strayed(before, {"a": "2", "b": "2", "d": "1"}, frozenset({"a"}))
    assert problem.text.endswith("b, c, d")


def test_a_diagnosis_says_where_a_claim_was_contradicted() -> None:
    last = entry(1, Role.HOST_BUILDER, Verdict.FAIL_HOST, claimed=Verdict.PASS)
    assert "It said pass; the validators found otherwise." in as_markdown(diagnose(Stop("x y"), (last,)))
