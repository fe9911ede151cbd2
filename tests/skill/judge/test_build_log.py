"""What is told of a build is the end of its log, however long that is."""

from __future__ import annotations

from pathlib import Path

from tileport_skill.judge.__main__ import _last_lines


def test_the_last_lines_are_told_without_those_that_only_name_crates(tmp_path: Path) -> None:
    log = tmp_path / "build.log"
    log.write_text("".join(f"   Compiling crate-{n}\n" for n in range(9)) + "error: no such thing\n")
    assert _last_lines(log) == "error: no such thing"


def test_of_a_log_without_end_only_the_end_is_read(tmp_path: Path) -> None:
    log = tmp_path / "build.log"
    with log.open("wb") as file:
        file.truncate(64 << 30)  # holes: nothing of it lies on the disk, all of it would lie in memory
        file.seek(0, 2)
        file.write(b"\nerror: no such thing\n")
    assert _last_lines(log).endswith("error: no such thing")
    assert len(_last_lines(log)) < 100_000
