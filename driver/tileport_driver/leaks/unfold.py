"""The texts within a file: as it stands, strings of a binary, git objects, archives, base64 and hexadecimal, nested.

What is unfolded is bounded in depth and size; a file that cannot be unfolded is looked at as it stands.
"""

from __future__ import annotations

import base64
import binascii
import bz2
import contextlib
import io
import lzma
import re
import shutil
import subprocess
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

_DEEPEST = 4
_LARGEST = 256 * 2**20
_LONG = 2**18
_STRINGS = re.compile(rb"[\x20-\x7e\t\r\n]{6,}")
_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{40,}(?:\r?\n[A-Za-z0-9+/_-]+)*={0,2}")
_HEX = re.compile(rb"(?:[0-9a-fA-F]{2}){40,}")
_GIT_HEADER = re.compile(rb"(?:blob|tree|commit|tag) [0-9]+\0")
_MAGIC: tuple[tuple[bytes, Callable[[bytes], bytes]], ...] = (
    (b"\x1f\x8b", lambda data: zlib.decompressobj(31).decompress(data, _LARGEST)),
    (b"BZh", lambda data: bz2.BZ2Decompressor().decompress(data, _LARGEST)),
    (b"\xfd7zXZ\0", lambda data: lzma.LZMADecompressor().decompress(data, _LARGEST)),
)
_UNREADABLE = (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, tarfile.TarError)


def texts(data: bytes, depth: int = 0) -> Iterator[tuple[str, bytes]]:
    """Each text within `data`, with how it was come by (empty: it stands there)."""
    binary = b"\0" in data[:8192]
    yield ("strings of a binary", _strings(data)) if binary else ("", data)
    if depth == _DEEPEST:
        return
    for how, inner in _inside(data, binary):
        for deeper, text in texts(inner, depth + 1):
            yield f"{how}: {deeper}" if deeper else how, text


def _strings(data: bytes) -> bytes:
    """binutils' program is ten times as fast; where it is not installed, or the data is small, it is not needed."""
    if len(data) > _LONG and shutil.which("strings"):
        command = ["strings", "--all", "--include-all-whitespace", "--bytes=6"]
        return subprocess.run(command, input=data, check=True, capture_output=True).stdout
    return b"\n".join(_STRINGS.findall(data))


def _inside(data: bytes, binary: bool) -> Iterator[tuple[str, bytes]]:
    yield from _compressed(data)
    yield from _archived(data)
    if data.startswith(b"PACK"):
        yield from _packed_by_git(data)
    if not binary:
        yield from _encoded(data.replace(b"\\n", b"\n"))


def _compressed(data: bytes) -> Iterator[tuple[str, bytes]]:
    if len(data) > 2 and data[0] == 0x78 and (data[0] << 8 | data[1]) % 31 == 0:
        with contextlib.suppress(zlib.error):
            inner = zlib.decompressobj().decompress(data, _LARGEST)
            header = _GIT_HEADER.match(inner)
            yield ("a git object", inner[header.end() :]) if header else ("compressed", inner)
    for magic, decompress in _MAGIC:
        if data.startswith(magic):
            with contextlib.suppress(*_UNREADABLE):
                yield "compressed", decompress(data)


def _archived(data: bytes) -> Iterator[tuple[str, bytes]]:
    if data.startswith(b"PK\3\4"):
        with contextlib.suppress(*_UNREADABLE, RuntimeError), zipfile.ZipFile(io.BytesIO(data)) as archive:
            for entry in archive.infolist():
                if entry.file_size <= _LARGEST:
                    yield f"archived as {entry.filename}", archive.read(entry)
    elif data[257:262] == b"ustar":
        with contextlib.suppress(*_UNREADABLE), tarfile.open(fileobj=io.BytesIO(data)) as tape:
            for member in tape:
                file = tape.extractfile(member) if member.isfile() else None
                if file is not None:
                    yield f"archived as {member.name}", file.read(_LARGEST)


def _packed_by_git(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Unpacked by git into a repository of ours; nothing but the pack itself is read."""
    with tempfile.TemporaryDirectory(prefix="tileport-pack-") as folder:
        environment = {"PATH": "/usr/bin:/bin:/usr/local/bin", "GIT_CONFIG_NOSYSTEM": "1", "HOME": "/nonexistent"}
        subprocess.run(["git", "init", "--quiet", "--bare", folder], check=False, env=environment, capture_output=True)
        unpack = ["git", f"--git-dir={folder}", "unpack-objects", "-q", "-r"]
        subprocess.run(unpack, input=data, check=False, env=environment, capture_output=True)
        for path in sorted(Path(folder, "objects").glob("??/*")):
            yield from _compressed(path.read_bytes())


def _encoded(data: bytes) -> Iterator[tuple[str, bytes]]:
    for match in _BASE64.finditer(data):
        run = re.sub(rb"[\r\n=]", b"", match[0]).translate(bytes.maketrans(b"-_", b"+/"))
        # A word that stands before it without a space shifts it by up to three characters.
        for shift in range(4):
            part = run[shift:]
            part = part[: len(part) - (len(part) % 4 == 1)]
            inner = base64.b64decode(part + b"=" * (-len(part) % 4))
            if _means_something(inner):
                yield "in base64", inner
                break
    for match in _HEX.finditer(data):
        with contextlib.suppress(binascii.Error):
            inner = binascii.unhexlify(match[0])
            if _means_something(inner):
                yield "in hexadecimal", inner


def _means_something(data: bytes) -> bool:
    """Text, or something that can be unfolded further: what is decoded from a mere word is neither."""
    if data.startswith((b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"PK\3\4", b"\x78\x01", b"\x78\x9c", b"\x78\xda")):
        return True
    sample = data[:256]
    return sum(byte in b"\t\r\n" or 32 <= byte < 127 for byte in sample) > 0.9 * len(sample)
