"""What the texts of a large tree have, by file, so that no port after the first makes us read the tree again.

A place that never changes (toolchain, image layers) is read whole once, every text unfolded. Kept are the hashes of
its words and of its winnowed shingles, each with the file it is in, sorted. A port is then looked up, and only the
files that have enough of it are read. What decides about a file is the same trace as elsewhere; a hash that two texts
share by chance only makes us read one file more.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from tileport_driver.host.paths import cache_dir
from tileport_driver.leaks import fingerprints, unfold
from tileport_driver.leaks.fingerprints import ENOUGH_NAMES, ENOUGH_SHINGLES, SHORTEST_NAME, Fingerprints
from tileport_driver.leaks.unfold import texts
from tileport_skill.errors import MachineryError

Pairs = NDArray[np.uint64]
"""Sorted: a hash of 40 bits, then the number of a file in 24."""

CHUNK = 32 * 2**20
OVERLAP = 64 * 2**10
_FORMAT = b"2"
_FILE_BITS = 24
_KINDS = ("words", "shingles", "digests")
_BATCH = 8_000_000
_WORTH_IT, _MOST_READERS = 2**27, 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """What a file looked like when it was last looked at."""

    size: int
    modified: int
    touched: int
    """Content, owner, mode or number of links changed then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """Of one place; `folder` holds an array for each kind and the files' names."""

    folder: Path

    def files(self, prints: Fingerprints) -> list[str]:
        """Those that may have a trace of the port: all that do, and hardly another."""
        if prints.none:
            return []
        telling, names = _words(prints.telling), _words(prints.names)
        wholes = _digests(prints.digests)
        words, shingles, digests = (np.load(self.folder / f"{kind}.npy", mmap_mode="r") for kind in _KINDS)
        found = _at_least(words, telling, 1) | _at_least(words, names, ENOUGH_NAMES) | _at_least(digests, wholes, 1)
        found |= _at_least(shingles, prints.shingles >> np.uint64(_FILE_BITS), ENOUGH_SHINGLES)
        paths = list(self.sizes()) if found else []
        return sorted(paths[number] for number in found)

    def sizes(self) -> dict[str, int]:
        """Every file that was read, in the order of their numbers, with its bytes."""
        return {path: size for path, (size, _, _) in self._files().items()}

    def stands(self, root: Path, stamps: Mapping[str, Stamp]) -> bool:
        """Whether files that were touched since hold what they held: a hard link made or removed touches one."""
        files = self._files()
        touched = {path: stamp for path, stamp in stamps.items() if files[path][1] != stamp.touched}
        if any(_file_digest(root / path) != files[path][2] for path in touched):
            return False
        if touched:
            files |= {path: (stamp.size, stamp.touched, files[path][2]) for path, stamp in touched.items()}
            _write_files(self.folder, files)
        return True

    def _files(self) -> dict[str, tuple[int, int, str]]:
        """Size, time of the last touch and SHA-256 of each."""
        found = json.loads((self.folder / "files.json").read_bytes())
        return {path: (size, touched, digest) for path, (size, touched, digest) in found.items()}


def index_of(identity: str) -> Index | None:
    """The index of what is named so, if it has been read."""
    folder = _folder(identity)
    return Index(folder=folder) if folder.is_dir() else None


def make_index(identity: str, root: Path, stamps: Mapping[str, Stamp], anew: bool = False) -> Index:
    """Reads every file, unless another process just has: one reader at a time on a machine."""
    folder = _folder(identity)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if anew or not folder.is_dir():
            part = folder.parent / "part"
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir()
            digests = {path: _file_digest(root / path) for path in stamps}  # first: what changes meanwhile is noticed
            _save(part, _read_all(root, {path: stamp.size for path, stamp in stamps.items()}, part))
            _write_files(part, {path: (stamp.size, stamp.touched, digests[path]) for path, stamp in stamps.items()})
            shutil.rmtree(folder, ignore_errors=True)
            part.rename(folder)
    return Index(folder=folder)


def _file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write_files(folder: Path, files: Mapping[str, tuple[int, int, str]]) -> None:
    part = folder / f"files-{os.getpid()}.part"
    part.write_text(json.dumps(files), encoding="utf-8")
    part.replace(folder / "files.json")


def file_texts(path: Path) -> Iterator[tuple[str, bytes]]:
    """Each text in a file, with how it was come by. Large ones are read in pieces that overlap."""
    with path.open("rb") as file:
        chunk = file.read(CHUNK)
        while chunk:
            yield from texts(chunk)
            rest = file.read(CHUNK)
            chunk = chunk[-OVERLAP:] + rest if rest else b""


