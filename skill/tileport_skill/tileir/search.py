"""The last rung: runs both kernels on the same inputs and looks for one on which they part."""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tileport_skill.tileir.assemble import ASSEMBLE_SECONDS
from tileport_skill.tileir.elements import Array, bits_of
from tileport_skill.tileir.inputs import GRIDS, STYLES, Least, Recipe, TooLarge, fill_launch, make_launch
from tileport_skill.tileir.interpret import Limits, TooLong, run
from tileport_skill.tileir.launch import Launch, LaunchShape, Outcome
from tileport_skill.tileir.machine import Unsupported
from tileport_skill.tileir.records import Entry
from tileport_skill.tileir.replay import spell_recipe, spell_shape
from tileport_skill.tileir.roles import Roles, roles_of
from tileport_skill.tileir.verdicts import Witness

LIMITS = Limits(findings=1, blocks=8)


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """When to give up."""

    inputs: int = 10
    """So many inputs on which the reference has a meaning."""
    attempts: int = 60
    seconds: float = 3.0
    assembling: float = ASSEMBLE_SECONDS
    """For `tileiras`, each side; past that the ladder goes on without cubins."""
    graphs_first: bool = False
    """Of kernels that multiply matrices assemble only what graphs cannot show equal in results and in all that a
    compiler makes speed of: `tileiras` takes minutes for some. The same cubin shows equal speed too, so else it comes
    first."""
    any_speed: bool = False
    """Equal results are enough: graphs come first, and kernels that only speed can tell apart are equal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """What came of it."""

    witness: Witness | None
    tested: int
    """Inputs on which both ran and agreed."""
    reason: str
    """Why there is no witness."""


def search(a: Entry, b: Entry, budget: Budget | None = None, launches: Sequence[LaunchShape] = ()) -> Searched:
    """Looks for an input that the reference `a` gives a meaning and `b` another.

    With `launches`, only those are tried, for what no host launches says nothing of a port. Without, sizes are
    chosen by how the kernel uses its arguments.
    """
    budget = budget or Budget()
    until = time.monotonic() + budget.seconds
    tested, last = 0, "no input was tried"
    tries = _known(a, launches, budget) if launches else _chosen(a, budget)
    limits = dataclasses.replace(LIMITS, until=until)
    for attempt in tries:
        if tested >= budget.inputs or time.monotonic() > until:
            break
        try:
            words, launch, ours = attempt(limits)
            if ours.findings:
                found = ours.findings[0]
                last = f"the reference has no meaning there: {found.text} (line {found.line})"
                continue
            theirs = run(b, launch, limits)
        except Unsupported as error:
            return Searched(witness=None, tested=tested, reason=f"The interpreter does not know {error}.")
        except (TooLong, TooLarge) as error:
            last = str(error)
            continue
        witness = part(ours, theirs, words)
        if witness is not None:
            return Searched(witness=witness, tested=tested, reason="")
        tested += 1
    reason = f"{tested} inputs gave the same results." if tested else f"No input could be run: {last}."
    return Searched(witness=None, tested=tested, reason=reason)


Attempt = Callable[[Limits], tuple[str, Launch, Outcome]]
"""Makes an input and runs the reference on it: the input in words, itself, what came of it."""


def _known(a: Entry, launches: Sequence[LaunchShape], budget: Budget) -> Iterator[Attempt]:
    """The launches in turn, each time with other contents."""
    for seed in range(budget.attempts):
        yield functools.partial(_run_known, a, launches[seed % len(launches)], seed, STYLES[seed % len(STYLES)])


def _run_known(a: Entry, shape: LaunchShape, seed: int, style: str, limits: Limits) -> tuple[str, Launch, Outcome]:
    launch = fill_launch(a, shape, seed, style)
    return spell_shape(shape, seed, style), launch, run(a, launch, limits)


def _chosen(a: Entry, budget: Budget) -> Iterator[Attempt]:
    """Sizes of our own choice, through grids and styles."""
    roles = roles_of(a)
    for seed in range(budget.attempts):
        grid = GRIDS[(seed + seed // len(STYLES)) % len(GRIDS)]
        recipe = Recipe(seed, STYLES[seed % len(STYLES)], grid, seed % 4 == 3)
        yield functools.partial(_run_chosen, a, roles, recipe)


def _run_chosen(a: Entry, roles: Roles, recipe: Recipe, limits: Limits) -> tuple[str, Launch, Outcome]:
    """Lets arrays grow as long as the reference asks for it by going outside."""
    least: Least = {}
    launch = make_launch(a, roles, recipe, least)
    ours = run(a, launch, limits)
    while ours.findings and _learnt(ours, least) and time.monotonic() < limits.until:
        launch = make_launch(a, roles, recipe, least)
        ours = run(a, launch, limits)
    return spell_recipe(recipe, least), launch, ours


def _learnt(outcome: Outcome, least: Least) -> bool:
    """Notes what the first finding asks for; False if there is nothing new in it."""
    needs = outcome.findings[0].needs
    if needs is None or not 0 < needs[2] < 1 << 16 or least.get(needs[:2], 0) >= needs[2]:
        return False
    least[needs[:2]] = needs[2]
    return len(least) <= 8


def part(ours: Outcome, theirs: Outcome, inputs: str) -> Witness | None:
    """The first place where the port does other than the reference, which had a meaning throughout."""
    if theirs.findings:
        found = theirs.findings[0]
        where = f"block {found.block}, {found.operation} (line {found.line})"
        text = f"{found.kind}: {found.text}"
        return Witness(kind="input", inputs=inputs, where=where, a="runs without a finding", b=text)
    exact = ours.exact and theirs.exact
    for left, right in zip(ours.buffers, theirs.buffers, strict=True):
        wrong = ~left.poison & (_unlike(left.data, right.data, exact) | right.poison)
        wrong |= right.touched & ~left.touched
        if wrong.any():
            place = int(np.argmax(wrong))
            theirs_text = "unspecified" if right.poison[place] else str(right.data[place])
            return Witness(
                kind="input",
                inputs=inputs,
                where=f"{left.name}, element {place}",
                a=str(left.data[place]),
                b=theirs_text if right.touched[place] else f"not written ({theirs_text})",
            )
    return None


def _unlike(a: Array, b: Array, exact: bool) -> Array:
    """Where two results differ: in a bit, or beyond what the order of a sum can do."""
    if a.dtype.kind in "iub":
        return np.asarray(a != b)
    with np.errstate(all="ignore"):
        x, y = a.astype(np.float64), b.astype(np.float64)
        both_nan = np.isnan(x) & np.isnan(y)
        if exact:
            return np.asarray((a.view(bits_of(a.dtype)) != b.view(bits_of(b.dtype))) & ~both_nan)
        finite = np.isfinite(x) & np.isfinite(y)
        scale = np.abs(x[finite]).max(initial=0.0)
        loose = {8: 1e-9, 4: 1e-4}.get(a.dtype.itemsize, 4e-2 if a.dtype.itemsize == 2 else 0.3)
        off = np.abs(x - y) > loose * scale
        return np.asarray(np.where(finite, off, (x != y) & ~both_nan))
