"""What a role that is due is given: pointers, as `next` prints them."""

from __future__ import annotations

from typing import Any

from tileport_skill.pipeline.machine import CAPS
from tileport_skill.pipeline.roles import BRIEFS, SKILL, own_files
from tileport_skill.pipeline.verdicts import Role, words
from tileport_skill.pipeline.work import Work
from tileport_skill.tilegym.port_files import port_files

DRAFTED = "A program has drafted the port already; its files are in the checkout. Do not draft again."


def brief(folder: Work, role: Role, *, repair: bool) -> dict[str, Any]:
    """Paths to read, to write and to leave a report at, the verdicts there are, what to run; and the prompt of it."""
    checkout, operator = folder.place()
    history = folder.history()
    given, files = BRIEFS[role], port_files(checkout, operator)
    own = own_files(role, files)
    said: dict[str, Any] = {
        "step": "run",
        "role": str(role),
        "draft": DRAFTED if folder.task().drafted and role is Role.ANALYZER else None,
        "repair": [problem.text for problem in history[-1].problems] if repair else None,
        "operator": operator.name,
        "repo": str(checkout.root),
        "read": [*(str(SKILL / path) for path in given.reads), *folder.task().told],
        "reports": [str(folder.root / entry.report) for entry in history if entry.report],
        "write": [path for path in files.all if path in own],
        "report": str(folder.report(role, history)),
        "verdicts": [str(word) for word in words(role)],
        "runs_at_most": CAPS[role],
        "check": f"tileport-skill check {role} --work {folder.root}",
        "then": f"tileport-skill submit {role} --work {folder.root}",
    }
    return {**said, "prompt": prompt(said, folder)}


def prompt(said: dict[str, Any], folder: Work) -> str:
    """The whole of what a role is told: pointers, nothing pasted."""
    lines = [f"You are the {said['role']}. Port `{said['operator']}` in {said['repo']}.", "", "Read first:"]
    lines += [f"- {path}" for path in said["read"]]
    if said["draft"]:
        lines += ["", said["draft"]]
    if said["reports"]:
        lines += ["", "Earlier reports, if you need them:", *(f"- {path}" for path in said["reports"])]
    if said["repair"]:
        lines += ["", "Your last run could not be taken:", *(f"- {text}" for text in said["repair"])]
    lines += [
        "",
        "You may change only these, and your report:",
        *(f"- {path}" for path in said["write"] or ["nothing"]),
    ]
    lines += ["", f"FOLDER is {folder.root}, REPO is {said['repo']}. Check your work with: {said['check']}"]
    lines += [
        f"End by writing {said['report']}, with one last line `verdict: ` and one of {', '.join(said['verdicts'])}."
    ]
    return "\n".join(lines)
