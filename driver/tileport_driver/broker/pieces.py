"""Whether a text holds a secret in pieces, cut by quotes, spaces, comment signs or lines; encoded or backwards too.

Pieces shorter than those kept, with other words between them, cannot be recognised. Of a secret only hashes of its
pieces are kept, so that a worker which never had the secret knows it again.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets as randomness
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from tileport_driver.broker.masking import forms_of

PIECE = 12
"""Letters and digits. Of a random key that many are found nowhere else."""
_SEPARATORS = re.compile(r"[^A-Za-z0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pieces:
    """Salted hashes of every piece of some secrets."""

    salt: str
    hashes: tuple[str, ...]

    def in_text(self, text: str) -> bool:
        known = frozenset(self.hashes)
        joined = _SEPARATORS.sub("", text)
        return bool(known) and any(
            _hash(self.salt, piece) in known for way in (joined, joined[::-1]) for piece in _pieces(way)
        )


def pieces_of(secrets: Iterable[str], salt: str = "") -> Pieces:
    """Of those that are long enough to be told from anything else."""
    salt = salt or randomness.token_hex(16)
    long = [secret for secret in secrets if len(_SEPARATORS.sub("", secret)) >= PIECE]
    forms = {form for secret in long for way in (secret, secret[::-1]) for form in forms_of(way)}
    found = {_hash(salt, piece) for form in forms for piece in _pieces(_SEPARATORS.sub("", form))}
    return Pieces(salt=salt, hashes=tuple(sorted(found)))


def remember(path: Path, secrets: Iterable[str]) -> None:
    """For who goes on with the attempt, beside what was remembered before; readable by its owner alone."""
    before = remembered(path)
    pieces = pieces_of(secrets, before.salt if before is not None else "")
    if before is not None:
        pieces = replace(pieces, hashes=tuple(sorted({*before.hashes, *pieces.hashes})))
    part = path.with_suffix(".part")
    with os.fdopen(os.open(part, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "w") as file:
        json.dump(asdict(pieces), file)
    part.replace(path)


def remembered(path: Path) -> Pieces | None:
    if not path.is_file():
        return None
    found = json.loads(path.read_text(encoding="utf-8"))
    return Pieces(salt=found["salt"], hashes=tuple(found["hashes"]))


def _pieces(joined: str) -> Iterator[str]:
    return (joined[at : at + PIECE] for at in range(len(joined) - PIECE + 1))


def _hash(salt: str, piece: str) -> str:
    return hashlib.blake2b(piece.encode(), key=salt.encode(), digest_size=12).hexdigest()
