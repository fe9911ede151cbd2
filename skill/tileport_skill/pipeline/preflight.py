"""Whether this machine has what a port needs; a program, asked before any model is."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tileport_skill.capture.cache import cache_folder
from tileport_skill.emit.cli import built_emitter
from tileport_skill.emit.rust import MINIMUM, ensure_rust
from tileport_skill.emit.tools import cuda_folder
from tileport_skill.errors import MachineryError, RequestError
from tileport_skill.pipeline.work import Work
from tileport_skill.tilegym.port_files import port_files
from tileport_skill.tileir.assemble import tool

FREE_BYTES = 4 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing that was looked for."""

    what: str
    found: str | None
    """None: it is missing, and `otherwise` says what to do."""
    otherwise: str = ""


def look(work: Work) -> tuple[Item, ...]:
    return tuple(_items(work))


def _items(work: Work) -> Iterator[Item]:
    checkout, operator = work.place()
    there = [path for path in port_files(checkout, operator).new if (checkout.root / path).exists()]
    if work.task().drafted:
        yield Item(what="a program's draft", found=", ".join(there) or "none of its files")
    else:
        yield Item(
            what="no port in the way",
            found=None if there else "none",
            otherwise=f"Take it out first, or port another operator: {', '.join(there)}.",
        )
    writable = os.access(checkout.port_dir, os.W_OK)
    yield Item(what="checkout", found=str(checkout.root) if writable else None, otherwise="Make it writable.")
    tests = ", ".join(operator.tests) or "our own cases, since the checkout ships none"
    yield Item(what="tests", found=tests)
    free = shutil.disk_usage(work.root).free
    yield Item(
        what="disk",
        found=f"{free >> 30} GiB free" if free >= FREE_BYTES else None,
        otherwise=f"Free {FREE_BYTES >> 30} GiB below {work.root}.",
    )
    for package in ("cuda-tile", "torch", "nvidia-cuda-tileiras", "cffi"):
        yield _package(package)
    yield _tool("tileiras", lambda: Path(tool("tileiras")))
    yield _tool("tileirdisasm", lambda: Path(tool("tileirdisasm")))
    yield _tool("cuda.h", lambda: cuda_folder() / "include" / "cuda.h")
    yield _tool("cargo", lambda: ensure_rust(MINIMUM, cache_folder()).cargo)
    yield _tool("emitter", built_emitter)


def _package(name: str) -> Item:
    try:
        return Item(what=name, found=version(name))
    except PackageNotFoundError:
        return Item(what=name, found=None, otherwise=f"Install {name}, in the version that Tileport's lock names.")


def _tool(name: str, find: Callable[[], Path]) -> Item:
    try:
        path = find()
        there = f"{path} is not there; mend what names it." if not path.exists() else ""
        return Item(what=name, found=None if there else str(path), otherwise=there)
    except (MachineryError, RequestError) as error:
        return Item(what=name, found=None, otherwise=str(error))
