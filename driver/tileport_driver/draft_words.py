"""Sentences about a draft, for commit, report and pull request alike: no model, which kernels by which route. Pure."""

from __future__ import annotations

import textwrap
from typing import NamedTuple

from tileport_driver.records import DraftRun

NO_MODEL = "Drafted by a program; no model was in the loop."
COSTS_NOTHING = "A draft costs no attempt."


class DraftView(NamedTuple):
    """What pages show of a draft."""

    sentence: str
    kernels: tuple[tuple[str, str, str], ...]
    """Kernel, entry, and what it was drafted from."""
    refused: tuple[tuple[str, str, str], ...]
    """Kernel, line of the reference or nothing, and reason."""


def draft_view(run: DraftRun, *, alone: bool = True) -> DraftView:
    """`alone`: no agent went on from it."""
    sentence = NO_MODEL if alone else "No draft." if run.refused else "A program drafted a whole port first."
    if run.report is None:
        return DraftView(sentence, (), ())
    kernels = tuple((one.kernel, one.entry, one.route) for one in run.report.kernels)
    refused = tuple((one.kernel, str(one.line or ""), one.reason) for one in run.report.refused)
    return DraftView(sentence, kernels, refused)


def drafted_how(run: DraftRun) -> str:
    """For the branch's commit: a paragraph, and a line for each kernel."""
    view = draft_view(run)
    lines = [f"{view.sentence} It was judged from the patch alone.", ""]
    lines += [f"- {kernel}: from the {route}" for kernel, _, route in view.kernels]
    for kernel, line, reason in view.refused:
        place = f" (line {line})" if line else ""
        lines += textwrap.wrap(f"- {kernel}: not drafted{place}: {reason}", 90, subsequent_indent="  ")
    return "\n".join([*lines, ""])
