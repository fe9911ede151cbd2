"""The two programs behind two functions: what they accept, what they refuse, and how a missing one sounds."""

from __future__ import annotations

import struct
import subprocess

import pytest

from tileport_skill.errors import MachineryError
from tileport_skill.tileir import assemble as module
from tileport_skill.tileir.assemble import Cubin, Refused, assemble, disassemble, tool
from tileport_skill.tileir.cubin import needs


def test_bytecode_comes_back_as_text_with_its_entry(gemm):
    text = disassemble(gemm("a_times_b", symbol="my_entry"))
    assert isinstance(text, str)
    assert text.startswith("entry @my_entry(%arg0: tile<ptr<f16>>")
    assert "mmaf" in text


@pytest.mark.parametrize("length", [0, 7, 100, 600])
def test_truncated_bytecode_is_refused_as_data(gemm, length):
    cut = gemm("a_times_b")[:length]
    refused = disassemble(cut)
    assert isinstance(refused, Refused)
    assert refused.tool == "tileirdisasm"
    assert isinstance(assemble(cut, "sm_90"), Refused)


def test_one_input_gives_one_cubin_on_every_run(gemm):
    bytecode = gemm("a_times_b", arch="sm_100")
    images = set()
    for _ in range(3):
        assemble.cache_clear()
        cubin = assemble(bytecode, "sm_100")
        assert isinstance(cubin, Cubin)
        images.add(cubin.image)
    assert len(images) == 1
    assert next(iter(images)).startswith(b"\x7fELF")


def test_remarks_name_the_load_instructions_chosen(gemm):
    cubin = assemble(gemm("a_times_b"), "sm_90")
    assert isinstance(cubin, Cubin)
    assert "TMA Load instruction" in cubin.remarks


def test_what_a_kernel_needs_is_read_off_its_cubin(gemm):
    cubin = assemble(gemm("a_times_b"), "sm_90")
    assert isinstance(cubin, Cubin)
    asked = needs(cubin.image)
    assert asked.instructions > 100
    assert asked.shared > 0
    assert asked.threads in (128, 256, 384)
    assert 0 < asked.registers <= 255
    assert asked.spills == 0
    with pytest.raises((ValueError, struct.error)):
        needs(b"no cubin")


@pytest.mark.parametrize("arch", ["sm_99", "gfx942", "", "sm_90 --sanitize=memcheck"])
def test_an_unknown_architecture_is_refused(gemm, arch):
    assert isinstance(assemble(gemm("a_times_b"), arch), Refused)


def test_a_missing_toolchain_is_our_failure_and_says_how_to_mend_it(monkeypatch, tmp_path):
    monkeypatch.setenv("TILEPORT_CUDA_HOME", str(tmp_path))
    with pytest.raises(MachineryError, match="TILEPORT_CUDA_HOME"):
        tool("tileiras")


def test_a_mounted_toolchain_is_preferred(monkeypatch, tmp_path):
    (tmp_path / "bin").mkdir()
    mounted = tmp_path / "bin" / "tileirdisasm"
    mounted.write_text("#!/bin/sh\necho mounted\n")
    mounted.chmod(0o755)
    monkeypatch.setenv("TILEPORT_CUDA_HOME", str(tmp_path))
    assert disassemble(b"") == "mounted\n"


def test_a_forbidden_personality_call_names_the_seccomp_rule(monkeypatch):
    def forbidden(command, **_):
        return subprocess.CompletedProcess(command, 1, "", "setarch: failed to set personality: not permitted")

    module._without_randomisation.cache_clear()
    monkeypatch.setattr(subprocess, "run", forbidden)
    with pytest.raises(MachineryError, match=r"personality.*0x0040000"):
        module._without_randomisation()
    module._without_randomisation.cache_clear()


def test_a_program_that_does_not_end_is_stopped(monkeypatch, tmp_path):
    (tmp_path / "bin").mkdir()
    mounted = tmp_path / "bin" / "tileirdisasm"
    mounted.write_text("#!/bin/sh\nsleep 60\n")
    mounted.chmod(0o755)
    monkeypatch.setenv("TILEPORT_CUDA_HOME", str(tmp_path))
    monkeypatch.setattr(module, "DISASSEMBLE_SECONDS", 0.3)
    refused = disassemble(b"")
    assert isinstance(refused, Refused)
    assert "did not end" in refused.reason
