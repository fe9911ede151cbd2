"""`tileport-bot`: the doors of the bot. Behind each is the same `handle`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from tileport_bot.driver import Driver
from tileport_bot.github import DryRunGitHub, GitHub
from tileport_bot.handle import Bot, handle
from tileport_bot.live_github import LiveGitHub
from tileport_bot.permissions import Permission
from tileport_driver.records import EXIT_CODES
from tileport_skill.errors import MachineryError, RequestError, TileportError

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
    repo: Annotated[
        Path, typer.Option(help="A clone of the TileGym repository the event is about.")
    ] = Path(),
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print and keep every write, make none.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Where a dry run keeps its writes.")] = DRY_RUN_FOLDER,
    permission: Annotated[
        Permission | None,
        typer.Option(help="What a dry run takes the sender's permission to be [write]."),
    ] = None,
    script: Annotated[
        Path | None, typer.Option(help="Replay this conversation instead of asking a model.")
    ] = None,
    live: Annotated[bool, typer.Option("--live", help="Ask the model; needs ANTHROPIC_API_KEY.")] = False,
    drafts: Annotated[bool, typer.Option(help="Open drafts for ports that are not yet proved.")] = True,
    token: Annotated[str | None, typer.Option(envvar="GITHUB_TOKEN", hidden=True, show_envvar=False)] = None,
    login: Annotated[str, typer.Option(help="Whom the token writes as.")] = "github-actions[bot]",
) -> None:
    """Handle one GitHub event from its file."""
    try:
        github = _github(dry_run=dry_run, out=out, permission=permission, token=token, login=login)
        driver = context.obj or local_driver(script, live=live)
        bot = Bot(github=github, driver=driver, checkout=repo, drafts=drafts, log=typer.echo)
        done = handle(bot, event_name, _read(event))
    except TileportError as error:
        typer.echo(str(error), err=True)
        kind = "refused" if isinstance(error, RequestError) else "failed"
        raise typer.Exit(EXIT_CODES[kind]) from None
    typer.echo(done.line)
    if dry_run:
        typer.echo(f"What GitHub would show lies in {out}/")
    raise typer.Exit(done.exit_code)


def local_driver(script: Path | None, *, live: bool) -> Driver:
    """The one place where the bot meets the driver."""
    raise MachineryError("This build of the bot has no driver yet.")


def _github(
    *, dry_run: bool, out: Path, permission: Permission | None, token: str | None, login: str
) -> GitHub:
    if dry_run:
        # Nobody is asked in a dry run, so the answer that lets it go on is the default.
        return DryRunGitHub(out, permission=permission or Permission.WRITE, say=typer.echo)
    if permission is not None:
        raise RequestError(
            "--permission is for --dry-run only: otherwise GitHub is asked what the sender may do."
        )
    if not token:
        raise RequestError(
            "Set GITHUB_TOKEN to a token that may write issues and pull requests, or use --dry-run."
        )
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
