"""READ FIRST for pull requests: from a pull request's new code to its check run and its one comment.

event → commits, as data → ports touched → judged (`reviewer.py`) → check run, comment
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tileport_bot.code_events import PullChanged
from tileport_bot.code_host import CodeHost
from tileport_bot.github import Refusal
from tileport_bot.review_records import Review
from tileport_bot.review_words import check_run, comment, conclusion, reviewed_head
from tileport_bot.reviewer import Judge, review_pull
from tileport_bot.writes import once


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What a review works with."""

    host: CodeHost
    judge: Judge
    checkout: Path
    """A clone of the repository that the events come from."""
    log: Callable[[str], None] = print


def review(desk: Desk, event: PullChanged) -> str:
    """Looks at the pull request and says what was found; a line for the log."""
    if event.author == desk.host.login and event.branch.startswith("port/"):
        return "ignored: our own port was judged before it was published"
    found = look(desk, event)
    return publish_review(desk.host, event, found, desk.log)


def look(desk: Desk, event: PullChanged) -> Review | None:
    """Reads and judges; writes nothing to GitHub. None if the pull request touches no port."""
    head = desk.host.fetch_pull(event.repository, desk.checkout, event.number)
    desk.host.fetch_branch(event.repository, desk.checkout, event.base)
    # The head may be newer than the event; then its own event finds the same and changes nothing.
    return review_pull(desk.checkout, event.base_sha, head, desk.judge, desk.log)


def publish_review(host: CodeHost, event: PullChanged, found: Review | None, log: Callable[[str], None]) -> str:
    """The check run at the commit that was looked at, and the comment unless a newer commit has come meanwhile."""
    where = f"{event.repository}#{event.number}"
    if found is None:
        return _take_back(host, event, where)
    try:
        host.put_check(event.repository, check_run(found))
    except Refusal as refusal:  # only an App may write check runs, and a fork's workflow may write nothing
        log(f"No check run could be written: {refusal}")
    now = host.pull_head(event.repository, event.number)
    if now.head != found.head:
        return f"{where}: {found.head[:12]} was reviewed, and {now.head[:12]} has come since"
    put_comment(host, event.repository, event.number, comment(found))
    return f"reviewed {where}: {conclusion(found)}"


def _take_back(host: CodeHost, event: PullChanged, where: str) -> str:
    """A review of an earlier commit that no longer applies is said to do so."""
    there = find_comment(host, event.repository, event.number)
    if there is not None:
        put_comment(host, event.repository, event.number, comment(Review(head=event.head_sha)))
    return f"ignored: {where} touches no cuTile Rust kernel"


def put_comment(host: CodeHost, repository: str, number: int, body: str) -> None:
    """The one comment: made if it is not there, else edited in place."""
    there = find_comment(host, repository, number)
    if there is not None:
        host.edit_comment(repository, there, body)
        return
    once(lambda: find_comment(host, repository, number), lambda: host.create_comment(repository, number, body))


def find_comment(host: CodeHost, repository: str, number: int) -> int | None:
    comments = host.own_comments(repository, number)
    return next((one.id for one in comments if reviewed_head(one.body) is not None), None)
