"""Inputs to run a kernel on: sizes around its tiles, values that show differences, each from a seed."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

from tileport_skill.tileir.elements import STORAGE, Array
from tileport_skill.tileir.facts import Fact, constant_has
from tileport_skill.tileir.launch import ArrayShape, Buffer, Grid, Launch, LaunchShape
from tileport_skill.tileir.machine import Unsupported
from tileport_skill.tileir.records import Entry
from tileport_skill.tileir.roles import ArrayRole, Roles
from tileport_skill.tileir.types import Pointer, Tile

GRIDS: tuple[Grid, ...] = ((2, 1, 1), (1, 1, 1), (2, 2, 1), (1, 2, 1), (2, 1, 2))
LARGEST_ARRAY = 1 << 22
LARGEST_LAUNCH = 1 << 24
"""Elements of all arrays of a launch of known shape; one with more is not run."""

STYLES = ("grid", "random", "special", "lonely", "tiny")
"""`grid`: multiples of 1/4, whose sums are exact. `special`: both zeros, infinities, NaN, denormals.
`lonely`: full mantissas among zeros, whose sums are exact too. `tiny`: denormal numbers only."""


class TooLarge(Exception):
    """The sizes chosen make an array larger than is worth running."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What one input is made from: the same recipe gives the same input."""

    seed: int
    style: str
    grid: Grid
    roomy: bool = False
    """Arrays get room behind their last element, for kernels whose code does not show their size."""

    def __str__(self) -> str:
        x, y, z = self.grid
        return f"seed={self.seed} style={self.style} grid={x},{y},{z}" + (" roomy" if self.roomy else "")


Least = dict[tuple[int, int], int]
"""Array and dimension, and how long it must at least be."""


def make_launch(entry: Entry, roles: Roles, recipe: Recipe, least: Least) -> Launch:
    """The launch of `recipe` for `entry`; `least` is learnt from runs that went outside."""
    chance = random.Random(f"{recipe.seed}")
    numbers = np.random.default_rng(recipe.seed)
    scalars: dict[int, int | float] = {}
    extents: dict[int, int] = {}
    plan = _Plan(roles, scalars, chance, {}, alike=recipe.seed % 2 == 0)
    for number, role in enumerate(roles.arrays):
        wanted = [least.get((number, dim), 0) for dim in range(len(role.sizes))]
        extents[role.pointer] = _lay_out(role, plan, wanted)
    arguments: list[Buffer | int | float] = []
    for place, argument in enumerate(entry.arguments):
        type_ = argument.type
        if not isinstance(type_, Tile):
            raise Unsupported(f"an argument of type {type_}")
        if isinstance(type_.element, Pointer):
            count = extents[place] + (4096 if recipe.roomy else 0)
            arguments.append(Buffer(argument.name, _values(type_.element.to, count, recipe.style, numbers)))
        elif place in scalars:
            arguments.append(scalars[place])
        else:
            arguments.append(_scalar(type_.element, roles.facts.get(place, []), chance))
    return Launch(recipe.grid, tuple(arguments))


def fill_launch(entry: Entry, shape: LaunchShape, seed: int, style: str) -> Launch:
    """A launch of known shape, with contents of the seed and style given.

    An array stands for its pointer, its sizes and its strides, in cuTile's order.
    """
    numbers = np.random.default_rng(seed)
    ends: dict[int, int] = {}
    for given in shape.arguments:
        if isinstance(given, ArrayShape):
            ends[given.storage] = max(ends.get(given.storage, 1), given.end)
    if sum(ends.values()) > LARGEST_LAUNCH:
        raise TooLarge(f"the arrays hold {sum(ends.values())} elements")
    buffers: dict[tuple[int, str], Array] = {}
    arguments: list[Buffer | int | float] = []
    for given in shape.arguments:
        if not isinstance(given, ArrayShape):
            arguments.append(given)
            continue
        if len(arguments) >= len(entry.arguments):
            break
        type_ = entry.arguments[len(arguments)].type
        if not isinstance(type_, Tile) or not isinstance(type_.element, Pointer):
            raise Unsupported("a launch whose arguments are not the kernel's")
        key = (given.storage, type_.element.to)
        if key not in buffers:
            buffers[key] = _values(type_.element.to, ends[given.storage], style, numbers)
        name = entry.arguments[len(arguments)].name
        arguments += [Buffer(name, buffers[key], given.offset), *given.shape, *given.strides]
    if len(arguments) != len(entry.arguments) or len(buffers) != len(ends):
        raise Unsupported("a launch whose arguments are not the kernel's")
    return Launch(shape.grid, tuple(arguments))


