"""A folder of dumped Tile IR is read whole, and nothing in it is trusted to be what it is called."""

from __future__ import annotations

from pathlib import Path

import pytest

from tileport_skill.capture.cache import read_bytecode
from tileport_skill.capture.records import Capture
from tileport_skill.capture.triton import read_dump
from tileport_skill.errors import RequestError


def test_bytecode_is_found_by_content_and_broken_files_say_why(captured: Capture, tmp_path: Path) -> None:
    ir = next(s.ir for s in captured.specialisations if s.ir is not None)
    bytecode = read_bytecode(ir.sha256)
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "kernel.bin").write_bytes(bytecode)
    (tmp_path / "broken.tileirbc").write_bytes(bytecode[:60])
    (tmp_path / "notes.txt").write_text("not a kernel")
    broken, whole = read_dump(tmp_path)
    assert (whole.file, whole.symbol, whole.sha256) == ("deep/kernel.bin", captured.symbol, ir.sha256)
    assert (broken.file, broken.symbol) == ("broken.tileirbc", None)
    assert broken.refused


@pytest.mark.parametrize("folder", ["none", "."])
def test_a_folder_without_tile_ir_is_an_error(tmp_path: Path, folder: str) -> None:
    with pytest.raises(RequestError, match=r"is no folder|holds no Tile IR"):
        read_dump(tmp_path / folder)


def test_a_folder_of_tritons_texts_says_how_to_get_bytecode(tmp_path: Path) -> None:
    (tmp_path / "kernel.tileIR").write_text("cuda_tile.module @m {}")
    with pytest.raises(RequestError, match=r"holds no Tile IR bytecode\. Its \.tileIR files are text"):
        read_dump(tmp_path)
