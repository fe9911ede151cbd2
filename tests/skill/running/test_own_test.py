"""A kernel's own test: a case for each variant, the reference's results, a program built here and run on a GPU."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from tileport_skill.capture import stubs
from tileport_skill.capture.cache import cache_folder
from tileport_skill.capture.child import ASSEMBLER
from tileport_skill.capture.records import Capture
from tileport_skill.capture.session import capture
from tileport_skill.emit.cli import built_emitter
from tileport_skill.emit.entries import KernelModule
from tileport_skill.emit.program import Emitter
from tileport_skill.running.cases import Case, cases_of
from tileport_skill.running.crates import program_of
from tileport_skill.running.own_test import Built, own_test, run
from tileport_skill.running.program import NAME, main_text, manifest_text, write_crate
from tileport_skill.tilegym.operators import open_checkout, read_operators
from tileport_skill.tileir.assemble import tool

CHECKOUT = Path(__file__).parents[2] / "data" / "checkout"
KERNEL = CHECKOUT / "tilegym/ops/cutile_rs/scale_kernel/kernel.rs"
MANIFEST = """\
[package]
name = "cutile-kernels"
version = "0.1.0"
edition = "2024"

[lib]
name = "cutile_kernels"
crate-type = ["cdylib"]

[dependencies]
cutile = "=0.2.0"
cutile-compiler = "=0.2.0"
cutile-macro = "=0.2.0"
cuda-core = "=0.2.0"
cuda-async = { version = "=0.2.0" }
"""
"""TileGym's crate pins these."""


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> Capture:
    folder = tmp_path_factory.mktemp("captured")
    shutil.copytree(CHECKOUT, folder / "checkout")  # elsewhere, so that no conftest of ours is its own
    checkout = open_checkout(folder / "checkout")
    operators = [one for one in read_operators(checkout) if one.name == "scale"]
    return capture(checkout, operators, ["sm_90"], folder)[0]


@pytest.fixture(scope="module")
def modules() -> tuple[KernelModule, ...]:
    found = Emitter(built_emitter()).describe(KERNEL)
    assert isinstance(found, tuple)
    return found


@pytest.fixture(scope="module")
def cases(captured: Capture, modules: tuple[KernelModule, ...]) -> tuple[Case, ...]:
    found, left_out = cases_of(captured, modules)
    assert left_out == ()
    return found


def test_there_is_a_case_for_each_set_of_element_types_and_it_has_the_references_results(
    captured: Capture, cases: tuple[Case, ...]
) -> None:
    types = {"float32": "f32", "float16": "f16", "bfloat16": "bf16"}
    launched = {launch.arguments[0].dtype for launch in captured.launches}  # type: ignore[union-attr]
    assert {case.name for case in cases} == {f"scale_{types[dtype]}" for dtype in launched}
    for case in cases:
        x, y = (written.data.astype(np.float64) for written in case.outcome.buffers)
        factor = case.launch.arguments[-1]
        touched = case.outcome.buffers[1].touched
        assert touched.any()
        np.testing.assert_allclose(y[touched], x[touched] * factor, rtol=1e-2)


def test_a_variant_that_no_launch_can_be_run_of_is_left_out_and_said_to_be(
    captured: Capture, modules: tuple[KernelModule, ...]
) -> None:
    found, left_out = cases_of(captured, modules, operations=2)
    assert found == ()
    assert all("more than 2 operations" in one.why for one in left_out)
    assert left_out


def test_the_program_passes_each_entry_what_the_launch_passed(cases: tuple[Case, ...]) -> None:
    (case,) = (case for case in cases if case.name == "scale_f32")
    text = main_text([case])
    x, y = (buffer.data.size for buffer in case.launch.buffers)
    assert f"borrowed::<f32>(buffers[0].address, &[{x}], &[1])" in text
    assert f"borrowed::<f32>(buffers[1].address, &[{y}], &[1])" in text
    (bits,) = np.array([case.launch.arguments[-1]], np.float32).view(np.uint32)
    assert f"f32::from_bits({bits:#x})," in text
    assert f'.generics(vec!["f32".to_string(), "{case.request.generics[1]}".to_string()])' in text
    assert f".grid(({case.launch.grid[0]}, 1, 1))" in text
    assert 'const CASES: [(&str, Case); 1] = [\n    ("scale_f32", case_scale_f32),\n];' in text


def test_the_crate_has_the_ports_own_dependencies_and_is_no_part_of_it(tmp_path: Path, cases: tuple[Case, ...]) -> None:
    (tmp_path / "Cargo.toml").write_text(MANIFEST)
    write_crate(tmp_path / "made", KERNEL, tmp_path / "Cargo.toml", cases)
    text = (tmp_path / "made/Cargo.toml").read_text()
    assert text == manifest_text(MANIFEST)
    assert 'cutile = "=0.2.0"\n' in text
    assert 'cuda-async = { version = "=0.2.0" }\n' in text
    assert "[workspace]" in text
    assert "cdylib" not in text
    assert (tmp_path / "made/kernel.rs").read_bytes() == KERNEL.read_bytes()
    for case in cases:
        folder = tmp_path / "made/data" / case.name
        assert np.frombuffer((folder / "0.in").read_bytes(), case.launch.buffers[0].data.dtype).size
        assert (folder / "1.out").stat().st_size == case.launch.buffers[1].data.nbytes


@pytest.mark.soak  # compiles the crates
def test_it_builds_is_not_run_without_a_gpu_and_fails_on_one_that_computes_nothing(
    tmp_path: Path, captured: Capture, modules: tuple[KernelModule, ...]
) -> None:
    (tmp_path / "Cargo.toml").write_text(MANIFEST)
    found = own_test(tmp_path / "made", captured, KERNEL, tmp_path / "Cargo.toml", modules, tmp_path / "log")
    assert isinstance(found, Built), found
    assert "there is no GPU" in str(found.not_run)
    program = program_of(tmp_path / "made", NAME, tmp_path / "log")
    assert isinstance(program, Path)
    stood_in = tmp_path / "program"
    stood_in.write_text(f'#!/bin/sh\n{_stand_in(tmp_path)}\nexec {program} "$@"\n')
    stood_in.chmod(0o755)
    ran = run(stood_in, tmp_path / "made/data", found.cases, ())
    assert ran.not_run is None
    assert [one.split(": ")[0] for one in ran.failed] == list(found.cases)
    assert all("array 1, element 0" in one for one in ran.failed)
    assert len((tmp_path / "launches").read_text().splitlines()) == len(found.cases)


def _stand_in(folder: Path) -> str:
    """A driver that takes memory and launches, and computes nothing; for a shell to export."""
    assembler = folder / "tileiras"
    assembler.write_text(f'#!/bin/sh\nunset LD_PRELOAD\nexec "{sys.executable}" -S -E "{ASSEMBLER}" "$@"\n')
    assembler.chmod(0o755)
    given = {
        "LD_PRELOAD": stubs.preloaded(),
        "CUTILE_TILEIRAS_PATH": assembler,
        "TILEPORT_TILEIRDISASM": tool("tileirdisasm"),
        "TILEPORT_IR": cache_folder("ir"),
        "TILEPORT_LAUNCHES": folder / "launches",
        "HOME": os.environ["HOME"],
    }
    return "\n".join(f"export {name}='{value}'" for name, value in given.items())
