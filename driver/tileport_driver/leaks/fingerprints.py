"""What a text is known again by: winnowed shingles of its words, the names it defines, the hash of a whole file. Pure.

Only words count, in their order, so that indentation, comment signs, quotes and another layout change nothing. Of every
`SHINGLE + WINDOW - 1` words in a row that two texts share at least one fingerprint is shared (Schleimer et al., 2003).
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Shingles = NDArray[np.uint64]
"""Hashes, sorted, each once."""

SHINGLE = 9
WINDOW = 6
_WORD = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*|[0-9]+")
_ESCAPES = re.compile(rb"\\[nrt]")
_MULTIPLIER, _SPREAD = 0xD6E8FEB86659FD93, 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1
_DEFINED = re.compile(
    rb"^\s*(?:async\s+)?(?:def|class)\s+(\w+)|^(\w+)\s*(?::[^=\n]+)?=[^=]"
    rb"|\b(?:fn|mod|struct|enum|trait|const|static|type|macro_rules!)\s+(\w+)",
    re.MULTILINE,
)
SHORTEST_NAME = 6
_SHORTEST_TELLING_NAME = 8
_SMALLEST_FILE = 64
ENOUGH_SHINGLES = 4
ENOUGH_NAMES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprints:
    """Of one hidden port: what nothing but the port has, as far as the rest of its own checkout says."""

    shingles: Shingles
    telling: frozenset[bytes]
    """Names that the port alone defines and that carry the operator's name: one of them is enough."""
    names: frozenset[bytes]
    """Other names that the port alone defines: several of them together are enough."""
    digests: frozenset[str]
    """SHA-256 of the files that went, whole."""

    @property
    def none(self) -> bool:
        """Nothing was hidden that could be known again."""
        return not (self.shingles.size or self.digests)

    @property
    def key(self) -> str:
        """Names these fingerprints."""
        words = b"\0".join(sorted((*self.telling, *self.names, *(digest.encode() for digest in self.digests))))
        return hashlib.sha256(self.shingles.tobytes() + words).hexdigest()[:16]


def fingerprints(
    name: str, removed: Mapping[str, bytes], known: Mapping[str, bytes], public: frozenset[bytes] = frozenset()
) -> Fingerprints:
    """Of the texts `removed` with the port of `name`, less what the texts `known` to stay have of their own.

    Comments of `known` do not excuse code: a port copied into a comment of another file is still found there.
    Names in `public` are nobody's own.
    """
    whole, code = _of_all(removed.values()), _of_all(_code(removed))
    known_whole, known_code = _of_all(known.values()), _of_all(_code(known))
    shingles = np.setdiff1d(np.setdiff1d(whole, known_code), np.setdiff1d(known_whole, code))
    public = public | {word for text in known.values() for word in _WORD.findall(text)}
    defined = {word for text in _code(removed) for match in _DEFINED.findall(text) for word in match if word}
    own = {word for word in defined - public if len(word) >= SHORTEST_NAME}
    telling = {word for word in own if name.encode() in word and len(word) >= _SHORTEST_TELLING_NAME}
    return Fingerprints(
        shingles=shingles,
        telling=frozenset(telling),
        names=frozenset(own - telling),
        digests=digests(removed.values()),
    )


def digests(files: Iterable[bytes]) -> frozenset[str]:
    """SHA-256 of files that went, but for the smallest, which are alike everywhere."""
    return frozenset(digest(text) for text in files if len(text) >= _SMALLEST_FILE)


def words_of(text: bytes) -> list[bytes]:
    """The words of a text in their order; an escaped line end is none."""
    return _WORD.findall(_ESCAPES.sub(b" ", text))


def shingles(words: list[bytes]) -> Shingles:
    """The winnowed shingles of one text's words; none of fewer words than one shingle has."""
    if len(words) < SHINGLE:
        return np.empty(0, np.uint64)
    values = np.fromiter(map(zlib.crc32, words), np.uint64, len(words)) * np.uint64(_SPREAD)
    count = len(words) - SHINGLE + 1
    hashes = np.zeros(count, np.uint64)
    for at in range(SHINGLE):
        hashes += values[at : at + count] * np.uint64(pow(_MULTIPLIER, at, _MASK + 1))
    hashes ^= hashes >> np.uint64(29)
    if count > WINDOW:
        hashes = np.lib.stride_tricks.sliding_window_view(hashes, WINDOW).min(axis=1)
    return np.unique(hashes)


def shared(text: bytes, prints: Fingerprints) -> int:
    """How many shingles of the hidden port a text has."""
    return _shared(words_of(text), prints)


def trace(text: bytes, prints: Fingerprints) -> str | None:
    """What of the hidden port is in the text, in words for a person; None if it is clean."""
    if len(text) >= _SMALLEST_FILE and digest(text) in prints.digests:
        return "one of the hidden files, whole"
    if not prints.shingles.size:  # then nothing of the port was text
        return None
    words = words_of(text)
    telling = sorted(prints.telling.intersection(words))
    if telling:
        return f"the port's own name {telling[0].decode()}"
    names = sorted(prints.names.intersection(words))
    if len(names) >= ENOUGH_NAMES:
        return f"the port's own names {', '.join(name.decode() for name in names[:5])}"
    count = _shared(words, prints)
    return f"{count} passages of the port's text" if count >= ENOUGH_SHINGLES else None


def _shared(words: list[bytes], prints: Fingerprints) -> int:
    return len(np.intersect1d(shingles(words), prints.shingles, assume_unique=True))


def _of_all(texts: Iterable[bytes]) -> Shingles:
    found = [shingles(words_of(text)) for text in texts]
    return np.unique(np.concatenate(found)) if found else np.empty(0, np.uint64)


def _code(texts: Mapping[str, bytes]) -> list[bytes]:
    return [without_comments(path, text) for path, text in texts.items()]


def without_comments(path: str, text: bytes) -> bytes:
    """Roughly: a `#` or `//` within a string ends the line too, which only makes the scan a little keener."""
    if path.endswith(".py"):
        return re.sub(rb"(?m)#.*$", b"", text)
    if path.endswith((".rs", ".cuh", ".cu", ".h")):
        return re.sub(rb"(?m)//.*$", b"", re.sub(rb"/\*[\s\S]*?\*/", b"", text))
    return text


def digest(text: bytes) -> str:
    """SHA-256, as `Fingerprints.digests` has it."""
    return hashlib.sha256(text).hexdigest()
