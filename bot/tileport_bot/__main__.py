"""`tileport-bot`: the doors of the bot. Behind each is the same `handle`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import typer

from tileport_bot import batch_cli, code_cli
from tileport_bot import demo as demonstration
from tileport_bot.credentials import WORKFLOW_LOGIN
from tileport_bot.doors import clones_of, github_of, memory_of, plain_log, run_address, shop_of, web
from tileport_bot.driver import Driver
from tileport_bot.github import DryRunGitHub, GitHub
from tileport_bot.handle import Bot, Handled, handle, port_now
from tileport_bot.local import LocalDriver
from tileport_bot.memory import IssueMemory
from tileport_bot.permissions import Permission
from tileport_bot.reviewer import judge_here
from tileport_driver.options import Declare
from tileport_driver.progress import Progress
from tileport_driver.records import EXIT_CODES
from tileport_driver.service import Ended
from tileport_driver.terminal import show_end, stderr, stdout, stop_on_interrupt, watch
from tileport_skill.errors import RequestError, TileportError

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
code_cli.add_commands(app)
batch_cli.add_commands(app)

T = TypeVar("T")
DRY_RUN_FOLDER = Path("tileport-dry-run")


@dataclass(frozen=True, slots=True)
class Writer:
    """Who writes the ports of this process: one of a script, the real API, and a program that drafts."""

    script: Path | None = None
    live: bool = False
    engine: str | None = None
    declare: bool = False


Script = Annotated[Path | None, typer.Option(help="Replay this conversation instead of asking a model.")]
Live = Annotated[bool, typer.Option("--live", help="Ask the model; needs ANTHROPIC_API_KEY.")]
Engine = Annotated[Literal["none"] | None, typer.Option(help="`none`: a program drafts the port, no model is asked.")]
Drafts = Annotated[bool, typer.Option(help="Open drafts for ports that are not yet proved.")]
Login = Annotated[str, typer.Option(help="Whom GITHUB_TOKEN writes as; an App knows that itself.")]
PublicUrl = Annotated[
    str, typer.Option(help="Where people reach the status page, for links to a request's record: https://…")
]
Repositories = Annotated[
    list[str] | None, typer.Option("--repository", help="`owner/name`; again for more. Others are not served.")
]


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
    script: Script = None,
    live: Live = False,
    engine: Engine = None,
    declare: Declare = False,
    drafts: Drafts = True,
    login: Login = WORKFLOW_LOGIN,
) -> None:
    """Handle one GitHub event from its file."""

    def work(stop: Callable[[], bool]) -> Handled:
        github: GitHub
        if dry_run:
            # Nobody is asked in a dry run, so the answer that lets it go on is the default.
            github = DryRunGitHub(out, permission=permission or Permission.WRITE, say=typer.echo)
        elif permission is not None:
            raise RequestError("--permission is for --dry-run only: otherwise GitHub is asked what the sender may do.")
        else:
            github = github_of(login)
        bot = Bot(
            github=github,
            driver=_driver(context, Writer(script, live, engine, declare), stop),
            memory=IssueMemory(github) if dry_run else memory_of(github),
            checkout=repo,
            start=port_now,
            judge=judge_here(Progress(), stop),
            evidence="" if dry_run else run_address(),
            drafts=drafts,
            stopping=stop,
            log=typer.echo,
        )
        return handle(bot, event_name, _read(event))

    with stop_on_interrupt(typer.echo) as stop:
        done = _told(lambda: work(stop))
    typer.echo(done.line)
    if dry_run:
        typer.echo(f"What GitHub would show lies in {out}/")
    raise typer.Exit(done.exit_code)


@app.command()
def serve(
    repository: Repositories = None,
    host: Annotated[str, typer.Option(help="Where to listen; behind a proxy that speaks TLS.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535)] = 8080,
    attempts: Annotated[int, typer.Option(min=0, help="How many are made at a time on this machine.")] = 1,
    reviews: Annotated[bool, typer.Option(help="Review pull requests and watch pushes on this machine.")] = True,
    script: Script = None,
    live: Live = False,
    engine: Engine = None,
    declare: Declare = False,
    drafts: Drafts = True,
    login: Login = WORKFLOW_LOGIN,
    public_url: PublicUrl = "",
) -> None:
    """Take webhooks, show the queue, and make the attempts. TILEPORT_WEBHOOK_SECRET holds the webhook's secret."""

    def work() -> None:
        plain_log()
        from tileport_bot.serve import serve as run  # the server's parts are needed by this command alone
        from tileport_bot.webhook import read_secrets

        secrets = read_secrets(os.environ.get("TILEPORT_WEBHOOK_SECRET", ""))
        if attempts:
            local_driver(Writer(script, live, engine, declare))
        github_of(login)
        shared = [f"--repository={name}" for name in repository or ()] + ["--live"] * live
        shared += ["--declare"] * declare
        shared += [f"--script={script}"] * (script is not None) + [f"--engine={engine}"] * (engine is not None)
        shared += [f"--login={login}", "--drafts" if drafts else "--no-drafts", f"--public-url={web(public_url)}"]
        commands = [["work", what, *shared] for what in ("deliveries", *["code"] * reviews, *["requests"] * attempts)]
        run(secrets, host, port, commands, typer.echo)

    _told(work)


