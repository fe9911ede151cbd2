"""The port's kernel, interpreted where the operator launches its own, against PyTorch by the operator's tests."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tileport_skill.capture.session import capture
from tileport_skill.emit.cli import built_emitter
from tileport_skill.emit.program import Emitter
from tileport_skill.pipeline.validators.second import agreed
from tileport_skill.running.in_place import against_pytorch
from tileport_skill.running.pytorch import Agreement
from tileport_skill.tilegym.operators import find_operator, open_checkout, read_operators

CHECKOUT = Path(__file__).parents[2] / "data" / "checkout"
KERNEL = CHECKOUT / "tilegym/ops/cutile_rs/scale_kernel/kernel.rs"
Run = Callable[[Path], Agreement]


@pytest.fixture(scope="module")
def agreement(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """What is found of the operator's one kernel with a kernel.rs."""
    folder = tmp_path_factory.mktemp("in_place")
    shutil.copytree(CHECKOUT, folder / "checkout")  # elsewhere, so that no conftest of ours is its own
    checkout = open_checkout(folder / "checkout")
    operator = find_operator(read_operators(checkout), "scale")
    captured = capture(checkout, [operator], ["sm_90"], folder)[0]
    emitter = Emitter(built_emitter())

    def run(kernel: Path) -> Agreement:
        modules = emitter.describe(kernel)
        assert isinstance(modules, tuple)
        (found,) = against_pytorch(checkout, operator, captured, kernel, modules, emitter, folder / kernel.parent.name)
        return found

    return run


def test_a_right_kernel_agrees_and_it_is_the_ports_that_ran(agreement: Run) -> None:
    found = agreement(KERNEL)
    assert found.agrees, found
    assert not found.foreign
    assert agreed([found]) == ([], ["interpreted, 1 of 1 kernels agree with PyTorch in the operator's own tests"])


def test_a_wrong_one_disagrees_and_is_the_kernels_fault(agreement: Run, tmp_path: Path) -> None:
    wrong = tmp_path / "kernel.rs"
    wrong.write_text(KERNEL.read_text().replace("tile * factor", "tile + factor"))
    found = agreement(wrong)
    assert found.disagrees
    (problem,), _ = agreed([found])
    assert problem.owner == "fail-kernel"
    assert "_scale_kernel interpreted disagrees with PyTorch: 1 of 1 tests failed" in problem.text


def test_what_was_not_captured_as_it_is_launched_is_shown_for_nothing() -> None:
    why = "it was launched as it was not captured"
    problems, facts = agreed([Agreement("scale", "_scale_kernel", foreign=True, reason=why)])
    assert problems == []
    assert facts[1] == f"_scale_kernel was not shown against PyTorch: {why}"
