"""What the doctor says of a machine, with an `nvidia-smi` that answers as the real one did on an H200."""

from __future__ import annotations

from pathlib import Path

import pytest

from tileport_driver.gpu.host import gpu_arch, needs

H200 = "NVIDIA H200, 9.0, 580.159.04, 142000, 1980, 1980"


@pytest.fixture
def smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    script = tmp_path / "nvidia-smi"
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    return script


def answer(script: Path, line: str, status: int = 0) -> None:
    script.write_text(f"#!/bin/sh\necho '{line}'\nexit {status}\n")
    script.chmod(0o755)


def test_a_machine_without_a_gpu_is_told_what_to_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    first = needs()[0]
    assert (first.what, first.ok) == ("GPU", False)
    assert "NVIDIA GPU" in first.how
    assert gpu_arch() is None


def test_an_h200_lacks_nothing(smi: Path) -> None:
    answer(smi, H200)
    found = {need.what: need for need in needs()}
    assert all(found[what].ok for what in ("GPU", "driver", "free memory", "clocks", "tileiras", "torch"))
    assert found["GPU"].found == "NVIDIA H200, sm_90"
    assert gpu_arch() == "sm_90"


def test_an_old_driver_and_little_memory_are_named(smi: Path) -> None:
    answer(smi, "NVIDIA A10, 8.6, 535.54.03, 9000, 1000, 1695")
    found = {need.what: need for need in needs()}
    assert not found["driver"].ok
    assert not found["free memory"].ok
    assert "Not locked" in found["clocks"].how


def test_a_gpu_that_fell_off_the_bus_is_none(smi: Path) -> None:
    answer(smi, "Unable to determine the device handle for GPU", status=15)
    assert not needs()[0].ok