@app.command(hidden=True)
def work(
    context: typer.Context,
    what: Annotated[Literal["deliveries", "code", "requests"], typer.Argument()],
    repository: Repositories = None,
    script: Script = None,
    live: Live = False,
    engine: Engine = None,
    declare: Declare = False,
    drafts: Drafts = True,
    login: Login = WORKFLOW_LOGIN,
    public_url: PublicUrl = "",
    drain: Annotated[bool, typer.Option("--drain", help="End once nothing waits.")] = False,
    parent: Annotated[int | None, typer.Option(help="End when this process does.")] = None,
) -> None:
    """What `serve` starts: handle deliveries, or make attempts. On other machines it is started by hand."""

    def run(stop: Callable[[], bool]) -> None:
        plain_log()
        from tileport_bot.work import step_back, work_on_deliveries, work_on_requests

        if parent is not None:
            step_back()
        driver = context.obj or _driver(context, Writer(script, live, engine, declare), stop, quiet=True)
        shop = shop_of(login, driver, tuple(repository or ()), drafts=drafts, stopping=stop)
        shop = replace(shop, judge=judge_here(Progress(), stop), public_url=web(public_url))
        if what == "requests":
            work_on_requests(shop, drain=drain)
        else:
            work_on_deliveries(shop, drain=drain, code=what == "code")

    with stop_on_interrupt(lambda line: typer.echo(line, err=True)) as asked:
        _told(lambda: run(lambda: asked() or (parent is not None and os.getppid() != parent)))


@app.command()
def sweep(
    repository: Annotated[list[str], typer.Option(help="`owner/name`; again for more.")],
    script: Script = None,
    live: Live = False,
    engine: Engine = None,
    declare: Declare = False,
    drafts: Drafts = True,
    login: Login = WORKFLOW_LOGIN,
) -> None:
    """Find what no event will bring any more, and finish it: for a schedule, where no server runs."""

    def run(stop: Callable[[], bool]) -> None:
        from tileport_bot.sweep import sweep as lines

        github = github_of(login)
        clones, driver = clones_of(github), local_driver(Writer(script, live, engine, declare))

        def bot(name: str) -> Bot:
            return Bot(
                github=github,
                driver=replace(driver, stop=stop),
                memory=memory_of(github),
                checkout=clones(name),
                start=port_now,
                drafts=drafts,
                stopping=stop,
                log=typer.echo,
            )

        for line in lines(github, bot, tuple(repository)):
            typer.echo(line)

    with stop_on_interrupt(typer.echo) as stop:
        _told(lambda: run(stop))


@app.command()
def demo(
    repo: Annotated[Path | None, typer.Option(help="A TileGym checkout to port in, instead of the wheel's.")] = None,
    keep: Annotated[bool, typer.Option(help="Keep the work trees of the attempt.")] = False,
) -> None:
    """Port silu_and_mul from a label to a draft pull request: no key, no GPU, no GitHub account."""
    folder = demonstration.demo_folder()
    with stop_on_interrupt(typer.echo) as stop:
        driver = replace(local_driver(Writer(script=demonstration.demo_script())), stop=stop, keep=keep)
        done = _told(
            lambda: demonstration.run_demo(
                driver, repo or demonstration.make_target(folder / "tilegym"), folder / "github"
            )
        )
    typer.echo(done.line)
    typer.echo(f"What GitHub would show lies in {folder / 'github'}/")
    raise typer.Exit(demonstration.exit_status(done))


def local_driver(writer: Writer) -> LocalDriver:
    """Attempts on this machine, watched at this terminal."""
    drafts = writer.engine == "none"
    if [writer.script is not None, writer.live, drafts].count(True) != 1:
        raise RequestError("Give one of --script FOLDER, --live and --engine none.")
    return LocalDriver(script=writer.script, show=_watched, drafts=drafts, declare=writer.declare)


def _driver(context: typer.Context, writer: Writer, stop: Callable[[], bool], quiet: bool = False) -> Driver:
    """The one a test hands in, or attempts on this machine; `quiet` where no terminal shows them."""
    if context.obj is not None:
        return context.obj  # type: ignore[no-any-return]
    driver = replace(local_driver(writer), stop=stop)
    return replace(driver, show=lambda work: work(Progress())) if quiet else driver


def _told(work: Callable[[], T]) -> T:
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


def _read(path: Path) -> object:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise RequestError(f"{path} cannot be read as JSON: {error}") from None


def main() -> None:
    app()


if __name__ == "__main__":
    main()
