"""A delivered port as a branch and a pull request. Safe to repeat: what is there is found and updated."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from tileport_bot import replies
from tileport_bot.code_host import CodeHost
from tileport_bot.driver import Finished
from tileport_bot.events import Place
from tileport_bot.github import BaseState, GitHub, NewPullRequest, PullRequest
from tileport_bot.status import Record
from tileport_bot.titles import title_for
from tileport_bot.writes import once
from tileport_driver.git import GitError, run_git
from tileport_driver.records import Ported, Unproved
from tileport_skill.errors import MachineryError, RequestError
from tileport_skill.tilegym.operators import find_operator, open_checkout, read_operators

_NEVER = ("skills/", ".github/")
"""A change there needs signatures or permissions that a port has no business with."""


class Text(NamedTuple):
    title: str
    body: str


def publish(
    github: GitHub, place: Place, record: Record, finished: Finished, checkout: Path, *, drafts: bool
) -> PullRequest | None:
    """None when nothing was delivered, or an unproved port in a repository that wants no drafts."""
    outcome = replies.delivered(finished.outcome)
    if outcome is None:
        return None
    refuse_foreign(finished)
    commit = outcome.delivery.commit
    branch = github.push_branch(place.repository, checkout, outcome.delivery.branch, commit)
    base = github.base_state(
        place.repository, checkout, place.default_branch, commit, _reference(checkout, record.operator)
    )
    draft = isinstance(outcome, Unproved) or bool(base.conflicts) or base.reference_changed
    if draft and not drafts:
        return None
    text = _text(github, place, record, finished, checkout, branch, base)
    new = NewPullRequest(branch=branch, base=place.default_branch, title=text.title, body=text.body, draft=draft)
    # One branch has one open pull request: GitHub sees to that, so the branch is its natural key.
    made: list[PullRequest] = []

    def create() -> PullRequest:
        made.append(github.create_pull_request(place.repository, new))
        return made[-1]

    there = once(lambda: github.find_pull_request(place.repository, branch), create)
    if not made:
        github.edit_pull_request(place.repository, there.number, text.title, text.body)
    return there


def bring_up_to_date(host: CodeHost, place: Place, record: Record, finished: Finished, checkout: Path) -> PullRequest:
    """What stands in the pull request of a port that was judged once more; a draft that is proved now asks for review.

    One that was merged or closed meanwhile is left as it is.
    """
    there = host.pull_head(place.repository, record.pull_request)
    if not there.is_open:
        return PullRequest(record.pull_request, there.link, "")
    outcome, base = replies.delivered(finished.outcome), replies.NOT_MOVED
    if outcome is not None:
        commit = outcome.delivery.commit
        reference = _reference(checkout, record.operator)
        base = host.base_state(place.repository, checkout, place.default_branch, commit, reference)
    text = _text(host, place, record, finished, checkout, there.branch, base)
    host.edit_pull_request(place.repository, record.pull_request, text.title, text.body)
    # What somebody pushed on top was not judged.
    proved = isinstance(outcome, Ported) and there.head == outcome.delivery.commit
    if there.draft and proved and not base.conflicts and not base.reference_changed:
        host.mark_ready(place.repository, record.pull_request)
    return PullRequest(record.pull_request, there.link, text.body)


def refuse_foreign(finished: Finished) -> None:
    """The policy gate has seen to it already; what is pushed is looked at once more, as this cannot be undone."""
    foreign = [change.path for change in finished.changes if change.path.startswith(_NEVER)]
    if foreign:
        raise MachineryError(f"The port touches {foreign[0]}, which no port may: it is not pushed.")


def _text(
    github: GitHub, place: Place, record: Record, finished: Finished, checkout: Path, branch: str, base: BaseState
) -> Text:
    body = replies.pull_request_body(
        record,
        issue=place.issue,
        finished=finished,
        delivery_branch=branch,
        base=base,
        base_branch=place.default_branch,
        starts_checks=github.starts_checks,
    )
    return Text(title_for(record.operator, _subjects(checkout)), body)


def _subjects(checkout: Path) -> list[str]:
    """How the repository's last commits are called; nothing where it cannot be read."""
    try:
        return (
            run_git("-C", str(checkout), "log", "-100", "--no-merges", "--format=%s")
            .decode(errors="replace")
            .split("\n")
        )
    except GitError:
        return []


def _reference(checkout: Path, operator: str) -> str:
    try:
        return find_operator(read_operators(open_checkout(checkout)), operator).reference
    except RequestError:
        return ""
