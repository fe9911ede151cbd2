"""The recorder keeps a copy of what an assembler is given, and the assembler's own behaviour."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import pytest

from tileport_skill.correctness.recorder import gather, write_recorder

ONE, OTHER = b"\x7fTileIR\x00one", b"\x7fTileIR\x00other"
ASSEMBLER = """#!/bin/sh
echo "$@"
cat "$1" > "$3" || exit 5
"""


@pytest.fixture
def recorder(tmp_path: Path) -> Path:
    assembler = tmp_path / "an assembler"
    assembler.write_text(ASSEMBLER, encoding="utf-8")
    assembler.chmod(0o755)
    write_recorder(tmp_path / "tileiras", tmp_path / "kept", assembler)
    return tmp_path / "tileiras"


def assemble(recorder: Path, content: bytes, name: str = "kernel.bc") -> subprocess.CompletedProcess[str]:
    (recorder.parent / name).write_bytes(content)
    arguments = [str(recorder.parent / name), "-o", str(recorder.parent / "out.cubin"), "--gpu-name=sm_90"]
    return subprocess.run([str(recorder), *arguments], capture_output=True, text=True, check=False)


def test_the_real_assembler_gets_every_argument_and_its_status_is_the_status(recorder: Path) -> None:
    done = assemble(recorder, ONE)
    assert done.returncode == 0
    assert done.stdout.split()[1:] == ["-o", str(recorder.parent / "out.cubin"), "--gpu-name=sm_90"]
    assert (recorder.parent / "out.cubin").read_bytes() == ONE
    failed = subprocess.run([str(recorder), "/no/such/file", "-o", "/dev/null"], capture_output=True, check=False)
    assert failed.returncode == 5


def test_bytecode_is_kept_once_under_its_hash(recorder: Path) -> None:
    for content in (ONE, OTHER, ONE):
        assemble(recorder, content)
    kept = recorder.parent / "kept"
    wanted = tuple(sorted(hashlib.sha256(content).hexdigest() for content in (ONE, OTHER)))
    assert gather(kept) == wanted
    assert sorted(path.name for path in kept.iterdir()) == [f"{digest}.tileirbc" for digest in wanted]


def test_what_is_no_bytecode_is_dropped(recorder: Path) -> None:
    assemble(recorder, b"an earlier cubin")
    assert gather(recorder.parent / "kept") == ()
    assert list((recorder.parent / "kept").iterdir()) == []


def test_a_name_with_spaces_is_kept_too(recorder: Path) -> None:
    assemble(recorder, ONE, "a kernel.bc")
    assert len(gather(recorder.parent / "kept")) == 1
