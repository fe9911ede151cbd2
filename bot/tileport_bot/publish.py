"""A delivered port as a branch and a pull request. Safe to repeat: what is there is found and updated."""

from __future__ import annotations

from pathlib import Path

from tileport_bot import replies
from tileport_bot.driver import Finished
from tileport_bot.events import Place
from tileport_bot.github import GitHub, NewPullRequest, PullRequest
from tileport_bot.status import Record
from tileport_driver.records import Unproved


def publish(
    github: GitHub, place: Place, record: Record, finished: Finished, checkout: Path, *, drafts: bool
) -> PullRequest | None:
    """None when nothing was delivered, or an unproved port in a repository that wants no drafts."""
    outcome = replies.delivered(finished.outcome)
    if outcome is None:
        return None
    branch = outcome.delivery.branch
    github.push_branch(place.repository, checkout, branch, outcome.delivery.commit)
    draft = isinstance(outcome, Unproved)
    if draft and not drafts:
        return None
    title = replies.pull_request_title(record.operator)
    body = replies.pull_request_body(record, issue=place.issue, finished=finished, delivery_branch=branch)
    # One branch has one open pull request: GitHub sees to that, so the branch is its natural key.
    there = github.find_pull_request(place.repository, branch)
    if there:
        github.edit_pull_request(place.repository, there.number, title, body)
        return there
    return github.create_pull_request(
        place.repository,
        NewPullRequest(branch=branch, base=place.default_branch, title=title, body=body, draft=draft),
    )
