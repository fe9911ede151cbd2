"""Which calls an entry is for: those whose constants and element types were sampled, as Python conditions.

Nothing is known of a kernel for constants that it was never compiled for, so nothing is assumed: the wrapper checks.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from tileport_skill.capture.records import Array, Constant, Specialisation
from tileport_skill.draft.variant import is_dense

Group = Sequence[Specialisation]


def guards(groups: Sequence[Group]) -> list[str]:
    """For each entry the condition on the Python kernel's arguments that holds for its own group and for no other.

    Element types are asked about where they tell entries apart: for others the launcher has no entry at all.
    """
    kinds = [_kinds(group) for group in groups]
    found = [
        " and ".join((*_arrays(own, [other for other in kinds if other is not own]), *_constants(group)))
        for own, group in zip(kinds, groups, strict=True)
    ]
    return [
        " and ".join((one, *_strides(group, [other for other, said in zip(groups, found, strict=True) if said == one])))
        for one, group in zip(found, groups, strict=True)
    ]


def _strides(group: Group, alike: Sequence[Group]) -> list[str]:
    """What tells the group from those of the same constants: which arrays have a last stride of 1."""
    own = _dense(group)
    differing = [
        name
        for name, dense in own.items()
        if len(dense) == 1 and any(_dense(other)[name].isdisjoint(dense) for other in alike)
    ]
    return [f"{name}.stride(-1) {'==' if True in own[name] else '!='} 1" for name in differing]


def _dense(group: Group) -> dict[str, set[bool]]:
    """By array whether its last stride is 1: always, never, or now and then."""
    found: dict[str, set[bool]] = {}
    for one in group:
        for parameter in one.parameters:
            if isinstance(parameter, Array):
                found.setdefault(parameter.name, set()).add(is_dense(parameter))
    return found


def _kinds(group: Group) -> dict[str, frozenset[tuple[str, int]]]:
    """Element types and ranks, by array."""
    found: dict[str, set[tuple[str, int]]] = {}
    for one in group:
        for parameter in one.parameters:
            if isinstance(parameter, Array):
                found.setdefault(parameter.name, set()).add((parameter.dtype, parameter.ndim))
    return {name: frozenset(kinds) for name, kinds in found.items()}


def _arrays(
    own: dict[str, frozenset[tuple[str, int]]], others: Sequence[dict[str, frozenset[tuple[str, int]]]]
) -> list[str]:
    found: dict[object, str] = {}
    for name, kinds in own.items():
        if all(other.get(name) == kinds for other in others):
            continue
        dtypes = sorted(f"torch.{dtype}" for dtype, _ in kinds)
        ranks = {rank for _, rank in kinds}
        said = f"{name}.dtype == {dtypes[0]}" if len(dtypes) == 1 else f"{name}.dtype in ({', '.join(dtypes)})"
        differ = any({rank for _, rank in other.get(name, ())} != ranks for other in others)
        if differ:
            said += f" and {name}.ndim == {ranks.pop()}"
        # Arrays that are of one type in every entry are asked about once: the launcher knows that they are.
        elsewhere = tuple(other.get(name) for other in others)
        found.setdefault((kinds, elsewhere, differ and name), said)
    return list(found.values())


def _constants(group: Group) -> list[str]:
    """One condition for each constant where all combinations were sampled, else one on all that vary together."""
    names = [p.name for p in group[0].parameters if isinstance(p, Constant)]
    rows = list(dict.fromkeys(tuple(_value(p) for p in one.parameters if isinstance(p, Constant)) for one in group))
    columns = {name: list(dict.fromkeys(row[place] for row in rows)) for place, name in enumerate(names)}
    fixed = [_is(name, values[0]) for name, values in columns.items() if len(values) == 1]
    varying = [name for name, values in columns.items() if len(values) > 1]
    combinations = 1
    for name in varying:
        combinations *= len(columns[name])
    if combinations == len(rows):
        return fixed + [f"{name} in ({', '.join(sorted(columns[name], key=_order))})" for name in varying]
    places = [names.index(name) for name in varying]
    tuples = sorted({tuple(row[place] for place in places) for row in rows}, key=lambda row: tuple(map(_order, row)))
    said = ", ".join(f"({', '.join(row)})" for row in tuples)
    return [*fixed, f"({', '.join(varying)}) in ({said})"]


def _value(parameter: Constant) -> str:
    return repr(ast.literal_eval(parameter.text)) if parameter.type in ("int", "float", "bool", "str") else "None"


def _is(name: str, text: str) -> str:
    return f"{name} is {text}" if text in ("None", "True", "False") else f"{name} == {text}"


def _order(text: str) -> tuple[float, str]:
    value = ast.literal_eval(text)
    return (float(value), "") if isinstance(value, int | float) else (0.0, text)
