"""What the agent is told: system prompt and first message, made from the checkout's record alone. Pure."""

from __future__ import annotations

from tileport_driver.records import AgentCheckout, DraftRun

_SYSTEM = """\
You port kernels from cuTile Python to cuTile Rust, in a TileGym checkout at /work. You have a shell and a text editor;
there is no network. Rust, the pinned crates (vendored) and the CUDA tools are under /toolchain and on PATH.

What counts is what the files do: after you end, the difference you leave is applied to a clean tree and judged there.
It must build, and for every specialisation that the operator's tests launch, the Rust kernel's Tile IR must be proved
equal to the reference's. `tileport-skill verify OPERATOR --repo /work` runs the same comparison here.
"""

_TASK = """\
Port the operator `{operator}` to cuTile Rust.

You may touch these six files and no other; anything else makes the whole change void:
{files}

The first three are new. Read the reference and its tests, look at one of the ports that are there for the launcher's
conventions, write the port, verify it, and end with a short summary of what you did and what you are unsure of.
"""


PREVIOUS_PATCH = "previous.diff"
BEFORE = "before.md"
_PREVIOUS = """
An attempt before this one was judged and rejected. What the gates said:

{diagnosis}
{patch}
Start from that: mend what was found, and do not repeat it.
"""
_MOST_DIAGNOSIS = 20_000
_DRAFTED = """
A program has drafted the port already: the six files are there, its changes uncommitted. The draft follows the
reference line by line and should be equal to it. Make it a port that people want to own (names, idiom, structure,
comments), and verify after each change.
"""
_HALF_DRAFTED = """
A program tried to draft the port and could not do all of it; what it wrote is there, uncommitted. What stood in its
way:
{reasons}
"""


def task_text(
    checkout: AgentCheckout, draft: DraftRun | None = None, diagnosis: str = "", previous_patch: bool = False
) -> str:
    """`task.md`, as the agent's process reads it. `diagnosis` is why the attempt before this one was rejected."""
    files = "\n".join(f"- {path}" for path in checkout.allowed)
    task = _TASK.format(operator=checkout.operator, files=files) + _about(draft)
    task += _before(diagnosis, previous_patch)
    return f"# System\n{_SYSTEM}\n# Task\n{task}"


def told_text(draft: DraftRun | None, diagnosis: str, previous_patch: bool) -> str:
    """What roles are told beside their own texts: what no draft could do, and why an attempt before this one failed.

    Empty where there is nothing to tell.
    """
    return f"{_half_drafted(_gaps(draft))}{_before(diagnosis, previous_patch)}".lstrip()


def _before(diagnosis: str, previous_patch: bool) -> str:
    if not diagnosis:
        return ""
    quoted = "\n".join(f"    {line}" for line in diagnosis[:_MOST_DIAGNOSIS].splitlines())
    patch = f"\nIts patch is /task/{PREVIOUS_PATCH}; `git apply` takes it.\n" if previous_patch else ""
    return _PREVIOUS.format(diagnosis=quoted, patch=patch)


def _about(draft: DraftRun | None) -> str:
    if draft is None:
        return ""
    return _half_drafted(_gaps(draft)) or _DRAFTED


def _half_drafted(gaps: list[str]) -> str:
    return _HALF_DRAFTED.format(reasons="\n".join(f"- {gap}" for gap in gaps)) if gaps else ""


def _gaps(draft: DraftRun | None) -> list[str]:
    """What the program could not draft, each with its reason."""
    if draft is None:
        return []
    refused = [f"{one.kernel}: {one.reason}" for one in draft.report.refused] if draft.report is not None else []
    return [*draft.refused, *([] if draft.refused else refused)]
