"""Rust functions that are the same in every kernel: `idioms.rs` taken apart, so that a kernel gets those it uses."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from pathlib import Path

FILE = Path(__file__).with_name("idioms.rs")


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


def with_their_own(names: Iterable[str]) -> tuple[str, ...]:
    """The texts of `names` and of all that they call, in the order of the file."""
    known = all_idioms()
    wanted, waiting = set[str](), list(names)
    while waiting:
        name = waiting.pop()
        if name not in wanted:
            wanted.add(name)
            waiting += [other for other in known if other != name and re.search(rf"\b{other}\(", known[name])]
    return tuple(text for name, text in known.items() if name in wanted)
