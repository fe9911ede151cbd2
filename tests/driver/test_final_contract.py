"""The contract that a container left is believed of nothing: what it names is hashed again, and led nowhere else."""

from __future__ import annotations

import hashlib
from pathlib import Path

from tileport_driver.final_contract import again
from tileport_skill.pipeline.contract import Contract, Lack, Line


def line(path: str, content: bytes, kind: str = "build log") -> Line:
    return Line(kind=kind, path=path, by="program", sha256=hashlib.sha256(content).hexdigest())


def test_what_is_not_as_it_was_said_to_be_is_missing(tmp_path: Path) -> None:
    folder = tmp_path / "roles"
    folder.mkdir()
    (folder / "as.log").write_bytes(b"same")
    (folder / "changed.log").write_bytes(b"other")
    (tmp_path / "secret").write_bytes(b"secret")
    (folder / "link.log").symlink_to(tmp_path / "secret")
    said = Contract(
        outcome="inconclusive",
        files=(
            line("as.log", b"same"),
            line("changed.log", b"same"),
            line("gone.log", b"same"),
            line("../secret", b"secret"),
            line("link.log", b"secret"),
            line("tilegym/ops/cutile_rs/x.py", b"the tree is hashed elsewhere", kind="port"),
        ),
        missing=(Lack(kind="transcript", path="transcript.jsonl", why="x"),),
        uncounted=(),
    )
    found = again(said, folder)
    assert [one.path for one in found.files] == ["as.log", "tilegym/ops/cutile_rs/x.py"]
    assert [one.path for one in found.missing] == [
        "transcript.jsonl",
        "changed.log",
        "gone.log",
        "../secret",
        "link.log",
    ]
