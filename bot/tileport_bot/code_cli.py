"""Commands about code for workflows, where who looks at foreign code must not be who holds a token."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from tileport_bot.check_pull import tell_checks
from tileport_bot.code_events import CodeEvent, PullChanged, Pushed, read_code_event
from tileport_bot.credentials import WORKFLOW_LOGIN
from tileport_bot.doors import github_of
from tileport_bot.drift import Watch, watch
from tileport_bot.review import publish_review
from tileport_bot.review_records import Review, read_review, review_json
from tileport_bot.reviewer import judge_here, review_pull
from tileport_driver.git import GitError, resolve_commit, run_git
from tileport_driver.progress import Progress
from tileport_driver.records import EXIT_CODES
from tileport_driver.terminal import stop_on_interrupt
from tileport_skill.errors import RequestError, TileportError

EventFile = Annotated[Path, typer.Argument(help="The event as JSON; in a workflow, $GITHUB_EVENT_PATH.")]
Repo = Annotated[Path, typer.Option(help="A clone of the repository the event is about.")]
Document = Annotated[Path, typer.Option("--review", help="The document between the two commands.")]
Login = Annotated[str, typer.Option(help="Whom GITHUB_TOKEN writes as; an App knows that itself.")]


def add_commands(app: typer.Typer) -> None:
    app.command("review")(review_command)
    app.command("publish-review")(publish_command)
    app.command("watch")(watch_command)
    app.command("tell-checks", hidden=True)(tell_command)


def review_command(event: EventFile, repo: Repo = Path(), document: Document = Path("review.json")) -> None:
    """Look at a pull request's ports, and write down what was found. Needs no token, and none should be at hand.

    The clone must hold its commits: git fetch origin refs/pull/N/head.
    """

    def work() -> None:
        pull = _pull(event)
        for commit in (pull.base_sha, pull.head_sha):
            _require(repo, commit, pull.number)
        with stop_on_interrupt(typer.echo) as stop:
            found = review_pull(repo, pull.base_sha, pull.head_sha, judge_here(Progress(), stop), typer.echo)
        document.write_bytes(review_json(found or Review(head=pull.head_sha)))
        typer.echo(f"What was found lies in {document}")

    told(work)


def publish_command(event: EventFile, document: Document = Path("review.json"), login: Login = WORKFLOW_LOGIN) -> None:
    """Say on GitHub what `review` found. Where and about which commit, the event says and not the document."""

    def work() -> None:
        pull = _pull(event)
        found = read_review(document.read_bytes())
        if found.head != pull.head_sha:
            raise RequestError(f"{document} is about {found.head[:12]}, the event about {pull.head_sha[:12]}.")
        nothing = not (found.ports or found.refused)
        typer.echo(publish_review(github_of(login), pull, None if nothing else found, typer.echo))

    told(work)


def watch_command(
    repository: Annotated[str, typer.Argument(help="`owner/name`.")],
    repo: Repo = Path(),
    branch: Annotated[str, typer.Option(help="The default branch.")] = "main",
    hours: Annotated[float, typer.Option(help="What is looked back at.")] = 26,
    login: Login = WORKFLOW_LOGIN,
) -> None:
    """Verify every port that the last hours' pushes touched, as their events would have: for a schedule."""

    def work() -> None:
        with stop_on_interrupt(typer.echo) as stop:
            desk = Watch(host=github_of(login), judge=judge_here(Progress(), stop), checkout=repo, log=typer.echo)
            after = desk.host.fetch_branch(repository, repo, branch)
            before = _commit_before(repo, after, hours)
            typer.echo(watch(desk, Pushed(repository=repository, branch=branch, before=before, after=after)))

    told(work)


def tell_command(login: Login = WORKFLOW_LOGIN) -> None:
    """Bring the comments of checks that came to their end up to date; the server's sweep does it by itself."""

    def work() -> None:
        for line in tell_checks(github_of(login)):
            typer.echo(line)

    told(work)


def _commit_before(repo: Path, after: str, hours: float) -> str | None:
    """Where the branch stood then; None if it is younger."""
    seconds = int(hours * 3600)
    words = ("rev-list", "-1", "--first-parent", f"--before={seconds} seconds ago", after)
    return run_git("-C", str(repo), *words).decode().strip() or None


def _pull(event: Path) -> PullChanged:
    found: CodeEvent | None = read_code_event("pull_request", read_json(event))
    if not isinstance(found, PullChanged):
        raise RequestError(f"{event} asks for no review{f': {found.why}' if found and hasattr(found, 'why') else ''}.")
    return found


def read_json(path: Path) -> Any:
    """An event's document. Raises `RequestError`."""
    try:
        payload = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RequestError(f"{path} cannot be read as JSON: {error}") from None
    if not isinstance(payload, dict):
        raise RequestError(f"{path} holds no event: it is no JSON object.")
    return payload


def _require(repo: Path, commit: str, number: int) -> None:
    try:
        resolve_commit(repo, commit)
    except GitError:
        raise RequestError(
            f"{repo} does not hold {commit[:12]}. Fetch it first: git fetch origin refs/pull/{number}/head"
        ) from None


def told(work: Callable[[], None]) -> None:
    """Typed failures become their text and exit status; a bug keeps its traceback."""
    try:
        work()
    except TileportError as error:
        typer.echo(str(error), err=True)
        kind = "refused" if isinstance(error, RequestError) else "failed"
        raise typer.Exit(EXIT_CODES[kind]) from None
