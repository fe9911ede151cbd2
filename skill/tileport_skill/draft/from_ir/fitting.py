"""What a slot that differs is in terms of the kernel's constants: the simplest expression right in every sample.

Only samples support it, so it holds for those alone: the wrapper checks at each call that its constants are ones that
were sampled.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tileport_skill.emit.derived import float_bits

Numbers = tuple[int, ...]
Columns = Mapping[str, Numbers]
"""By the constant's name, its value in every sample."""
FACTORS = (2, 4, 8, 16, 32, 64, 128)
LOG2_E = 1.4426950408889634


@dataclass(frozen=True, slots=True)
class Fit:
    """An expression of the Python kernel's constants, and a name for its value."""

    python: str
    name: str


def fit_integers(wanted: Numbers, columns: Columns) -> Fit | None:
    """The first candidate that gives `wanted`, simplest first."""
    varying = {name: column for name, column in columns.items() if len(set(column)) > 1}
    return next((fit for fit, column in _candidates(varying) if column == wanted), None)


def _candidates(columns: Columns) -> Iterator[tuple[Fit, Numbers | None]]:
    for name, column in columns.items():
        yield Fit(name, name.upper()), column
    for name, column in columns.items():
        yield from _of_one(name, column)
    for (one, left), (other, right) in itertools.permutations(columns.items(), 2):
        yield from _of_two(one, left, other, right)
    for (one, a), (other, b), (last, c) in itertools.permutations(columns.items(), 3):
        ceiling = _ceiling(a, b)
        if ceiling is not None:
            product = tuple(x * y for x, y in zip(ceiling, c, strict=True))
            yield Fit(f"-(-{one} // {other}) * {last}", f"{one}_IN_{other}_TIMES_{last}".upper()), product
        product = tuple(x * y * z for x, y, z in zip(a, b, c, strict=True))
        yield Fit(f"{one} * {other} * {last}", f"{one}_BY_{other}_BY_{last}".upper()), product


def _of_one(name: str, column: Numbers) -> Iterator[tuple[Fit, Numbers]]:
    upper = name.upper()
    for factor in FACTORS:
        yield Fit(f"{name} // {factor}", f"{upper}_OVER_{factor}"), tuple(n // factor for n in column)
        yield Fit(f"{name} * {factor}", f"{upper}_TIMES_{factor}"), tuple(n * factor for n in column)
        yield Fit(f"-(-{name} // {factor})", f"{upper}_IN_{factor}"), tuple(-(-n // factor) for n in column)
    for more in (1, -1):
        said = f"{name} {'+' if more > 0 else '-'} 1"
        yield Fit(said, f"{upper}_{'PLUS' if more > 0 else 'LESS'}_1"), tuple(n + more for n in column)
    if all(n > 0 for n in column):
        power = tuple(1 << (n - 1).bit_length() for n in column)
        yield Fit(f"1 << ({name} - 1).bit_length()", f"{upper}_POWER"), power
    yield Fit(f"{name} * {name}", f"{upper}_SQUARED"), tuple(n * n for n in column)


def _of_two(one: str, left: Numbers, other: str, right: Numbers) -> Iterator[tuple[Fit, Numbers]]:
    pairs = list(zip(left, right, strict=True))
    names = f"{one}_{{}}_{other}".upper()
    yield Fit(f"{one} * {other}", names.format("BY")), tuple(a * b for a, b in pairs)
    if all(right):
        yield Fit(f"{one} // {other}", names.format("OVER")), tuple(a // b for a, b in pairs)
        yield Fit(f"-(-{one} // {other})", names.format("IN")), tuple(-(-a // b) for a, b in pairs)
        yield Fit(f"-(-{one} // {other}) * {other}", names.format("UP_TO")), tuple(-(-a // b) * b for a, b in pairs)
        yield Fit(f"{one} // {other} * {other}", names.format("DOWN_TO")), tuple(a // b * b for a, b in pairs)
    yield Fit(f"{one} + {other}", names.format("PLUS")), tuple(a + b for a, b in pairs)
    yield Fit(f"{one} - {other}", names.format("LESS")), tuple(a - b for a, b in pairs)
    yield Fit(f"min({one}, {other})", names.format("OR_LESS")), tuple(min(a, b) for a, b in pairs)
    yield Fit(f"max({one}, {other})", names.format("OR_MORE")), tuple(max(a, b) for a, b in pairs)


def _ceiling(left: Numbers, right: Numbers) -> Numbers | None:
    return tuple(-(-a // b) for a, b in zip(left, right, strict=True)) if all(right) else None


def fit_floats(wanted: Sequence[float], floats: Mapping[str, tuple[float, ...]], whole: Columns) -> Fit | None:
    """The same for literals of type `f32`: from constants that are floats, or from whole ones."""
    for name, column in (*floats.items(), *whole.items()):
        if len(set(column)) < 2:
            continue
        upper = name.upper()
        numbers = [float(n) for n in column]
        candidates = [
            (Fit(name if name in floats else f"float({name})", upper), numbers),
            (Fit(f"-{name}", f"MINUS_{upper}"), [-n for n in numbers]),
            (Fit(f"1.0 - {name}", f"ONE_LESS_{upper}"), [1.0 - n for n in numbers]),
            (Fit(f"{name} * {LOG2_E}", f"{upper}_IN_BITS"), [n * LOG2_E for n in numbers]),
        ]
        if all(numbers):
            candidates.append((Fit(f"1.0 / {name}", f"ONE_OVER_{upper}"), [1.0 / n for n in numbers]))
        if all(n != 1.0 for n in numbers):
            candidates.append((Fit(f"1.0 / (1.0 - {name})", f"KEPT_{upper}"), [1.0 / (1.0 - n) for n in numbers]))
        for fit, found in candidates:
            if list(map(float_bits, found)) == list(map(float_bits, wanted)):
                return fit
    return None
