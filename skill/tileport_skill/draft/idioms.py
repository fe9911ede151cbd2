"""Rust functions that are the same in every kernel: `idioms.rs` taken apart, so that a kernel gets those it uses."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from pathlib import Path

from tileport_skill.draft.gathers import RANKED, access_text, ranked

FILE = Path(__file__).with_name("idioms.rs")
ACCESSES = ("read_masked", "read", "write_masked", "write", "write_after")
"""The functions that touch memory. cuTile 0.2.0 wants their latency written out, so each latency has its own."""
DECLARED = "_declared"
"""Ends the name of what stands for an idiom in kernels that may declare operations."""
BY_AXES = ("lanes", "unsigned_lanes", "inside", "row_inside", "addresses", *ACCESSES)
"""The functions that are written for tiles of one axis, and made for tiles of more."""
LATENCY = re.compile(r"(\w+)_latency_(\d+)")


@functools.cache
def all_idioms() -> dict[str, str]:
    """Each function with its documentation and attributes, by name, in the order of the file."""
    parts = FILE.read_text(encoding="utf-8").split("\n\n")[1:]
    found: dict[str, str] = {}
    for part in parts:
        name = re.search(r"\bfn (\w+)", part)
        assert name is not None, part
        found[name[1]] = part.strip("\n")
    return found


def with_latency(name: str, latency: str | None) -> str:
    """The idiom `name` whose accesses are hinted to take `latency`."""
    return name if latency is None else f"{name}_latency_{latency}"


def with_their_own(names: Iterable[str], *, declare: bool) -> tuple[str, ...]:
    """The texts of `names` and of all that they call, in the order of the file.

    With `declare`, those that may declare operations of Tile IR themselves are exact where the others convert.
    """
    texts: dict[str, str] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in texts:
            declared = f"{name}{DECLARED}"
            if declare and declared in all_idioms():
                texts[name] = all_idioms()[declared].replace(declared, name)
            else:
                texts[name] = _text(name)
            code = "\n".join(line for line in texts[name].splitlines() if not line.startswith("///"))
            called = re.findall(r"\b(\w+)\(", code)
            waiting += [other for other in called if other != name and is_idiom(other)]
    return tuple(texts[name] for name in sorted(texts, key=_place))


def _base(name: str) -> str:
    """The function of one axis and of no latency that `name` is made from."""
    for ending in (LATENCY, RANKED):
        found = ending.fullmatch(name)
        name = found[1] if found else name
    return name


def _place(name: str) -> tuple[int, str]:
    """Accesses that are made up stand behind those of the file."""
    order = list(all_idioms())
    return (order.index(_base(name)) if _base(name) in order else len(order), name)


def is_idiom(name: str) -> bool:
    base = _base(name)
    return base in all_idioms() or access_text(base) is not None


def _text(name: str) -> str:
    if found := LATENCY.fullmatch(name):
        return _hinted(*found.groups())
    if found := RANKED.fullmatch(name):
        base, rank = found[1], int(found[2])
        padded = base in ("read_masked", "read")  # by a tile of several axes, or not at all
        source = _text(f"{base}_ranked").replace(f"{base}_ranked", base) if padded else _text(base)
        return ranked(source, rank, (*BY_AXES, base))
    return access_text(name) or all_idioms()[name]


def _hinted(base: str, latency: str) -> str:
    renamed = "|".join((base, *(rf"{access}(?:_\dd)?" for access in ACCESSES)))
    text = re.sub(rf"\b({renamed})(?=[<(])", rf"\1_latency_{latency}", _text(base))
    text = re.sub(r"/// (.*)$", rf"/// \1 Memory is hinted to take {latency} of 10.", text, count=1, flags=re.MULTILINE)
    return text.replace("Latency::<0>", f"Latency::<{latency}>")
