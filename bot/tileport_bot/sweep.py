"""What no event will bring any more: GitHub delivers once, and whoever handled a delivery may have been killed.

Labelled issues without a request get one, as if their event had come; what has ended and was not said is said. A
branch that was pushed without its pull request needs nothing of its own: its request has not ended, so the next worker
publishes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

from tileport_bot import requests
from tileport_bot.check_pull import tell_checks
from tileport_bot.code_host import CodeHost
from tileport_bot.commands import Port, read_command
from tileport_bot.decide import Ignore, decide
from tileport_bot.events import Labeled, Place
from tileport_bot.github import GitHub, Gone, LabelSet, Refusal
from tileport_bot.handle import Bot, carry_out, end_what_was_left, look_up, operators_of
from tileport_bot.progress import last_written, show
from tileport_bot.proving import prove
from tileport_bot.status import read_record
from tileport_skill.errors import MachineryError, RequestError
from tileport_skill.tilegym.operators import find_operator

_LONGEST_RUN = timedelta(hours=7)
"""A job of GitHub Actions is ended after six."""


def sweep(github: CodeHost, bot_for: Callable[[str], Bot], repositories: tuple[str, ...]) -> Iterator[str]:
    """A line for each thing that was found and finished; what fails is found again next time."""
    yield from say_what_was_not_said(github)
    yield from tell_checks(github)
    yield from prove(bot_for)
    for repository in repositories:
        try:
            bot = bot_for(repository)
            yield from end_what_was_left_behind(bot, repository)
            yield from ask_what_was_not_asked(bot, repository)
        except (MachineryError, RequestError) as error:
            yield f"{repository}: {error}"


def say_what_was_not_said(github: GitHub, after: float = 30.0) -> Iterator[str]:
    """Final comments of requests that ended at least so many seconds ago."""
    for request in requests.untold(after):
        name = f"{request.place.repository}#{request.place.issue}: {request.record.operator}"
        try:
            show(github, request.place, request.record, request.last_words or "")
        except (Gone, Refusal) as error:
            yield f"{name}: nobody can be told: {error}"
        except MachineryError as error:
            yield f"{name}: not told yet: {error}"
            continue
        else:
            yield f"{name}: told its end"
        requests.told(request.id)


def ask_what_was_not_asked(bot: Bot, repository: str) -> Iterator[str]:
    """Open issues whose port label has no request."""
    branch = ""
    for issue in bot.github.open_issues(repository):
        for label in issue.labels:
            if _is_dealt_with(bot, repository, issue.number, label):
                continue
            branch = branch or bot.github.default_branch(repository)
            line = _as_if_it_had_come(bot, repository, branch, issue.number, label)
            if line:
                yield f"{repository}#{issue.number}: {label}: {line}"


def _is_dealt_with(bot: Bot, repository: str, issue: int, label: str) -> bool:
    """Whether the label asks nothing, has had its request, or its answer."""
    place = _place(repository, "", issue, label, LabelSet("", False, ""))
    command = read_command(Labeled(place=place, label=label))
    if not isinstance(command, Port):
        return True
    try:
        operator = find_operator(operators_of(bot.checkout)[0], command.operator).name
    except RequestError:
        operator = ""
    if operator and bot.memory.knows(place, operator):
        return True
    recalled = bot.memory.recall(place)
    answered = any(trigger.startswith(f"labeled {label} ") for trigger in recalled.answered)
    return answered or any(record.operator == operator for record in recalled.records)


def end_what_was_left_behind(bot: Bot, repository: str) -> Iterator[str]:
    """Status comments that no longer move, of attempts that only a runner knew: one lives six hours at most."""
    for issue in bot.github.open_issues(repository):
        place = _place(repository, "", issue.number, "", LabelSet("", False, ""))
        if not any(read_command(Labeled(place=place, label=label)) for label in issue.labels):
            continue
        for comment in bot.github.own_comments(repository, issue.number):
            record = read_record(comment.body)
            if record is None or record.stage.is_end or bot.memory.knows(place, record.operator):
                continue
            written = last_written(comment.body)
            if written is not None and bot.now() - written > _LONGEST_RUN:
                end_what_was_left(bot, place, record)
                yield f"{repository}#{issue.number}: {record.operator}: nobody works on it any more"


def _as_if_it_had_come(bot: Bot, repository: str, branch: str, issue: int, label: str) -> str:
    """Nothing for a label that may not ask."""
    put = bot.github.label_set(repository, issue, label)
    if put is None or put.is_bot or put.login == bot.github.login:
        return ""
    place = _place(repository, branch, issue, label, put)
    command = read_command(Labeled(place=place, label=label))
    decision = decide(command, place, look_up(bot, place)) if command is not None else None
    if decision is None or isinstance(decision, Ignore):
        return ""
    return carry_out(bot, place, None, decision).line


def _place(repository: str, branch: str, issue: int, label: str, put: LabelSet) -> Place:
    # An event's own time may be a second later than the one GitHub remembers; it must not look newer when it comes.
    later = datetime.fromisoformat(put.at) + timedelta(seconds=2) if put.at else None
    return Place(
        repository=repository,
        default_branch=branch,
        issue=issue,
        sender=put.login,
        sender_is_bot=put.is_bot,
        trigger=f"labeled {label} {put.at}",
        at=later.strftime("%Y-%m-%dT%H:%M:%SZ") if later else "",
    )
