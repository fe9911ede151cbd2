"""`tileport`: operators, one port, what became of it, and going on with one that was stopped."""

from __future__ import annotations

import getpass
import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer

from tileport_driver import ledger, many_cli
from tileport_driver.container import Stopped
from tileport_driver.options import INTERRUPTED, Also, AsJson, Declare, HideTwins, Repo, root
from tileport_driver.progress import Progress
from tileport_driver.records import Acceptance, EngineName
from tileport_driver.requests import Order, make_request
from tileport_driver.service import Ended, go_on, port
from tileport_driver.store import AttemptFolder, find_attempt
from tileport_driver.terminal import (
    exit_code,
    show_end,
    show_gates,
    show_hidden,
    show_needs,
    show_operators,
    show_swept,
    stderr,
    stdout,
    stop_on_interrupt,
    watch,
)
from tileport_skill.errors import RequestError, TileportError
from tileport_skill.tilegym.operators import open_checkout, read_operators

app = typer.Typer(
    help="Port TileGym's cuTile Python operators to cuTile Rust, and prove each port.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)


@app.command()
def ops(repo: Repo = Path(), as_json: AsJson = False) -> None:
    """List the checkout's operators: their names, kernels, tests, and whether a port exists."""
    operators = read_operators(open_checkout(root(repo)))
    if as_json:
        print(json.dumps([asdict(operator) for operator in operators], indent=2))
    else:
        show_operators(operators, stdout())


@app.command("port")
def port_command(
    operator: Annotated[str, typer.Argument(help="An operator, in any spelling: rms_norm, rmsnorm, RMS-Norm.")],
    repo: Repo = Path(),
    script: Annotated[Path | None, typer.Option(help="Replay the conversation scripted in this folder.")] = None,
    live: Annotated[bool, typer.Option(help="Call the real API; ANTHROPIC_API_KEY stays outside.")] = False,
    engine: Annotated[
        Literal["none"] | None, typer.Option(help="`none`: a program drafts the port, no model is asked.")
    ] = None,
    draft: Annotated[bool, typer.Option(help="Have the agent begin at a program's draft.")] = True,
    declare: Declare = False,
    hide_twins: HideTwins = False,
    roles: Annotated[bool, typer.Option(help="By the skill's roles; else in one conversation.")] = True,
    base: Annotated[str, typer.Option(help="The commit to port at.")] = "HEAD",
    keep: Annotated[bool, typer.Option(help="Keep the work trees after the attempt.")] = False,
    as_json: AsJson = False,
) -> None:
    """Port one operator: exit 0 accepted, 10 rejected, 11 inconclusive, 12 refused, 13 our machinery failed."""
    if [script is not None, live, engine is not None].count(True) != 1:
        hint = "--script / --live / --engine"
        raise typer.BadParameter("give one of --script FOLDER, --live and --engine none", param_hint=hint)
    writer: EngineName = engine or ("anthropic" if live else "scripted")
    order = Order(
        operator=operator,
        repository=repo,
        engine=writer,
        script=script,
        base=base,
        keep=keep,
        draft=draft,
        declare=declare,
        hide_twins=hide_twins,
        roles=roles,
    )
    _finish(lambda progress, stop: port(order, progress, stop), as_json)


@app.command()
def resume(
    attempt: Annotated[str, typer.Argument(help="The attempt's name, or its beginning.")], as_json: AsJson = False
) -> None:
    """Go on with an attempt whose driver was stopped or killed; exit codes as for `port`."""
    folder = find_attempt(attempt)
    _finish(lambda progress, stop: go_on(folder, progress, stop), as_json)


@app.command()
def show(
    attempt: Annotated[
        str | None, typer.Argument(help="The attempt's name, or its beginning; else the newest.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show how an attempt ended, or how far it has come."""
    folder = find_attempt(attempt)
    outcome = folder.outcome()
    if as_json:
        print(json.dumps(_document(folder), indent=2))
    elif outcome is None:
        stages = [path.stem for path in sorted(folder.path.glob("*.json"), key=lambda path: path.stat().st_mtime)]
        stdout().print(f"{folder.id} has not ended. Written so far: {', '.join(stages)}.", soft_wrap=True)
        stdout().print(f"Go on with: tileport resume {folder.id}", soft_wrap=True)
    else:
        show_end(Ended(outcome, folder), stdout())


@app.command("judge")
def judge_command(
    patch: Annotated[Path, typer.Argument(help="A port as `git diff` prints it, or an attempt's patch.diff.")],
    operator: Annotated[str, typer.Option("--operator", help="The operator it ports, in any spelling.")],
    repo: Repo = Path(),
    base: Annotated[str, typer.Option(help="The commit it is a patch to.")] = "HEAD",
    pack: Annotated[Path | None, typer.Option(help="Write a folder that a machine with a GPU can run.")] = None,
    evidence: Annotated[Path | None, typer.Option(help="Judge by the folder that such a machine wrote.")] = None,
    also: Also = None,
    as_json: AsJson = False,
) -> None:
    """Judge a patch by every gate: exit 0 accepted, 10 rejected, 11 inconclusive, 12 refused, 13 machinery failed."""
    if pack is not None and evidence is not None:
        raise typer.BadParameter("give --pack first, --evidence when the folder came back", param_hint="--pack")
    from tileport_driver.judge_patch import Question, judge_patch

    question = Question(
        patch=patch,
        operator=operator,
        repository=repo,
        base=base,
        also_hidden=tuple(also or ()),
        pack=pack,
        evidence=evidence,
    )
    with stop_on_interrupt(lambda text: stderr().print(text)) as stop:
        acceptance, folder = watch(lambda progress: judge_patch(question, progress, stop), stderr())
    _show_acceptance(acceptance, folder, as_json)


@app.command("review")
def review_command(
    operator: str,
    repo: Repo = Path(),
    at: Annotated[str, typer.Option("--at", help="The commit that holds the port.")] = "HEAD",
    gpu: Annotated[bool, typer.Option("--gpu", help="Judge on this machine's GPU too.")] = False,
    tuning: Annotated[bool, typer.Option("--tuning", help="Compare every configuration of the tuner too.")] = False,
    as_json: AsJson = False,
) -> None:
    """Judge a port that stands in a commit, as `judge` does a patch; its broken rules do not stop the comparison."""
    from tileport_driver.review import review_port

    with stop_on_interrupt(lambda text: stderr().print(text)) as stop:
        acceptance, folder = watch(
            lambda progress: review_port(repo, at, operator, progress, stop, gpu=gpu, tuning=tuning), stderr()
        )
    _show_acceptance(acceptance, folder, as_json)


@app.command("grant")
def grant_command(
    operator: Annotated[str, typer.Argument(help="The operator whose attempts are spent.")],
    why: Annotated[str, typer.Option(help="Why another attempt is worth it; kept on the record.")],
    repo: Repo = Path(),
    base: Annotated[str, typer.Option(help="The commit whose reference is meant.")] = "HEAD",
    live: Annotated[bool, typer.Option(help="Of the attempts with the real API, not with a script.")] = False,
) -> None:
    """Grant one attempt more at an operator whose attempts are spent, on the record."""
    engine: EngineName = "anthropic" if live else "scripted"
    request = make_request(Order(operator=operator, repository=repo, engine=engine, base=base))
    account = ledger.grant(request, getpass.getuser(), why)
    print(f"{request.operator}: {account.spent} of {account.allowed} attempts are spent.")


@app.command("hide")
def hide_command(
    operator: Annotated[str, typer.Argument(help="An operator, in any spelling.")],
    out: Annotated[Path, typer.Option("--out", help="A new or empty folder; the agent's tree is made in it.")],
    repo: Repo = Path(),
    base: Annotated[str, typer.Option(help="The commit to hide the port in.")] = "HEAD",
    also: Also = None,
    twins: Annotated[bool, typer.Option(help="Hide every port that is a near twin of this one.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what an agent would not be given, and why: exit 0 nothing of the port is left, 10 traces are."""
    from tileport_driver.hide_show import hide

    made = hide(operator, repo, base, out, tuple(also or ()), twins)
    if as_json:
        print(json.dumps({**asdict(made), "tree": str(made.tree)}, indent=2))
    else:
        show_hidden(made, stdout())
    raise typer.Exit(10 if made.leaks.leaks else 0)


@app.command("sweep")
def sweep_command(
    adopt: Annotated[bool, typer.Option(help="Go on with attempts whose driver is gone.")] = True,
    as_json: AsJson = False,
) -> None:
    """Remove what earlier runs left and nobody will come back for; go on with what they left alive."""
    from tileport_driver.host.engine import docker_engine
    from tileport_driver.sweep import sweep

    with docker_engine() as client:
        swept = sweep(client)
    if as_json:
        print(json.dumps(asdict(swept), indent=2))
    else:
        show_swept(swept, stdout())
    if adopt:
        with stop_on_interrupt(lambda text: stderr().print(text)) as stop:
            for name in swept.left:
                folder = find_attempt(name)
                ended = watch(lambda progress, folder=folder: go_on(folder, progress, stop), stderr())  # type: ignore[misc]
                stderr().print(f"{name}: {ended.outcome.kind}")


@app.command()
def infra(
    repo: Repo = Path(),
    base: Annotated[str, typer.Option(help="The commit to make it on.")] = "HEAD",
    as_json: AsJson = False,
) -> None:
    """Deliver what ports share as a branch of its own: exit 0 delivered or already there, 12 refused."""
    from tileport_driver.infra import TITLE, deliver_infrastructure

    made = deliver_infrastructure(repo, base)
    if as_json:
        print(json.dumps(None if made is None else asdict(made) | {"title": TITLE}, indent=2))
    elif made is None:
        stdout().print("This repository has it: drafts made here rely on it.")
    else:
        stdout().print(f"Branch {made.delivery.branch} stands at {made.delivery.commit[:12]}. Its pull request:\n")
        stdout().print(f"{TITLE}\n\n{made.body}", markup=False, highlight=False, soft_wrap=True)


@app.command()
def doctor(as_json: AsJson = False) -> None:
    """Say what this machine lacks for the gates that need a GPU: exit 0 nothing, 11 something."""
    from tileport_driver.gpu.host import needs

    found = needs()
    if as_json:
        print(json.dumps([asdict(need) for need in found], indent=2))
    else:
        show_needs(found, stdout())
    raise typer.Exit(0 if all(need.ok for need in found) else 11)


many_cli.add_commands(app)


def main() -> None:
    """The console script: typed failures become their text and exit status, bugs keep their traceback."""
    try:
        app()
    except TileportError as error:
        stderr().print(str(error), soft_wrap=True, markup=False, highlight=False)
        sys.exit(12 if isinstance(error, RequestError) else 13)


def _finish(work: Callable[[Progress, Callable[[], bool]], Ended], as_json: bool) -> None:
    console = stderr()
    with stop_on_interrupt(lambda text: console.print(text)) as stop:
        try:
            ended = watch(lambda progress: work(progress, stop), console)
        except Stopped:
            console.print("Stopped; containers are gone. `tileport show` names the attempt, `tileport resume` goes on.")
            raise typer.Exit(INTERRUPTED) from None
    if as_json:
        print(
            json.dumps(
                {"outcome": asdict(ended.outcome), **(_document(ended.attempt) if ended.attempt else {})}, indent=2
            )
        )
    else:
        show_end(ended, stdout())
    raise typer.Exit(exit_code(ended))


def _show_acceptance(acceptance: Acceptance, folder: AttemptFolder, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"folder": str(folder.path), "acceptance": asdict(acceptance)}, indent=2))
    else:
        show_gates(acceptance.gates, folder.request().operator, stdout())
        stdout().print(f"{acceptance.verdict}; evidence: {folder.path}", soft_wrap=True)
    raise typer.Exit({"accepted": 0, "rejected": 10, "inconclusive": 11}[acceptance.verdict])


def _document(folder: AttemptFolder) -> dict[str, object]:
    records = {
        "request": folder.request(),
        "agent_run": folder.agent_run(),
        "draft_run": folder.draft_run(),
        "patch": folder.patch(),
        "acceptance": folder.acceptance(),
        "outcome": folder.outcome(),
    }
    return {"attempt": folder.id, "folder": str(folder.path)} | {
        name: asdict(record) for name, record in records.items() if record is not None
    }


if __name__ == "__main__":
    main()
