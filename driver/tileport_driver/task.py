"""What the agent is told: system prompt and first message, made from the checkout's record alone. Pure."""

from __future__ import annotations

from tileport_driver.records import AgentCheckout

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
_PREVIOUS = """
An attempt before this one was judged and rejected. What the gates said:

{diagnosis}
{patch}
Start from that: mend what was found, and do not repeat it.
"""
_MOST_DIAGNOSIS = 20_000


def task_text(checkout: AgentCheckout, diagnosis: str = "", previous_patch: bool = False) -> str:
    """`task.md`, as the agent's process reads it. `diagnosis` is why the attempt before this one was rejected."""
    files = "\n".join(f"- {path}" for path in checkout.allowed)
    task = _TASK.format(operator=checkout.operator, files=files)
    if diagnosis:
        quoted = "\n".join(f"    {line}" for line in diagnosis[:_MOST_DIAGNOSIS].splitlines())
        patch = f"\nIts patch is /task/{PREVIOUS_PATCH}; `git apply` takes it.\n" if previous_patch else ""
        task += _PREVIOUS.format(diagnosis=quoted, patch=patch)
    return f"# System\n{_SYSTEM}\n# Task\n{task}"
