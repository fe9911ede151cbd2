"""Rust functions that are the same in every kernel: `idioms.rs` taken apart, so that a kernel gets those it uses."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from pathlib import Path

FILE = Path(__file__).with_name("idioms.rs")
ACCESSES = ("read_masked", "read", "write_masked", "write", "write_after")
"""The functions that touch memory. cuTile 0.2.0 wants their latency written out, so each latency has its own."""
DECLARED = "_declared"
"""Ends the name of what stands for an idiom in kernels that may declare operations."""
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
            waiting += [other for other in called if other != name and _base(other) in all_idioms()]
    order = list(all_idioms())
    return tuple(texts[name] for name in sorted(texts, key=lambda name: (order.index(_base(name)), name)))


def _base(name: str) -> str:
    found = LATENCY.fullmatch(name)
    return found[1] if found else name


def _text(name: str) -> str:
    found = LATENCY.fullmatch(name)
    if not found:
        return all_idioms()[name]
    base, latency = found.groups()
    renamed = "|".join((base, *ACCESSES))
    text = re.sub(rf"\b({renamed})(?=[<(])", rf"\1_latency_{latency}", all_idioms()[base])
    text = re.sub(r"/// (.*)$", rf"/// \1 Memory is hinted to take {latency} of 10.", text, count=1, flags=re.MULTILINE)
    return text.replace("Latency::<0>", f"Latency::<{latency}>")
