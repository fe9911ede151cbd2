"""Commands for many operators: batches, the queue and who serves it, the page of all attempts."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from tileport_driver import jobs
from tileport_driver.batch import Pace, last_batch, run_batch, start_batch
from tileport_driver.batch_show import show_batch, watch_batch
from tileport_driver.host.paths import state_dir
from tileport_driver.options import INTERRUPTED, AsJson, Declare, HideTwins, Repo, root
from tileport_driver.records import EngineName
from tileport_driver.requests import Order, make_request
from tileport_driver.service import port
from tileport_driver.terminal import show_jobs, stderr, stdout, stop_on_interrupt


def add_commands(app: typer.Typer) -> None:
    app.command("batch")(batch_command)
    app.command("queue")(queue_command)
    app.command("worker")(worker_command)
    app.command("dashboard")(dashboard_command)


def batch_command(
    operators: Annotated[list[str] | None, typer.Argument(help="Operators, in any spelling; or --all.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every operator of the checkout.")] = False,
    repo: Repo = Path(),
    engine: Annotated[EngineName, typer.Option(help="Who writes the ports; `none`: a program, no model.")] = "none",
    script: Annotated[
        Path | None, typer.Option(help="Scripted: a folder with a folder for each operator, or one script for all.")
    ] = None,
    base: Annotated[str, typer.Option(help="The commit to port at.")] = "HEAD",
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many operators in this run.")] = None,
    declare: Declare = False,
    hide_twins: HideTwins = False,
    pause: Annotated[float, typer.Option(min=0, help="At least so many seconds between two beginnings.")] = 0.0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the last batch.")] = False,
    as_json: AsJson = False,
) -> None:
    """Port many operators, dependencies first: exit 0 all ended, 13 our machinery stopped it, 130 stopped."""
    if resume == bool(operators or everything) or (operators and everything):
        raise typer.BadParameter("give operators, or --all, or --resume", param_hint="OPERATORS / --all / --resume")
    if (engine == "scripted") != (script is not None) and not resume:
        raise typer.BadParameter("--engine scripted and --script FOLDER go together", param_hint="--script")
    batch = (
        last_batch()
        if resume
        else start_batch(root(repo), operators, engine, script, base, declare=declare, hide_twins=hide_twins)
    )
    console = stderr()
    with stop_on_interrupt(lambda text: console.print(text)) as stop:
        console.print(
            f"Batch {batch.id}: {len(batch.rows)} operators. To stop it: touch {batch.stop_file}", soft_wrap=True
        )
        ended = watch_batch(
            lambda show: run_batch(
                batch, lambda order, progress: port(order, progress, stop), Pace(limit=limit, seconds=pause), stop, show
            ),
            console,
        )
    if as_json:
        print(json.dumps(asdict(ended), indent=2))
    else:
        show_batch(ended, stdout())
    raise typer.Exit({"done": 0, "limit": 0, "machinery": 13}.get(ended.ended or "", INTERRUPTED))


def queue_command(
    operators: Annotated[list[str] | None, typer.Argument(help="Operators to enter; none: only show.")] = None,
    repo: Repo = Path(),
    engine: Annotated[EngineName, typer.Option(help="Who writes the ports; `none`: a program, no model.")] = "none",
    script: Annotated[Path | None, typer.Option(help="For the scripted engine.")] = None,
    base: Annotated[str, typer.Option(help="The commit to port at.")] = "HEAD",
    declare: Declare = False,
    hide_twins: HideTwins = False,
    as_json: AsJson = False,
) -> None:
    """Enter operators into the queue that `tileport worker` serves, and show what is in it."""
    for name in operators or []:
        order = Order(
            operator=name,
            repository=repo,
            engine=engine,
            script=script,
            base=base,
            declare=declare,
            hide_twins=hide_twins,
        )
        jobs.submit(make_request(order))
    if as_json:
        print(json.dumps([asdict(job) for job in jobs.all_jobs()], indent=2))
    else:
        show_jobs(jobs.all_jobs(), stdout())


def worker_command(
    queue: Annotated[jobs.QueueName, typer.Option(help="`agents` makes ports, `gpu` judges what waits for a GPU.")],
    drain: Annotated[bool, typer.Option("--drain", help="End once nothing is left to do.")] = False,
    lease: Annotated[float, typer.Option(min=1, help="Seconds after which a silent worker's job is another's.")] = 60.0,
) -> None:
    """Serve a queue, one job at a time; start as many as the machines bear."""
    from tileport_driver.worker import work

    with stop_on_interrupt(lambda text: stderr().print(text)) as stop:
        count = work(queue, stop, drain, lease)
    print(f"{count} jobs ended here.")


def dashboard_command(
    out: Annotated[Path | None, typer.Option(help="The page; else dashboard.html beside the attempts.")] = None,
) -> None:
    """Write one static page: operators by gates, attempts, costs, durations."""
    from tileport_driver.dashboard import write_dashboard

    page = out or state_dir() / "dashboard.html"
    count = write_dashboard(page)
    print(f"{count} attempts: {page}")
