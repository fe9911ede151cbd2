"""READ FIRST. One GitHub event, from its JSON to what stands in the issue afterwards.

event → command → decision → driver → reply
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from tileport_bot.commands import read_command
from tileport_bot.decide import Decision, Ignore, Known, Say, Start, Stop, decide
from tileport_bot.diagnose import diagnose, first_failed_gate
from tileport_bot.driver import Cancelled, Driver, Finished
from tileport_bot.events import Commented, Ignored, Place, read_event
from tileport_bot.excerpts import first_failure
from tileport_bot.github import GitHub, PullRequest
from tileport_bot.progress import Clock, StatusComment, find_status, said, utc_now
from tileport_bot.publish import publish
from tileport_bot.replies import Result, delivered, how_it_ended, status_comment
from tileport_bot.status import Record, Stage, answered_trigger, read_record, reply_marker
from tileport_driver.records import EXIT_CODES, MachineryFailed, NotPorted, Ported, Unproved
from tileport_skill.errors import TileportError
from tileport_skill.tilegym.operators import open_checkout, read_operators


@dataclass(frozen=True, slots=True, kw_only=True)
class Bot:
    """What the bot works with."""

    github: GitHub
    driver: Driver
    checkout: Path
    """A clone of the repository that the events come from."""
    drafts: bool = True
    """Whether the repository wants a draft pull request for a port that is not yet proved."""
    now: Clock = utc_now
    log: Callable[[str], None] = print


class Handled(NamedTuple):
    line: str
    """What was done, for the log."""
    exit_code: int = 0


def handle(bot: Bot, event_name: str, payload: object) -> Handled:
    """Raises `RequestError` on a payload that is no GitHub event, or a checkout that is none of TileGym."""
    event = read_event(event_name, payload)
    if isinstance(event, Ignored):
        return Handled(f"ignored: {event.why}")
    if event.place.sender_is_bot:
        return Handled(f"ignored: {event.place.sender} is a bot")
    command = read_command(event)
    if command is None:
        return Handled("ignored: it asks nothing of us")
    comment = event.comment if isinstance(event, Commented) else None
    decision = decide(command, event.place, look_up(bot, event.place))
    return carry_out(bot, event.place, comment, decision)


def look_up(bot: Bot, place: Place) -> Known:
    """Everything that the decision depends on."""
    checkout = open_checkout(bot.checkout)
    operators = read_operators(checkout)
    bodies = [comment.body for comment in bot.github.own_comments(place.repository, place.issue)]
    return Known(
        permission=bot.github.permission(place.repository, place.sender),
        operators=operators,
        references={o.name: hashlib.sha256((checkout.root / o.reference).read_bytes()).hexdigest() for o in operators},
        records=tuple(record for body in bodies if (record := read_record(body))),
        answered=frozenset(trigger for body in bodies if (trigger := answered_trigger(body))),
    )


def carry_out(bot: Bot, place: Place, comment: int | None, decision: Decision) -> Handled:
    match decision:
        case Ignore(why=why):
            return Handled(f"ignored: {why}")
        case Say(text=text):
            bot.github.create_comment(place.repository, place.issue, f"{reply_marker(place.trigger)}\n{text}")
            return Handled(f"answered: {text.splitlines()[0]}")
        case Stop(record=record):
            id = find_status(bot.github, place, record.operator)
            if id is not None:
                bot.github.edit_comment(place.repository, id, status_comment(record, updated=said(bot.now())))
            return Handled(f"cancelled: {record.operator}")
        case Start(record=record):
            bot.github.react(place.repository, place.issue, comment)
            return port(bot, place, record)


def port(bot: Bot, place: Place, record: Record) -> Handled:
    """One attempt, with the status comment brought to an end however the attempt ends."""
    status = StatusComment(bot.github, place, record, now=bot.now, log=bot.log)
    try:
        status.advance(Stage.QUEUED)
        finished = bot.driver.run(record.operator, bot.checkout, record.attempt, status.advance)
        pull_request = None
        if delivered(finished.outcome):
            status.advance(Stage.PUBLISHING)
            pull_request = publish(bot.github, place, record, finished, bot.checkout, drafts=bot.drafts)
    except Cancelled:
        status.finish(ended(status.record, Stage.CANCELLED, "cancelled"), None)
        return Handled(f"cancelled: {record.operator}")
    except BaseException as error:
        # Whoever waits for this must not read "running" for ever. The error goes on to the log.
        outcome = MachineryFailed(reason=why_interrupted(error))
        status.finish(*conclude(record, Finished(outcome=outcome), None))
        raise
    status.finish(*conclude(record, finished, pull_request))
    code = EXIT_CODES["failed"] if isinstance(finished.outcome, MachineryFailed) else 0
    return Handled(f"{finished.outcome.kind}: {record.operator}", code)


def conclude(record: Record, finished: Finished, pull_request: PullRequest | None) -> tuple[Record, Result]:
    """The record and the comment of an attempt that is over; only a model's rejected port, or none, costs one."""
    outcome = finished.outcome
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


def ended(record: Record, stage: Stage, how: str) -> Record:
    return replace(record, stage=stage, history=(*record.history, f"{record.attempt}: {how}"))


def why_interrupted(error: BaseException) -> str:
    if isinstance(error, TileportError):
        return str(error)
    if isinstance(error, KeyboardInterrupt):
        return "It was stopped before its end; `/retry` asks again."
    return f"A bug of ours, {type(error).__name__}: the log of this run holds it."
