"""READ FIRST. One GitHub event, from its JSON to what stands in the issue afterwards.

event → command → decision → driver → reply

Every door leads here. In GitHub Actions an attempt is made at once (`port`); the server enters it into its tables
instead (`Bot.start`), and a worker calls `port` when its turn comes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from tileport_bot.check_pull import check_pull
from tileport_bot.code import about_code
from tileport_bot.code_events import read_code_event
from tileport_bot.code_host import CodeHost
from tileport_bot.commands import Check, read_command
from tileport_bot.decide import Decision, Ignore, Known, QueueGates, Say, Start, StartMany, Stop, decide
from tileport_bot.diagnose import diagnose, first_failed_gate
from tileport_bot.driver import Cancelled, Driver, Finished, Interrupted
from tileport_bot.events import Commented, Ignored, Place, read_event
from tileport_bot.excerpts import first_failure
from tileport_bot.gates import queue_gates
from tileport_bot.github import PullRequest
from tileport_bot.memory import Journal, Memory
from tileport_bot.permissions import why_not
from tileport_bot.progress import Clock, StatusComment, said, show, utc_now
from tileport_bot.publish import publish
from tileport_bot.replies import (
    Result,
    asked_for_elsewhere,
    batch_comment,
    delivered,
    how_it_ended,
    status_comment,
)
from tileport_bot.reviewer import Judge
from tileport_bot.status import Record, Stage, reply_marker
from tileport_bot.writes import once
from tileport_driver.records import EXIT_CODES, MachineryFailed, NotPorted, Outcome, Ported, Refused, Unproved
from tileport_skill.errors import MachineryError, TileportError
from tileport_skill.tilegym.operators import Operator, open_checkout, read_operators


class Handled(NamedTuple):
    line: str
    """What was done, for the log."""
    exit_code: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Bot:
    """What the bot works with."""

    github: CodeHost
    driver: Driver
    memory: Memory
    checkout: Path
    """A clone of the repository that the events come from."""
    start: Callable[[Bot, Place, Record], Handled]
    """What becomes of a request that may begin: `port_now`, or the queue."""
    drafts: bool = True
    """Whether the repository wants a draft pull request for a port that is not yet proved."""
    judge: Judge | None = None
    """Judges ports that stand in a commit; None where pull requests and pushes are not looked at."""
    evidence: str = ""
    """Address of this run, where it is one of a workflow: its attempts' folders are its artifacts."""
    resumes: bool = False
    """Whether an attempt that is broken off is gone on with later."""
    stopping: Callable[[], bool] = lambda: False
    now: Clock = utc_now
    log: Callable[[str], None] = print


def handle(bot: Bot, event_name: str, payload: object) -> Handled:
    """Raises `RequestError` on a payload that is no GitHub event, or a checkout that is none of TileGym."""
    code = read_code_event(event_name, payload)
    if code is not None:
        return Handled(about_code(bot.github, bot.judge, bot.checkout, code, bot.log))
    event = read_event(event_name, payload)
    if isinstance(event, Ignored):
        return Handled(f"ignored: {event.why}")
    if event.place.sender_is_bot or event.place.sender == bot.github.login:
        return Handled(f"ignored: {event.place.sender} is a bot")
    command = read_command(event)
    if command is None:
        return Handled("ignored: it asks nothing of us")
    if isinstance(command, Check) and event.place.on_pull_request and bot.judge is not None:
        return check_ports(bot, event.place)
    comment = event.comment if isinstance(event, Commented) else None
    decision = decide(command, event.place, look_up(bot, event.place))
    return carry_out(bot, event.place, comment, decision)


def check_ports(bot: Bot, place: Place) -> Handled:
    """The gates that need a GPU, for the ports a pull request touches."""
    refusal = why_not(place, bot.github.permission(place.repository, place.sender))
    return Handled(f"ignored: {refusal}" if refusal else check_pull(bot.github, bot.checkout, place))


def look_up(bot: Bot, place: Place) -> Known:
    """Everything that the decision depends on."""
    recalled = bot.memory.recall(place)
    operators, references = operators_of(bot.checkout)
    return Known(
        permission=bot.github.permission(place.repository, place.sender),
        operators=operators,
        references=references,
        records=recalled.records,
        answered=recalled.answered,
    )


def carry_out(bot: Bot, place: Place, comment: int | None, decision: Decision) -> Handled:
    match decision:
        case Ignore(why=why):
            return Handled(f"ignored: {why}")
        case Say(text=text):
            return answer(bot, place, text)
        case Stop(record=record):
            words = status_comment(record, updated=said(bot.now()))
            if bot.memory.take_back(place, record, words):
                show(bot.github, place, record, words)
            return Handled(f"cancelled: {record.operator}")
        case Start(record=record):
            issue = bot.memory.enter(place, record)
            if issue is not None and issue != place.issue:
                return answer(bot, place, asked_for_elsewhere(record.operator, issue))
            react(bot, place, comment)
            return bot.start(bot, place, record)
        case StartMany(records=records):
            react(bot, place, comment)
            new = [record for record in records if bot.memory.enter(place, record) is None]
            if place.issue:
                answer(bot, place, batch_comment([record.operator for record in new]))
            done = [bot.start(bot, place, record) for record in new]
            return Handled(
                "\n".join(one.line for one in done) or "nothing to do", max((d.exit_code for d in done), default=0)
            )
        case QueueGates(operator=operator):
            return answer(bot, place, queue_gates(place, operator))


def answer(bot: Bot, place: Place, text: str) -> Handled:
    """A comment that is made once, however often it is asked for."""
    body = f"{reply_marker(place.trigger)}\n{text}"

    def there() -> int | None:
        comments = bot.github.own_comments(place.repository, place.issue)
        return next((comment.id for comment in comments if comment.body.startswith(reply_marker(place.trigger))), None)

    if place.issue:
        once(there, lambda: bot.github.create_comment(place.repository, place.issue, body))
    return Handled(f"answered: {text.splitlines()[0]}")


