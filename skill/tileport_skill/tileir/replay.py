"""An input in words: written into a witness, read by `tileport-skill ir run`."""

from __future__ import annotations

import re

from tileport_skill.errors import RequestError
from tileport_skill.tileir.inputs import STYLES, Least, Recipe, TooLarge, fill_launch, make_launch
from tileport_skill.tileir.interpret import Limits, TooLong, run
from tileport_skill.tileir.launch import ArrayShape, Launch, LaunchShape, Outcome
from tileport_skill.tileir.machine import Unsupported
from tileport_skill.tileir.records import Entry
from tileport_skill.tileir.roles import roles_of

_RECIPE = re.compile(r"seed=(\d+) style=(\w+) grid=(\d+),(\d+),(\d+)( roomy)?((?: \d+\.\d+>=\d+)*)")


def read_recipe(words: str) -> tuple[Recipe, Least]:
    """The recipe a witness names, such as `seed=3 style=grid grid=2,1,1 0.1>=64`."""
    found = _RECIPE.fullmatch(words.strip())
    if not found or found[2] not in STYLES:
        raise RequestError(
            f"{words!r} names no input. Expected `seed=N style=S grid=X,Y,Z`, with a style of {', '.join(STYLES)}."
        )
    grid = (int(found[3]), int(found[4]), int(found[5]))
    if not all(0 < n <= 65_535 for n in grid):
        raise RequestError(f"The grid {grid} is not between 1 and 65535 in each direction.")
    least = {}
    for item in found[7].split():
        array, dim, size = map(int, re.split(r"\.|>=", item))
        least[array, dim] = size
    return Recipe(int(found[1]), found[2], grid, bool(found[6])), least


def spell_recipe(recipe: Recipe, least: Least) -> str:
    """The words `read_recipe` reads."""
    sizes = "".join(f" {array}.{dim}>={size}" for (array, dim), size in sorted(least.items()))
    return f"{recipe}{sizes}"


_ARRAY = re.compile(r"\[([\dx]*):([\d,]*)@(\d+)\+(\d+)\]")
_SHAPE = re.compile(r"seed=(\d+) style=(\w+) grid=(\d+),(\d+),(\d+) arguments=(.*)")


def spell_shape(shape: LaunchShape, seed: int, style: str) -> str:
    """The words `read_shape` reads."""
    x, y, z = shape.grid
    return f"seed={seed} style={style} grid={x},{y},{z} arguments={';'.join(map(str, shape.arguments))}"


def read_shape(words: str) -> tuple[LaunchShape, int, str] | None:
    """A launch of known shape with its seed and style; None if `words` name none."""
    found = _SHAPE.fullmatch(words.strip())
    if not found or found[2] not in STYLES:
        return None
    arguments: list[ArrayShape | int | float] = []
    for item in found[6].split(";"):
        array = _ARRAY.fullmatch(item)
        try:
            if array:
                dims = tuple(int(n) for n in array[1].split("x") if n)
                steps = tuple(int(n) for n in array[2].split(",") if n)
                arguments.append(ArrayShape(dims, steps, int(array[3]), int(array[4])))
            else:
                arguments.append(float(item) if re.search(r"[.en]", item) else int(item))
        except ValueError:
            raise RequestError(f"{item!r} is neither an array nor a number.") from None
    return LaunchShape((int(found[3]), int(found[4]), int(found[5])), tuple(arguments)), int(found[1]), found[2]


def replay(entry: Entry, shape_by: Entry, words: str, limits: Limits) -> tuple[Launch, Outcome]:
    """Runs `entry` on the input `words` name; its arrays are laid out as `shape_by` uses them."""
    known = read_shape(words)
    try:
        if known is not None:
            launch = fill_launch(shape_by, *known)
        else:
            recipe, least = read_recipe(words)
            launch = make_launch(shape_by, roles_of(shape_by), recipe, least)
        return launch, run(entry, launch, limits)
    except Unsupported as error:
        raise RequestError(f"The interpreter does not know {error}.") from error
    except (TooLong, TooLarge) as error:
        raise RequestError(f"The run was given up: {error}.") from error
