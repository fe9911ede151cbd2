"""At most two attempts at one operator and reference, whatever is restarted, relabelled or committed meanwhile."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from tests.driver.conftest import commit_all, write_files
from tileport_driver import ledger, service
from tileport_driver.checkout import prepare
from tileport_driver.failures import Transient
from tileport_driver.ledger import Begun, Unfinished, Waiting
from tileport_driver.progress import Progress
from tileport_driver.records import (
    AgentRun,
    Delivery,
    MachineryFailed,
    NotPorted,
    Ported,
    PortRequest,
    Refused,
    Unproved,
    Usage,
)
from tileport_driver.requests import Order, make_request
from tileport_driver.service import Ended, begin, go_on
from tileport_driver.store import attempt_of, new_attempt
from tileport_skill.errors import RequestError

REQUEST = PortRequest(
    repository="/r", operator="scale", base_commit="0" * 40, reference_hash="a" * 64, engine="anthropic"
)
DELIVERY = Delivery(branch="port/scale", commit="c" * 40)
UNPROVED = Unproved(delivery=DELIVERY, missing=())
AGENT_RUN = AgentRun(status="finished", exit_code=0, seconds=1, turns=1, usage=Usage(), summary="done")
REJECTED = NotPorted(reasons=("tile-ir: the kernel differs",))


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEPORT_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("TILEPORT_DATABASE_URL", raising=False)


def spend(number: int, request: PortRequest = REQUEST) -> None:
    name = f"{request.operator}-{request.base_commit[:4]}-{number}"
    assert isinstance(ledger.begin(request, name), Begun)
    ledger.end(name, REJECTED)


def test_the_second_attempt_starts_from_the_firsts_diagnosis() -> None:
    spend(1)
    begun = ledger.begin(REQUEST, "second")
    assert begun == Begun(number=2, previous="scale-0000-1", diagnosis="tile-ir: the kernel differs")


def test_a_third_is_refused_and_says_what_to_do() -> None:
    spend(1)
    spend(2)
    with pytest.raises(RequestError, match=r"All 2 attempts at scale are spent.*tileport grant scale --why"):
        ledger.begin(REQUEST, "third")


def test_a_new_commit_that_leaves_the_reference_alone_gives_no_new_attempt() -> None:
    spend(1)
    spend(2, replace(REQUEST, base_commit="1" * 40))
    with pytest.raises(RequestError, match="are spent"):
        ledger.begin(replace(REQUEST, base_commit="2" * 40), "third")


@pytest.mark.parametrize(
    "other",
    [{"reference_hash": "b" * 64}, {"operator": "rms_norm"}, {"repository": "/other"}, {"engine": "scripted"}],
    ids=str,
)
def test_another_reference_operator_repository_or_engine_has_attempts_of_its_own(other: dict[str, str]) -> None:
    spend(1)
    spend(2)
    begun = ledger.begin(replace(REQUEST, **other), "first")  # type: ignore[arg-type]
    assert begun == Begun(number=1)


@pytest.mark.parametrize(
    "outcome",
    [MachineryFailed(reason="no disk"), Refused(reason="a script")],
    ids=lambda outcome: outcome.kind,
)
def test_what_is_not_the_agents_failure_costs_nothing(outcome: MachineryFailed | Refused) -> None:
    for number in range(4):
        assert ledger.begin(REQUEST, f"try-{number}") == Begun(number=1)
        ledger.end(f"try-{number}", outcome)
    assert ledger.account(REQUEST).spent == 0


def wait(name: str = "one") -> None:
    assert isinstance(ledger.begin(REQUEST, name), Begun)
    ledger.end(name, UNPROVED)


def test_what_waits_for_a_gpu_costs_nothing_and_no_second_is_begun_meanwhile() -> None:
    wait()
    for commit in "0123":
        assert ledger.begin(replace(REQUEST, base_commit=commit * 40), "another") == Waiting(attempt="one")
    assert ledger.account(REQUEST).spent == 0


def test_a_script_and_a_program_may_be_asked_again_though_they_wait() -> None:
    for engine in ("scripted", "none"):
        request = replace(REQUEST, engine=engine)  # type: ignore[arg-type]
        for number in range(3):
            assert ledger.begin(request, f"{engine}-{number}") == Begun(number=1)
            ledger.end(f"{engine}-{number}", UNPROVED, engine)  # type: ignore[arg-type]


def test_what_a_gpu_rejected_is_spent_and_the_next_starts_from_its_diagnosis() -> None:
    wait()
    ledger.settle("one", UNPROVED, "anthropic")
    assert ledger.begin(REQUEST, "two") == Waiting(attempt="one")
    ledger.settle("one", REJECTED, "anthropic")
    assert ledger.begin(REQUEST, "two") == Begun(number=2, previous="one", diagnosis=REJECTED.reasons[0])


def test_a_maintainer_may_grant_another_in_place_of_one_that_waits() -> None:
    wait()
    ledger.grant(REQUEST, "ada", "there is no GPU here")
    assert ledger.begin(REQUEST, "two") == Begun(number=1)


def test_what_waits_is_given_again_whole(target: Path) -> None:
    request = make_request(Order(operator="scale", repository=target, engine="anthropic"))
    first = begin(request)
    first.write("outcome", UNPROVED)
    ledger.end(first.id, UNPROVED)
    again = begin(replace(request, base_commit="1" * 40))
    assert go_on(again, Progress(), lambda: False) == Ended(UNPROVED, first)


def test_what_waits_on_another_machine_is_said_to(target: Path) -> None:
    request = make_request(Order(operator="scale", repository=target, engine="anthropic"))
    ledger.begin(request, "scale-elsewhere")
    ledger.end("scale-elsewhere", UNPROVED)
    with pytest.raises(RequestError, match="scale-elsewhere waits for a GPU's judgement, and its folder is not"):
        begin(request)


def test_a_port_that_was_accepted_counts() -> None:
    ledger.begin(REQUEST, "one")
    ledger.end("one", Ported(delivery=DELIVERY))
    assert ledger.account(REQUEST).spent == 1


def test_ending_twice_counts_once_and_the_first_word_stands() -> None:
    ledger.begin(REQUEST, "one")
    ledger.end("one", REJECTED)
    ledger.end("one", MachineryFailed(reason="late"))
    assert ledger.account(REQUEST).spent == 1


def test_a_maintainer_grants_one_more_on_the_record() -> None:
    with pytest.raises(RequestError, match="2 of 2 attempts left"):
        ledger.grant(REQUEST, "ada", "too early")
    spend(1)
    spend(2)
    account = ledger.grant(REQUEST, "ada", "the emitter was broken")
    assert [(grant.by, grant.why) for grant in account.grants] == [("ada", "the emitter was broken")]
    spend(3)
    with pytest.raises(RequestError, match="All 3 attempts"):
        ledger.begin(REQUEST, "fourth")


def test_of_twenty_that_begin_at_once_one_does() -> None:
    found: list[object] = []
    threads = [
        threading.Thread(target=lambda n=number: found.append(ledger.begin(REQUEST, f"a{n}"))) for number in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(isinstance(each, Begun) for each in found) == 1
    assert len({each.attempt for each in found if isinstance(each, Unfinished)}) == 1


def test_an_unfinished_attempt_is_gone_on_with(target: Path) -> None:
    request = make_request(Order(operator="scale", repository=target, engine="anthropic"))
    first = begin(request)
    assert begin(request).id == first.id


def test_an_attempt_entered_before_a_crash_is_made_under_its_name(target: Path) -> None:
    request = make_request(Order(operator="scale", repository=target, engine="anthropic"))
    ledger.begin(request, "scale-entered")
    assert begin(request).id == "scale-entered"


def test_an_unfinished_attempt_at_an_older_commit_is_given_up_and_costs_nothing(target: Path) -> None:
    order = Order(operator="scale", repository=target, engine="anthropic")
    first = begin(make_request(order))
    write_files(target, {"README.md": "the leak is out"})
    commit_all(target, "Another commit")
    second = begin(make_request(order))
    assert second.id != first.id
    assert second.request().attempt == 1
    given_up = attempt_of(first.id)
    assert given_up is not None
    assert isinstance(given_up.outcome(), MachineryFailed)


def test_an_unfinished_attempt_whose_agent_has_ended_is_judged_whatever_was_committed_since(target: Path) -> None:
    order = Order(operator="scale", repository=target, engine="anthropic")
    first = begin(make_request(order))
    first.write("agent_run", AGENT_RUN)
    write_files(target, {"README.md": "another commit"})
    commit_all(target, "Another commit")
    assert begin(make_request(order)).id == first.id


def test_an_operator_renamed_between_two_attempts_is_another_and_the_begun_one_is_gone_on_with(
    target: Path, tmp_path: Path
) -> None:
    begun = begin(make_request(Order(operator="scale", repository=target, engine="anthropic")))
    reference = target / "src/tilegym/ops/cutile/scale.py"
    write_files(target, {"src/tilegym/ops/cutile/rescale.py": reference.read_text().replace("scale", "rescale")})
    reference.unlink()
    commit_all(target, "Rename")
    with pytest.raises(RequestError, match=r"No operator is named 'scale'. The nearest: rescale"):
        make_request(Order(operator="scale", repository=target, engine="anthropic"))
    renamed = begin(make_request(Order(operator="rescale", repository=target, engine="anthropic")))
    assert renamed.id != begun.id
    assert renamed.request().attempt == 1
    request = begun.request()
    record = prepare(target, request.base_commit, request.operator, tmp_path / "trusted.git", tmp_path / "tree")
    assert record.operator == "scale"
    assert (tmp_path / "tree/src/tilegym/ops/cutile/scale.py").is_file()


def test_the_second_request_carries_number_and_diagnosis_and_the_task_tells_them(target: Path) -> None:
    from tileport_driver.agent_run import write_task
    from tileport_driver.checkout import prepare

    request = make_request(Order(operator="scale", repository=target, engine="anthropic"))
    first = begin(request)
    first.diff.write_text("diff --git a/x b/x\n")
    ledger.end(first.id, REJECTED)
    second = begin(request)
    assert (second.request().attempt, second.request().previous) == (2, first.id)
    second.work.mkdir()
    record = prepare(target, request.base_commit, "scale", second.trusted, second.work / "agent")
    second.write("checkout", record)
    write_task(second)
    assert "    tile-ir: the kernel differs\n" in (second.task / "task.md").read_text()
    assert (second.task / "previous.diff").read_text() == "diff --git a/x b/x\n"


def test_a_transient_failure_is_tried_again_and_then_reported_without_costing_an_attempt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    attempt = new_attempt(REQUEST, "scale-1")
    ledger.begin(REQUEST, attempt.id)
    tries: list[int] = []

    def fails(times: int) -> object:
        def once(*_: object) -> Ended:
            tries.append(1)
            if len(tries) <= times:
                raise Transient("Docker failed")
            return Ended(REJECTED, attempt)

        return once

    monkeypatch.setattr(service, "_go_on_once", fails(2))
    assert go_on(attempt, Progress(), lambda: False, delays=(0, 0)).outcome == REJECTED
    assert len(tries) == 3
    assert ledger.account(REQUEST).spent == 1
    tries.clear()
    other = new_attempt(REQUEST, "scale-2")
    ledger.begin(REQUEST, other.id)
    monkeypatch.setattr(service, "_go_on_once", fails(9))
    assert go_on(other, Progress(), lambda: False, delays=(0, 0)).outcome == MachineryFailed(reason="Docker failed")
    assert ledger.account(REQUEST).spent == 1
    assert isinstance(ledger.begin(REQUEST, "scale-3"), Unfinished)