def react(bot: Bot, place: Place, comment: int | None) -> None:
    """👀, a courtesy: an issue that takes none gets none."""
    try:
        if place.issue:
            bot.github.react(place.repository, place.issue, comment)
    except MachineryError as error:
        bot.log(f"No reaction could be given: {error}")


def port_now(bot: Bot, place: Place, record: Record) -> Handled:
    with bot.memory.journal(place, record) as journal:
        return port(bot, place, record, journal)


def port(bot: Bot, place: Place, record: Record, journal: Journal) -> Handled:
    """One attempt, with the status comment brought to an end however the attempt ends.

    Where broken off attempts are resumed, what breaks one off is raised: `Interrupted`, or `MachineryError`.
    """
    record = replace(record, evidence=bot.evidence)
    status = StatusComment(bot.github, place, record, journal, now=bot.now, log=bot.log, stopping=bot.stopping)
    try:
        status.stage(Stage.QUEUED)
        finished = bot.driver.run(record.operator, bot.checkout, record.attempt, status)
        pull_request = None
        if delivered(finished.outcome):
            status.stage(Stage.PUBLISHING)
            pull_request = publish(bot.github, place, record, finished, bot.checkout, drafts=bot.drafts)
    except (Cancelled, Interrupted) as stopped:
        taken_back = status.cancelled()
        if taken_back is None and bot.resumes:
            raise Interrupted from stopped
        if taken_back is None:
            return give_up(status, KeyboardInterrupt())
        status.finish(ended(taken_back, Stage.CANCELLED, "cancelled"), None)
        return Handled(f"cancelled: {record.operator}")
    except BaseException as error:
        # Whoever waits for this must not read "running" for ever. The error goes on to the log.
        if not (bot.resumes and isinstance(error, MachineryError)):
            give_up(status, error)
        raise
    if bot.resumes and (trouble := passing_trouble(finished.outcome)):
        raise MachineryError(trouble)
    status.finish(*conclude(status.record, finished, pull_request))
    code = EXIT_CODES["failed"] if isinstance(finished.outcome, MachineryFailed) else 0
    return Handled(f"{finished.outcome.kind}: {record.operator}", code)


def end_what_was_left(bot: Bot, place: Place, record: Record) -> None:
    """The end of a request whose process is gone, and which nobody will go on with."""
    outcome = MachineryFailed(reason=why_interrupted(KeyboardInterrupt()))
    record, result = conclude(record, Finished(outcome=outcome), None)
    show(bot.github, place, record, status_comment(record, updated=said(bot.now()), result=result))


def give_up(status: StatusComment, error: BaseException) -> Handled:
    """The end of an attempt that had none."""
    outcome = MachineryFailed(reason=why_interrupted(error))
    status.finish(*conclude(status.record, Finished(outcome=outcome), None))
    return Handled(f"failed: {status.record.operator}", EXIT_CODES["failed"])


def conclude(record: Record, finished: Finished, pull_request: PullRequest | None) -> tuple[Record, Result]:
    """The record and the comment of an attempt that is over; only a model's rejected port, or none, costs one."""
    outcome = finished.outcome
    if pull_request is not None:
        record = replace(record, pull_request=pull_request.number)
    if isinstance(outcome, Ported | Unproved):
        result = Result(outcome=outcome, pull_request=pull_request, finished=finished)
        return ended(record, Stage.DONE, outcome.kind), result
    failed = first_failed_gate(finished.acceptance)
    excerpt = first_failure(failed, finished.attempt_dir) if failed else None
    drafted = finished.draft is not None
    diagnosis = diagnose(outcome, failed, excerpt, drafted=drafted, given_up=finished.given_up)
    spent = record.spent + (isinstance(outcome, NotPorted) and finished.draft is None)
    record = replace(ended(record, Stage.FAILED, how_it_ended(outcome, diagnosis)), spent=spent)
    return record, Result(outcome=outcome, diagnosis=diagnosis, finished=finished)


def passing_trouble(outcome: Outcome) -> str | None:
    """What may be over when the same is tried again later."""
    if isinstance(outcome, MachineryFailed):
        return outcome.reason
    if isinstance(outcome, Refused) and "being worked on by another" in outcome.reason:
        return outcome.reason
    return None


def ended(record: Record, stage: Stage, how: str) -> Record:
    return replace(record, stage=stage, history=(*record.history, f"{record.attempt}: {how}"))


def why_interrupted(error: BaseException) -> str:
    if isinstance(error, TileportError):
        return str(error)
    if isinstance(error, KeyboardInterrupt):
        return "It was stopped before its end; `/retry` asks again."
    return f"A bug of ours, {type(error).__name__}: the log of this run holds it."


def operators_of(root: Path) -> tuple[tuple[Operator, ...], Mapping[str, str]]:
    """The checkout's operators, and the hash of each one's reference; read again when a file changes."""
    checkout = open_checkout(root)
    files = sorted(checkout.reference_dir.rglob("*.py"))
    found = [file.stat() for file in files]
    return _operators(
        root.resolve(), tuple(map(str, files)), tuple((s.st_mtime_ns, s.st_size, s.st_ino) for s in found)
    )


@lru_cache(maxsize=32)
def _operators(
    root: Path, files: tuple[str, ...], state: tuple[tuple[int, int, int], ...]
) -> tuple[tuple[Operator, ...], Mapping[str, str]]:
    operators = read_operators(open_checkout(root))
    hashes = {o.name: hashlib.sha256((root / o.reference).read_bytes()).hexdigest() for o in operators}
    return operators, hashes