@dataclass(frozen=True, slots=True)
class _Plan:
    """The choices of one launch while its arrays are laid out."""

    roles: Roles
    scalars: dict[int, int | float]
    chance: random.Random
    by_tile: dict[int, int]
    alike: bool
    """Whether all dimensions cut into tiles of one size are equally long, as matching arrays need."""

    def number(self, dim: tuple[int | None, int | None], otherwise: int) -> int:
        """The size or stride of `dim`: as it is known, as chosen before, or `otherwise`."""
        place, known = dim
        if known is not None:
            return known
        if place is not None and place in self.scalars:
            return int(self.scalars[place])
        fitting = _fit(otherwise, self.roles.facts.get(place, []) if place is not None else [])
        if place is not None:
            self.scalars[place] = fitting
        return fitting

    def size(self, tile: int) -> int:
        if tile not in self.by_tile or (not self.alike and self.chance.random() < 0.3):
            self.by_tile[tile] = _size(tile, self.chance)
        return self.by_tile[tile]


def _lay_out(role: ArrayRole, plan: _Plan, wanted: list[int]) -> int:
    """Chooses the sizes and strides of one array; the number of elements it spans."""
    sizes = [
        plan.number(dim, max(plan.size(tile), at_least))
        for dim, tile, at_least in zip(role.sizes, role.tiles, wanted, strict=True)
    ]
    strides = [0] * len(sizes)
    dense = 1
    for dim in range(len(sizes) - 1, -1, -1):
        strides[dim] = plan.number(role.strides[dim], dense)
        dense = max(dense, strides[dim] * max(sizes[dim], 1))
    extent = 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))
    if not 0 < extent <= LARGEST_ARRAY:
        raise TooLarge(f"an array would span {extent} elements")
    return extent


def _size(tile: int, chance: random.Random) -> int:
    """One tile, two, or some that do not come out even."""
    if tile == 1:
        return chance.choice([1, 2, 3, 4, 8])
    rest = chance.choice([1, tile - 1, max(1, tile // 2 - 1)])
    return chance.choice([tile, 2 * tile, tile + rest, tile + rest, rest])


def _fit(number: int, facts: list[Fact]) -> int:
    """The nearest number from `number` on that has all `facts`, or `number` if none soon has."""
    for candidate in range(number, number + 4097):
        if all(constant_has(candidate, fact) for fact in facts):
            return candidate
    return number


def _scalar(element: str, facts: list[Fact], chance: random.Random) -> int | float:
    if element[0] in "fb":
        return chance.choice([0.5, 1.0, 0.25, 2.0, -1.5])
    if element == "i1":
        return chance.choice([0, 1])
    return _fit(chance.choice([1, 2, 3, 4, 5, 16, 32, 0, -1]), facts)


def _values(element: str, count: int, style: str, numbers: np.random.Generator) -> Array:
    if element not in STORAGE:
        raise Unsupported(f"an array of {element}")
    dtype = STORAGE[element]
    if element == "i1":
        return numbers.integers(0, 2, count).astype(dtype)
    if element.startswith("i"):
        return numbers.integers(0, 4, count).astype(dtype)
    if style == "grid":
        return (numbers.integers(-12, 13, count) / 4.0).astype(dtype)
    if style == "tiny":
        least = float(np.finfo(np.float32).smallest_subnormal) if dtype.itemsize > 2 else 2.0**-24
        return (numbers.integers(-12, 13, count) * least * 8).astype(dtype)
    values: Array = numbers.standard_normal(count).astype(dtype)
    if style == "lonely":
        values[numbers.random(count) < 0.98] = 0
    if style == "special":
        odd = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1e-7, 60000.0, -3e38], np.float64)
        with np.errstate(all="ignore"):
            where = numbers.random(count) < 0.05
            values[where] = numbers.choice(odd, int(where.sum())).astype(dtype)
    return values
