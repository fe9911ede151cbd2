"""`tileport-skill preflight`, `next`, `submit` and `check`: the loop that any agent runtime can run a port by."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import TypeAdapter

from tileport_skill.errors import RequestError
from tileport_skill.pipeline import submit as submitting
from tileport_skill.pipeline.begin import begin
from tileport_skill.pipeline.brief import brief
from tileport_skill.pipeline.diagnosis import said_otherwise
from tileport_skill.pipeline.ending import conclude_if_ended, missing
from tileport_skill.pipeline.machine import Complete, Run, Step, Stop
from tileport_skill.pipeline.records import Task
from tileport_skill.pipeline.validators.checked import Checked
from tileport_skill.pipeline.verdicts import Role
from tileport_skill.pipeline.work import Work, open_work
from tileport_skill.tilegym.operators import find_operator, open_checkout, read_operators

Folder = Annotated[Path, typer.Option("--work", help="The port's working folder, beside the checkout.")]
Repo = Annotated[Path, typer.Option("--repo", help="Root of a TileGym checkout.")]
Archs = Annotated[list[str], typer.Option("--arch", help="sm_90, sm_100 or sm_120; may be repeated.")]
Drafted = Annotated[bool, typer.Option("--drafted", help="A draft by a program is in the checkout, and is begun at.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Which = Annotated[Role, typer.Argument(metavar="ROLE", help="Whose files: analyzer, kernel-writer, ...")]
FAILED = 10


def add_commands(app: typer.Typer) -> None:
    app.command("preflight")(preflight)
    app.command("next")(next_command)
    app.command("submit")(submit_command)
    app.command("check")(check_command)


def preflight(
    operator: str,
    work: Folder,
    repo: Repo = Path(),
    arch: Archs = ["sm_90"],  # noqa: B006
    drafted: Drafted = False,
) -> None:
    """Begin a port: see whether this machine has what it needs. Exit status 10 if it has not."""
    folder = open_work(work, repo)
    checkout = open_checkout(repo.resolve())
    task = Task(
        operator=find_operator(read_operators(checkout), operator).name,
        repo=str(checkout.root),
        archs=(*arch,),
        drafted=drafted,
    )
    items = begin(folder, task)
    for item in items:
        print(f"{'ok     ' if item.found else 'MISSING'} {item.what}: {item.found or item.otherwise}")
    raise typer.Exit(0 if all(item.found for item in items) else FAILED)


def next_command(work: Folder, as_json: Json = False) -> None:
    """Which role is next, and the pointers to give it. Exit status 0 while a role is due or the port is accepted."""
    folder = Work(work.resolve())
    folder.task()
    step = folder.step()
    conclude_if_ended(folder)
    said = _described(folder, step)
    print(json.dumps(said, indent=1) if as_json else _prose(said))
    raise typer.Exit(0 if isinstance(step, Run) or step == Complete("accepted") else FAILED)


def submit_command(role: Which, work: Folder) -> None:
    """Take in a role's run: read its report, check its files, record the verdict, say what is next."""
    folder = Work(work.resolve())
    folder.task()
    with folder.locked():
        entry = submitting.submit(folder, role)
        conclude_if_ended(folder)
    claimed = said_otherwise(entry)
    print(f"{role}: {entry.verdict}{claimed}")
    print("\n".join([f"- {fact}" for fact in entry.facts] + [f"! {problem.text}" for problem in entry.problems]))
    print(_prose(_described(folder, folder.step())))


def check_command(role: Which, work: Folder, as_json: Json = False) -> None:
    """What the validators of a role find in the files as they are; nothing is recorded. Exit status 10 if anything."""
    folder = Work(work.resolve())
    if role is Role.PREFLIGHT:
        raise RequestError("preflight has no files to check; run `tileport-skill preflight`.")
    folder.task()
    with folder.locked():  # it writes what it makes into the folder, as submitting does
        checked = submitting.check(folder, role, folder.report(role, folder.history()))
    if as_json:
        print(json.dumps(TypeAdapter(Checked).dump_python(checked, mode="json"), indent=1))
    else:
        lines = [f"- {fact}" for fact in checked.facts]
        lines += [f"! {problem.text} ({problem.owner})" for problem in checked.problems]
        print("\n".join([*lines, "problems" if checked.problems else "no problems"]))
    raise typer.Exit(FAILED if checked.problems else 0)


def _described(folder: Work, step: Step) -> dict[str, Any]:
    match step:
        case Run(Role.PREFLIGHT):
            return {"step": "run", "role": "preflight", "do": "tileport-skill preflight OPERATOR --work FOLDER"}
        case Stop(why):
            return {"step": "stop", "why": why, "diagnosis": str(folder.root / "diagnosis.md")}
        case Complete(outcome):
            contract = str(folder.root / "contract.json")
            return {"step": "complete", "outcome": outcome, "contract": contract, "missing": missing(folder)}
        case Run(role, repair):
            return brief(folder, role, repair=repair)


PRINTED = ("step", "role", "why", "diagnosis", "outcome", "contract", "missing", "do", "then", "prompt")
"""What a person or an orchestrator needs of a step; `--json` has the rest, which the prompt says in words."""


def _prose(said: dict[str, Any]) -> str:
    lines = []
    for key in PRINTED:
        value = said.get(key)
        if value in (None, []):
            continue
        if isinstance(value, list):
            lines += [f"{key}:", *(f"- {one}" for one in value)]
        else:
            lines.append(f"{key}:\n\n{value}" if key == "prompt" else f"{key}: {value}")
    return "\n".join(lines)
