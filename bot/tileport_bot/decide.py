"""What to do about a command: start, cancel, answer or ignore. Pure; every look-up was made before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tileport_bot import replies
from tileport_bot.commands import Cancel, Check, Command, Help, Misspelt, Port, PortMany, Retry, Status
from tileport_bot.events import Place
from tileport_bot.permissions import Permission, why_not
from tileport_bot.status import MAX_ATTEMPTS, Record, Stage
from tileport_skill.errors import RequestError
from tileport_skill.tilegym.operators import Operator, find_operator

MAX_TRIGGERS = 50
"""How many earlier acts a record remembers, which keeps a comment's hidden line short."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """A new attempt; `record` stands at `AUTHORISED`."""

    record: Record


@dataclass(frozen=True, slots=True, kw_only=True)
class StartMany:
    """A batch: as many attempts, in this order."""

    records: tuple[Record, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueGates:
    """The gates that need a GPU are to run for the operator's newest port."""

    operator: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """The request of `record` is taken back; whoever runs it reads that before its next stage."""

    record: Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Say:
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ignore:
    why: str


Decision = Start | StartMany | QueueGates | Stop | Say | Ignore


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What was looked up for the decision."""

    permission: Permission
    operators: tuple[Operator, ...]
    references: Mapping[str, str]
    """The hash of each operator's reference, by operator name."""
    records: tuple[Record, ...]
    """Of this issue, from our own comments."""
    answered: frozenset[str]
    """Triggers that have had their answer."""


def decide(command: Command, place: Place, known: Known) -> Decision:
    if refusal := why_not(place, known.permission):
        return Ignore(why=refusal)
    if place.trigger and (
        place.trigger in known.answered
        or any(place.trigger in (record.trigger, *record.past_triggers) for record in known.records)
    ):
        return Ignore(why="this was answered before; it is the same event again")
    if isinstance(command, Status | Help | Misspelt):
        return Say(text=_answer(command, known))
    match command:
        case Port(operator=spelling):
            return _start(spelling, place, known)
        case PortMany(operators=spellings):
            return _start_many(spellings, place, known)
        case Check(operator=spelling):
            return _check(spelling, known)
        case Retry():
            return _retry(command, place, known)
        case Cancel():
            return _cancel(command, place, known)


def _answer(command: Status | Help | Misspelt, known: Known) -> str:
    match command:
        case Status():
            return replies.status_list(known.records)
        case Help():
            return replies.help_text()
        case Misspelt(wrote=wrote, meant=meant):
            return replies.did_you_mean(wrote, meant)


def _start(spelling: str, place: Place, known: Known) -> Decision:
    try:
        operator = find_operator(known.operators, spelling).name
    except RequestError as error:
        return Say(text=replies.refused(str(error)))
    reference = known.references[operator]
    before = _record_of(operator, known.records)
    if before and not before.stage.is_end:
        return Ignore(why=f"{operator} is being worked on already ({before.stage})")
    if before and _is_late(place, before):
        return Ignore(why=f"this is older than what was done about {operator} already")
    record = _new(operator, place, known)
    if before is None or before.reference != reference:
        return Start(record=record)
    if before.spent >= MAX_ATTEMPTS:
        return Say(text=replies.no_attempts_left(before))
    past = (*before.past_triggers, before.trigger)[-MAX_TRIGGERS:]
    return Start(
        record=replace(record, attempt=before.spent + 1, spent=before.spent, past_triggers=past, history=before.history)
    )


def _new(operator: str, place: Place, known: Known) -> Record:
    return Record(
        operator=operator,
        reference=known.references[operator],
        stage=Stage.AUTHORISED,
        attempt=1,
        asked_by=place.sender,
        asked_at=place.at,
        trigger=place.trigger,
    )


def _start_many(spellings: tuple[str, ...] | None, place: Place, known: Known) -> Decision:
    """All that have no port yet, or those that are named; what is being worked on or spent is left out."""
    try:
        wanted = [find_operator(known.operators, spelling) for spelling in spellings or ()]
    except RequestError as error:
        return Say(text=replies.refused(str(error)))
    if spellings is None:
        wanted = [operator for operator in known.operators if not operator.ported]
    found = [_start(operator.name, place, known) for operator in wanted]
    records = tuple(one.record for one in found if isinstance(one, Start))
    return StartMany(records=records) if records else Say(text=replies.nothing_to_port())


def _check(spelling: str | None, known: Known) -> Decision:
    done = [record for record in known.records if record.stage is Stage.DONE]
    if spelling is not None:
        try:
            operator = find_operator(known.operators, spelling).name
        except RequestError as error:
            return Say(text=replies.refused(str(error)))
        done = [record for record in done if record.operator == operator]
    if len(done) == 1:
        return QueueGates(operator=done[0].operator)
    return Say(text=replies.name_one("/check", [record.operator for record in done]))


def _retry(command: Retry, place: Place, known: Known) -> Decision:
    if command.operator is not None:
        return _start(command.operator, place, known)
    ended = [record for record in known.records if record.stage.is_end]
    if len(ended) == 1:
        return _start(ended[0].operator, place, known)
    return Say(text=replies.name_one("/retry", [record.operator for record in ended]))


def _cancel(command: Cancel, place: Place, known: Known) -> Decision:
    live = [record for record in known.records if not record.stage.is_end]
    if command.operator is not None:
        try:
            operator = find_operator(known.operators, command.operator).name
        except RequestError as error:
            # A label that named no operator is taken off quietly; who would stop something is told.
            return Say(text=replies.refused(str(error))) if live else Ignore(why=str(error))
        live = [record for record in live if record.operator == operator]
    if len(live) == 1 and _is_late(place, live[0]):
        return Ignore(why=f"this is older than what was done about {live[0].operator} already")
    if len(live) == 1:
        past = (*live[0].past_triggers, place.trigger)[-MAX_TRIGGERS:]
        return Stop(record=replace(live[0], stage=Stage.CANCELLED, past_triggers=past))
    if not live and command.operator is None:
        return Say(text=replies.nothing_to_cancel())
    if not live:
        return Ignore(why=f"{command.operator} is not being worked on, so there is nothing to cancel")
    return Say(text=replies.name_one("/cancel", [record.operator for record in live]))


def _is_late(place: Place, record: Record) -> bool:
    """A label's event that comes after one that was later; of comments each is an act of its own."""
    return place.trigger.startswith(("labeled ", "unlabeled ")) and bool(place.at) and place.at <= record.asked_at


def _record_of(operator: str, records: tuple[Record, ...]) -> Record | None:
    return next((record for record in reversed(records) if record.operator == operator), None)
