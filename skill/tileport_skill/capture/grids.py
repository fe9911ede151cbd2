"""A kernel's grid as an expression of its arguments, if one fits every launch of it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from tileport_skill.capture.records import Constant, Launch, Specialisation, TensorArgument, ValueArgument

Pair = tuple[Launch, Specialisation]
MOST_TERMS = 24
"""Sizes of arrays that are tried in products; more make nonsense more likely than sense."""


def fit_grid(pairs: Sequence[Pair]) -> tuple[str | None, ...]:
    """One expression per dimension, simplest first that fits all launches; `None` where none does."""
    if not pairs:
        return ()
    dimensions = max(len(launch.grid) for launch, _ in pairs)
    return tuple(_fit(pairs, dimension) for dimension in range(dimensions))


def _fit(pairs: Sequence[Pair], dimension: int) -> str | None:
    wanted = [(*launch.grid, 1, 1, 1)[dimension] for launch, _ in pairs]
    if len(set(wanted)) == 1 and len(pairs) > 1:
        return str(wanted[0])
    terms = [_terms(launch, specialisation) for launch, specialisation in pairs]
    shared = [name for name in terms[0] if all(name in found for found in terms)]
    for text, values in _expressions(shared, terms):
        if values == wanted:
            return text
    return None


def _terms(launch: Launch, specialisation: Specialisation) -> dict[str, int]:
    """Sizes, products of leading sizes and integer arguments, by name."""
    found: dict[str, int] = {}
    for parameter, argument in zip(specialisation.parameters, launch.arguments, strict=False):
        if isinstance(argument, TensorArgument):
            for axis, size in enumerate(argument.shape):
                found[f"{parameter.name}.size({axis})"] = size
            total = 1
            for size in argument.shape:
                total *= size
            found[f"{parameter.name}.numel()"] = total
        elif isinstance(argument, ValueArgument) and argument.type == "int":
            found[parameter.name] = int(argument.text)
        elif isinstance(parameter, Constant) and parameter.type == "int":
            found[parameter.name] = int(parameter.text)
    return found


def _expressions(names: list[str], terms: list[dict[str, int]]) -> Iterator[tuple[str, list[int]]]:
    for name in names:
        yield name, [found[name] for found in terms]
    for over, under in itertools.permutations(names, 2):
        if "size" in under or "numel" in under:
            continue
        divisors = [found[under] for found in terms]
        if all(divisors):
            yield f"cdiv({over}, {under})", [-(-f[over] // d) for f, d in zip(terms, divisors, strict=True)]
    sizes = [name for name in names if "size" in name][:MOST_TERMS]
    for a, b in itertools.combinations(sizes, 2):
        yield f"{a} * {b}", [found[a] * found[b] for found in terms]
    constants = [name for name in names if "size" not in name and "numel" not in name]
    for (a, x), (b, y) in itertools.permutations(itertools.product(sizes, constants), 2):
        if a < b and all(found[x] and found[y] for found in terms):
            values = [-(-f[a] // f[x]) * -(-f[b] // f[y]) for f in terms]
            yield f"cdiv({a}, {x}) * cdiv({b}, {y})", values