def _read_all(root: Path, sizes: Mapping[str, int], part: Path) -> tuple[Pairs, ...]:
    """By as many processes as there are processors, where it is worth it; largest files first, dealt out in turn."""
    numbered = sorted(enumerate(sizes), key=lambda one: -sizes[one[1]])
    if sum(sizes.values()) < _WORTH_IT:
        return _read(root, numbered)
    readers = []
    for turn in range(count := min(os.cpu_count() or 1, _MOST_READERS)):
        share = part / f"reader-{turn}"
        share.mkdir()
        (share / "files.json").write_text(json.dumps(numbered[turn::count]), encoding="utf-8")
        readers.append((share, subprocess.Popen([sys.executable, "-m", __name__, str(root), str(share)])))
    if any([reader.wait() != 0 for _, reader in readers]):
        raise MachineryError(f"{root} could not be read for the leak scan; see above. Then resume the attempt.")
    shares = [[np.load(share / f"{kind}.npy") for kind in _KINDS] for share, _ in readers]
    for share, _ in readers:
        shutil.rmtree(share)
    return tuple(np.unique(np.concatenate(same)) for same in zip(*shares, strict=True))


def _read(root: Path, numbered: list[tuple[int, str]]) -> tuple[Pairs, ...]:
    kinds = (_Gathered(), _Gathered(), _Gathered())
    begun_by = os.getppid()
    for number, path in numbered:
        for _, text in file_texts(root / path):
            for found, hashes in zip(kinds, _hashes(text), strict=True):
                found.add((hashes << np.uint64(_FILE_BITS)) | np.uint64(number))
        if os.getppid() != begun_by:  # killed; nobody waits for what is read
            raise SystemExit(1)
    return tuple(found.all() for found in kinds)


def _save(folder: Path, kinds: tuple[Pairs, ...]) -> None:
    for kind, pairs in zip(_KINDS, kinds, strict=True):
        np.save(folder / f"{kind}.npy", pairs)


class _Gathered:
    """Pairs as they come, put together now and then."""

    def __init__(self) -> None:
        self._parts: list[Pairs] = []
        self._sorted = np.empty(0, np.uint64)
        self._waiting = 0

    def add(self, pairs: Pairs) -> None:
        self._parts.append(pairs)
        self._waiting += len(pairs)
        if self._waiting > _BATCH:
            self.all()

    def all(self) -> Pairs:
        self._sorted = np.unique(np.concatenate([self._sorted, *self._parts]))
        self._parts, self._waiting = [], 0
        return self._sorted


def _hashes(text: bytes) -> tuple[Pairs, Pairs, Pairs]:
    words = fingerprints.words_of(text)
    shingles = np.unique(fingerprints.shingles(words) >> np.uint64(_FILE_BITS))
    return _words(words), shingles, _digests([fingerprints.digest(text)])


def _words(words: Iterable[bytes]) -> Pairs:
    long = {word for word in words if len(word) >= SHORTEST_NAME}
    return np.fromiter(map(zlib.crc32, long), np.uint64, len(long))


def _digests(digests: Iterable[str]) -> Pairs:
    return np.array([int(digest[:10], 16) for digest in digests], np.uint64)


def _at_least(pairs: Pairs, wanted: Pairs, count: int) -> set[int]:
    """The files that have `count` of the wanted hashes or more."""
    wanted = np.unique(wanted) << np.uint64(_FILE_BITS)
    first = np.searchsorted(pairs, wanted)
    last = np.searchsorted(pairs, wanted + np.uint64(1 << _FILE_BITS))
    ranges = [pairs[a:b] & np.uint64((1 << _FILE_BITS) - 1) for a, b in zip(first, last, strict=True) if b > a]
    if not ranges:
        return set()
    numbers, counts = np.unique(np.concatenate(ranges), return_counts=True)
    return set(cast(list[int], numbers[counts >= count].tolist()))


def _folder(identity: str) -> Path:
    """Named by the place and by how texts are read, so that a changed reader reads anew."""
    digest = hashlib.sha256(os.fsencode(identity))
    digest.update(_FORMAT)
    for module in (fingerprints, unfold):
        digest.update(Path(cast(str, module.__file__)).read_bytes())
    return cache_dir() / "leak-indexes" / digest.hexdigest()[:24]


if __name__ == "__main__":
    _share = Path(sys.argv[2])
    _save(_share, _read(Path(sys.argv[1]), json.loads((_share / "files.json").read_bytes())))
