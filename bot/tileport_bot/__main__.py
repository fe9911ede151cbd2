"""`tileport-bot`: the doors of the bot. Behind each is the same `handle`."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from tileport_bot import demo as demonstration
from tileport_bot.github import DryRunGitHub, GitHub
from tileport_bot.handle import Bot, Handled, handle
from tileport_bot.live_github import LiveGitHub
from tileport_bot.local import LocalDriver
from tileport_bot.permissions import Permission
from tileport_driver.progress import Progress
from tileport_driver.records import EXIT_CODES
from tileport_driver.service import Ended
from tileport_driver.terminal import show_end, stderr, stdout, stop_on_interrupt, watch
from tileport_skill.errors import RequestError, TileportError

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)

DRY_RUN_FOLDER = Path("tileport-dry-run")


@app.callback()
def doors() -> None:
    """Ports operators on request: a label or a comment in, a pull request or a diagnosis out."""


@app.command()
def handle_event(
    context: typer.Context,
    event: Annotated[Path, typer.Argument(help="The event as JSON; in a workflow, $GITHUB_EVENT_PATH.")],
    event_name: Annotated[str, typer.Option(envvar="GITHUB_EVENT_NAME", help="`issues`, `issue_comment`, …")],
    repo: Annotated[Path, typer.Option(help="A clone of the TileGym repository the event is about.")] = Path(),
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print and keep every write, make none.")] = False,
    out: Annotated[Path, typer.Option(help="Where a dry run keeps its writes.")] = DRY_RUN_FOLDER,
    permission: Annotated[
        Permission | None,
        typer.Option(help="What a dry run takes the sender's permission to be [write]."),
    ] = None,
    script: Annotated[Path | None, typer.Option(help="Replay this conversation instead of asking a model.")] = None,
    live: Annotated[bool, typer.Option("--live", help="Ask the model; needs ANTHROPIC_API_KEY.")] = False,
    engine: Annotated[
        Literal["none"] | None, typer.Option(help="`none`: a program drafts the port, no model is asked.")
    ] = None,
    drafts: Annotated[bool, typer.Option(help="Open drafts for ports that are not yet proved.")] = True,
    token: Annotated[str | None, typer.Option(envvar="GITHUB_TOKEN", hidden=True, show_envvar=False)] = None,
    login: Annotated[str, typer.Option(help="Whom the token writes as.")] = "github-actions[bot]",
) -> None:
    """Handle one GitHub event from its file."""

    def work(stop: Callable[[], bool]) -> Handled:
        github = _github(dry_run=dry_run, out=out, permission=permission, token=token, login=login)
        driver = context.obj or replace(local_driver(script, live=live, drafts=engine == "none"), stop=stop)
        return handle(
            Bot(github=github, driver=driver, checkout=repo, drafts=drafts, log=typer.echo), event_name, _read(event)
        )

    with stop_on_interrupt(typer.echo) as stop:
        done = _told(lambda: work(stop))
    typer.echo(done.line)
    if dry_run:
        typer.echo(f"What GitHub would show lies in {out}/")
    raise typer.Exit(done.exit_code)


@app.command()
def demo(
    repo: Annotated[Path | None, typer.Option(help="A TileGym checkout to port in, instead of the wheel's.")] = None,
    keep: Annotated[bool, typer.Option(help="Keep the work trees of the attempt.")] = False,
) -> None:
    """Port silu_and_mul from a label to a draft pull request: no key, no GPU, no GitHub account."""
    folder = demonstration.demo_folder()
    with stop_on_interrupt(typer.echo) as stop:
        driver = replace(local_driver(demonstration.demo_script(), live=False), stop=stop, keep=keep)
        done = _told(
            lambda: demonstration.run_demo(
                driver, repo or demonstration.make_target(folder / "tilegym"), folder / "github"
            )
        )
    typer.echo(done.line)
    typer.echo(f"What GitHub would show lies in {folder / 'github'}/")
    raise typer.Exit(demonstration.exit_status(done))


def local_driver(script: Path | None, *, live: bool, drafts: bool = False) -> LocalDriver:
    """Attempts on this machine, watched at this terminal."""
    if [script is not None, live, drafts].count(True) != 1:
        raise RequestError("Give one of --script FOLDER, --live and --engine none.")
    return LocalDriver(script=script, show=_watched, drafts=drafts)


def _told(work: Callable[[], Handled]) -> Handled:
    """Typed failures become their text and exit status; a bug keeps its traceback."""
    try:
        return work()
    except TileportError as error:
        typer.echo(str(error), err=True)
        kind = "refused" if isinstance(error, RequestError) else "failed"
        raise typer.Exit(EXIT_CODES[kind]) from None


def _watched(work: Callable[[Progress], Ended]) -> Ended:
    ended = watch(work, stderr())
    show_end(ended, stdout())
    return ended


def _github(*, dry_run: bool, out: Path, permission: Permission | None, token: str | None, login: str) -> GitHub:
    if dry_run:
        # Nobody is asked in a dry run, so the answer that lets it go on is the default.
        return DryRunGitHub(out, permission=permission or Permission.WRITE, say=typer.echo)
    if permission is not None:
        raise RequestError("--permission is for --dry-run only: otherwise GitHub is asked what the sender may do.")
    if not token:
        raise RequestError("Set GITHUB_TOKEN to a token that may write issues and pull requests, or use --dry-run.")
    return LiveGitHub(token, login=login)


def _read(path: Path) -> object:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise RequestError(f"{path} cannot be read as JSON: {error}") from None


def main() -> None:
    app()


if __name__ == "__main__":
    main()
