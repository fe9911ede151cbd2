"""Looks through every file the agent's container will see for traces of the hidden port.

The agent's tree is unfolded and read whole. What changes rarely and is large (toolchain, image layers) is first
searched by `grep` for the port's own names and lines, plain and in base64; what it names is then read like the rest. A
place found clean is not searched again for the same port while its files' names, sizes and times stand.
"""

from __future__ import annotations

import base64
import hashlib
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tileport_driver.host.paths import cache_dir
from tileport_driver.leaks.fingerprints import Fingerprints, trace
from tileport_driver.leaks.unfold import ARCHIVES, texts
from tileport_driver.records import Leak, LeakScan, ScannedPlace
from tileport_skill.errors import MachineryError

_CHUNK = 32 * 2**20
_OVERLAP = 64 * 2**10
_MOST_LEAKS = 20
_MOST_LINES = 300
_BASE64_SAMPLE = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One tree of files, read-only to the container or not."""

    name: str
    root: Path
    large: bool = False
    """Search by `grep` first, and remember what was clean."""
    fixed: bool = False
    """The name says what is in it, as a layer's digest does."""
    names: Mapping[str, str] = field(default_factory=dict)
    """What files are called inside, where that differs from their path here."""


def scan(places: tuple[Place, ...], prints: Fingerprints) -> LeakScan:
    """Everything found, at most some of each place. Nothing to know again: nothing is looked through."""
    scanned: list[ScannedPlace] = []
    leaks: list[Leak] = []
    seen: set[bytes] = set()
    for place in () if prints.none else places:
        files = _stamps(place.root)
        size = sum(stamp[1] for stamp in files)
        mark = _mark(place, files, prints) if place.large or place.fixed else None
        known_clean = mark is not None and mark.exists()
        found = [] if known_clean else list(_search(place, [stamp[0] for stamp in files], prints, seen))
        if mark is not None and not found and not known_clean:
            mark.parent.mkdir(parents=True, exist_ok=True)
            mark.touch()
        scanned.append(ScannedPlace(name=place.name, files=len(files), bytes=size, known_clean=known_clean))
        leaks += found[:_MOST_LEAKS]
    return LeakScan(
        places=tuple(scanned),
        leaks=tuple(leaks),
        passages=int(prints.shingles.size),
        names=len(prints.telling | prints.names),
    )


def refuse(found: LeakScan, operator: str) -> None:
    """Raises `MachineryError` naming the leaks, so that no agent starts and no attempt is spent."""
    if not found.leaks:
        return
    words = "\n".join(f"  {leak}" for leak in found.leaks)
    raise MachineryError(
        f"the hidden port of {operator} still shows in what the agent would see, so no agent was started:\n{words}\n"
        "Take it out in a commit and give that with --base, or out of the place named; then resume the attempt."
    )


def _search(place: Place, paths: list[str], prints: Fingerprints, seen: set[bytes]) -> Iterator[Leak]:
    if place.large:
        archives = {path for path in paths if path.endswith(ARCHIVES)}
        paths = sorted(archives | _grep(place.root, prints))
    for path in paths:
        for how, text in _texts(place.root / path, seen):
            what = trace(text, prints)
            if what is not None:
                yield Leak(place=place.name, path=place.names.get(path, path), how=how, what=what)
                break


def _texts(path: Path, seen: set[bytes]) -> Iterator[tuple[str, bytes]]:
    """Each text in the file that was not met before: a repository holds every file once more as an object."""
    with path.open("rb") as file:
        chunk = file.read(_CHUNK)
        while chunk:
            for how, text in texts(chunk):
                digest = hashlib.sha256(text).digest()
                if digest not in seen:
                    seen.add(digest)
                    yield how, text
            rest = file.read(_CHUNK)
            chunk = chunk[-_OVERLAP:] + rest if rest else b""


def _grep(root: Path, prints: Fingerprints) -> set[str]:
    """Files that hold one of the port's telling names or lines; names and lines are searched literally."""
    patterns = sorted(prints.telling) + list(prints.lines[:_MOST_LINES])
    encoded = [form for pattern in patterns for form in _in_base64(pattern)]
    with tempfile.NamedTemporaryFile(prefix="tileport-patterns-") as file:
        file.write(b"\n".join([*patterns, *encoded]) + b"\n")
        file.flush()
        command = ["grep", "-rlaFZ", "--devices=skip", "-f", file.name, "."]
        done = subprocess.run(command, cwd=root, env={**os.environ, "LC_ALL": "C"}, capture_output=True, check=False)
    if done.returncode > 1:
        raise MachineryError(f"{root} could not be searched: {done.stderr.decode(errors='replace').strip()[:500]}")
    return {os.fsdecode(name)[2:] for name in done.stdout.split(b"\0") if name}


def _in_base64(pattern: bytes) -> Iterator[bytes]:
    """What a long enough pattern is in base64, wherever it begins, without the ends, which its neighbours decide."""
    sample = pattern[:_BASE64_SAMPLE]
    if len(sample) == _BASE64_SAMPLE:
        for shift in range(3):
            yield base64.b64encode(b"\0" * shift + sample)[4 if shift else 0 : -4]


def _stamps(root: Path) -> list[tuple[str, int, int, int]]:
    """(path, size, modified, changed) of every plain file, sorted; links are not followed."""
    found = []
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)  # noqa: PTH118 - tens of thousands
            status = os.lstat(path)
            if (status.st_mode & 0o170000) == 0o100000:
                relative = path[len(str(root)) + 1 :]
                found.append((relative, status.st_size, status.st_mtime_ns, status.st_ctime_ns))
    return sorted(found)


def clean_before(name: str, prints: Fingerprints) -> bool:
    """Whether a fixed place of that name was found clean of this port before."""
    return _mark(Place(name=name, root=Path(), fixed=True), [], prints).exists()


def _mark(place: Place, files: list[tuple[str, int, int, int]], prints: Fingerprints) -> Path:
    stamps = place.name if place.fixed else repr((str(place.root), files))
    return cache_dir() / "leak-scans" / f"{hashlib.sha256(os.fsencode(stamps)).hexdigest()[:24]}-{prints.key}"
