"""Looks through every file the agent's container will see for traces of the hidden port.

The agent's tree is unfolded and read whole. What changes rarely and is large (toolchain, image layers) is read whole
once for all ports, as long as its files' names, sizes and times stand; then only what may have a trace is (`index.py`).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tileport_driver.leaks.fingerprints import Fingerprints, trace
from tileport_driver.leaks.index import Stamp, file_texts, index_of, make_index
from tileport_driver.records import Leak, LeakScan, ScannedPlace
from tileport_skill.errors import MachineryError

_MOST_LEAKS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One tree of files, read-only to the container or not."""

    name: str
    root: Path
    large: bool = False
    """Read once for all ports; then only what may have a trace (`index.py`)."""
    identity: str | None = None
    """Says what is in it, as a layer's digest does. None: names, sizes and times of its files do."""
    names: Mapping[str, str] = field(default_factory=dict)
    """What files are called inside, where that differs from their path here."""


def scan(places: tuple[Place, ...], prints: Fingerprints) -> LeakScan:
    """Everything found, at most some of each place. Nothing to know again: nothing is looked through."""
    scanned: list[ScannedPlace] = []
    leaks: list[Leak] = []
    seen: set[bytes] = set()
    for place in () if prints.none else places:
        sizes, paths, known_clean = _to_read(place, prints)
        found = list(_search(place, paths, prints, seen))
        total = sum(sizes.values())
        scanned.append(ScannedPlace(name=place.name, files=len(sizes), bytes=total, known_clean=known_clean))
        leaks += found[:_MOST_LEAKS]
    return LeakScan(
        places=tuple(scanned),
        leaks=tuple(leaks),
        passages=int(prints.shingles.size),
        names=len(prints.telling | prints.names),
    )


def _to_read(place: Place, prints: Fingerprints) -> tuple[Mapping[str, int], Iterable[str], bool]:
    """Every file with its size; those that must be read; whether an earlier reading says that none must."""
    if not place.large:
        sizes = {path: stamp.size for path, stamp in _stamps(place.root).items()}
        return sizes, sizes, False
    stamps = _stamps(place.root) if place.identity is None else None
    identity = place.identity or _identity(place.root, stamps or {})
    there = index_of(identity)
    stale = there is not None and stamps is not None and not there.stands(place.root, stamps)
    if there is None or stale:
        index = make_index(identity, place.root, stamps or _stamps(place.root), anew=stale)
        return index.sizes(), index.files(prints), False
    files = there.files(prints)
    return there.sizes(), files, not files


def _identity(root: Path, stamps: Mapping[str, Stamp]) -> str:
    return repr((str(root), [(path, stamp.size, stamp.modified) for path, stamp in stamps.items()]))


def refuse(found: LeakScan, operator: str) -> None:
    """Raises `MachineryError` naming the leaks, so that no agent starts and no attempt is spent."""
    if not found.leaks:
        return
    words = "\n".join(f"  {leak}" for leak in found.leaks)
    raise MachineryError(
        f"the hidden port of {operator} still shows in what the agent would see, so no agent was started:\n{words}\n"
        "Take it out in a commit and give that with --base, or out of the place named; then resume the attempt."
    )


def _search(place: Place, paths: Iterable[str], prints: Fingerprints, seen: set[bytes]) -> Iterator[Leak]:
    for path in paths:
        for how, text in _new_texts(place.root / path, seen):
            what = trace(text, prints)
            if what is not None:
                yield Leak(place=place.name, path=place.names.get(path, path), how=how, what=what)
                break


def _new_texts(path: Path, seen: set[bytes]) -> Iterator[tuple[str, bytes]]:
    """Each text in the file that was not met before: a repository holds every file once more as an object."""
    for how, text in file_texts(path):
        digest = hashlib.sha256(text).digest()
        if digest not in seen:
            seen.add(digest)
            yield how, text


def _stamps(root: Path) -> dict[str, Stamp]:
    """Every plain file, sorted; links are not followed."""
    found = {}
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)  # noqa: PTH118 - tens of thousands
            status = os.lstat(path)
            if (status.st_mode & 0o170000) == 0o100000:
                stamp = Stamp(size=status.st_size, modified=status.st_mtime_ns, touched=status.st_ctime_ns)
                found[path[len(str(root)) + 1 :]] = stamp
    return dict(sorted(found.items()))
