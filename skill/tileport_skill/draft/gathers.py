"""Gathers and scatters at any mixture of numbers and tiles of indices: the Rust function for each, from its name.

`gather_at_scalar_lanes_2d` reads `ct.gather(array, (row, tile))` where the tile has two axes. Masks and offsets are
made axis by axis, in the order of cuTile Python's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

NAME = re.compile(
    r"(?P<operation>gather|scatter)_at_(?P<kinds>(?:scalar|lanes)(?:_(?:scalar|lanes))*)"
    r"(?P<strided>_strided)?(?P<padding>_or_minus_infinity)?(?P<unchecked>_unchecked)?(?P<where>_where)?(?P<after>_after)?"
)
RANKED = re.compile(r"(\w+)_([2-6])d")
AXES = "JKLMN"


def access_name(
    operation: str,
    kinds: Sequence[str],
    padding: str,
    *,
    checked: bool,
    masked: bool,
    after: bool,
    strided: bool = False,
) -> str:
    """`kinds` are `scalar` or `lanes`, one an axis of the array; `strided` says that the last stride may not be 1."""
    ends = ("" if checked else "_unchecked") + ("_where" if masked else "") + ("_after" if after else "")
    head = f"{operation}_at_{'_'.join(kinds)}{'_strided' if strided else ''}"
    return f"{head}{padding if checked or masked else ''}{ends}"


def access_text(name: str) -> str | None:
    """The function `name`, for tiles of one axis; None if it is not one of these."""
    found = NAME.fullmatch(name)
    if found is None or "lanes" not in found["kinds"]:
        return None
    kinds = found["kinds"].split("_")
    checked = not found["unchecked"]
    masked = bool(checked or found["where"])
    lines = [f"/// {line}" for line in _documentation(found, kinds)]
    lines.append(f"unsafe fn {name}<E: ElementType, const N: i32>(")
    lines += [f"    {parameter}," for parameter in _parameters(found, kinds, checked)]
    returns = {"gather": " -> Tile<E, { [N] }>", "scatter": " -> Token" if found["after"] else ""}[found["operation"]]
    lines.append(f"){returns} {{")
    lines += [f"    {line}" for line in _offset_and_mask(found, kinds, checked)]
    lines += [f"    {line}" for line in _access(found, masked)]
    return "\n".join([*lines, "}"])


def ranked(text: str, rank: int, known: Sequence[str]) -> str:
    """A function for tiles of one axis, for tiles of `rank` axes; so are the functions among `known` that it calls."""
    axes = ", ".join(AXES[-rank:])
    consts = ", ".join(f"const {axis}: i32" for axis in AXES[-rank:])
    text = re.sub(rf"\b({'|'.join(known)})(?=[<(])", rf"\1_{rank}d", text)
    text = text.replace("const N: i32", consts).replace("{ [N] }", f"{{ [{axes}] }}")
    text = text.replace("const_shape![N]", f"const_shape![{axes}]")
    ones = ", ".join("1" * rank)
    return text.replace("{ [1] }", f"{{ [{ones}] }}").replace("const_shape![1]", f"const_shape![{ones}]")


def _documentation(found: re.Match[str], kinds: Sequence[str]) -> Iterator[str]:
    indices = ", ".join(f"index_{axis}" for axis in range(len(kinds)))
    indices = f"({indices})" if len(kinds) > 1 else indices
    value = ", value" if found["operation"] == "scatter" else ""
    outside = {"gather": "read zero", "scatter": "are not written"}[found["operation"]]
    outside = "read minus infinity" if found["padding"] else outside
    if found["unchecked"]:
        call = f"`ct.{found['operation']}(array, {indices}{value}, check_bounds=False)`"
        yield f"{call}: every index must be in the array."
    else:
        yield f"`ct.{found['operation']}(array, {indices}{value})`: lanes outside the array {outside}."
    if found["where"]:
        yield "So do those outside `selected`." if value == "" else "Nor are those outside `selected`."
    if found["after"]:
        yield "It happens behind what `after` stands for, which its own token replaces."


def _parameters(found: re.Match[str], kinds: Sequence[str], checked: bool) -> Iterator[str]:
    yield "array: *mut E"
    if checked:
        yield from (f"size_{axis}: i32" for axis in range(len(kinds)))
    yield from (f"stride_{axis}: i32" for axis in range(len(kinds) - (0 if found["strided"] else 1)))
    for axis, kind in enumerate(kinds):
        yield f"index_{axis}: {'i32' if kind == 'scalar' else 'Tile<i32, { [N] }>'}"
    if found["operation"] == "scatter":
        yield "value: Tile<E, { [N] }>"
    if found["where"]:
        yield "selected: Tile<bool, { [N] }>"
    if found["after"]:
        yield "after: Token"


def _offset_and_mask(found: re.Match[str], kinds: Sequence[str], checked: bool) -> Iterator[str]:
    like = f"index_{kinds.index('lanes')}"
    for axis, kind in enumerate(kinds):
        index, size = f"index_{axis}", f"size_{axis}"
        if checked:
            inside = f"row_inside({index}, {size}, {like})" if kind == "scalar" else f"inside({index}, {size})"
            yield f"let mask = {inside};" if not axis else f"let mask = mask & {inside};"
        wide = f"wide_{axis}"
        if kind == "scalar":
            yield f"let {wide} = lanes({index}, {like});"
        else:
            yield f"let {wide}: Tile<i64, {{ [N] }}> = exti({index});"
        dense = axis == len(kinds) - 1 and not found["strided"]
        step = wide if dense else f"{wide} * lanes(stride_{axis}, {like})"
        yield f"let offset = {step};" if not axis else f"let offset = offset + {step};"
    if found["where"]:
        yield "let mask = mask & selected;" if checked else "let mask = selected;"


def _access(found: re.Match[str], masked: bool) -> Iterator[str]:
    value = ", value" if found["operation"] == "scatter" else ""
    if found["operation"] == "gather":
        padding = "minus_infinity_of" if found["padding"] else "zero_of"
        call = f"read_masked(pointers, mask, {padding}(array))" if masked else "read(pointers, zero_of(array))"
    elif found["after"]:
        call = "write_after(pointers, value, mask, after)" if masked else ""
    else:
        call = f"write_masked(pointers{value}, mask)" if masked else f"write(pointers{value})"
    yield "let pointers = addresses(array, offset);"
    yield f"unsafe {{ {call} }}" + (";" if found["operation"] == "scatter" and not found["after"] else "")
