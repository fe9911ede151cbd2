"""Ports whose Rust is at fault are found by their Tile IR, against the reference in TileGym's wheel, without a GPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hostile.catalogue import KERNEL, PLACES, PORT, Port, edited
from tests.hostile.honest import HONEST
from tests.hostile.kernels import KERNELS
from tests.skill.capture.measure import wheel_checkout
from tileport_skill.emit.cli import built_emitter
from tileport_skill.emit.program import Emitter
from tileport_skill.tilegym.operators import Checkout, find_operator, read_operators
from tileport_skill.verify import exit_status, verify

pytestmark = [pytest.mark.soak, pytest.mark.timeout(3600)]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    return wheel_checkout(tmp_path_factory.mktemp("wheel"))


def status(checkout: Checkout, port: Port, out: Path) -> int:
    kernel = checkout.root / PLACES[KERNEL]
    kernel.parent.mkdir(parents=True, exist_ok=True)
    edits = tuple(edit for edit in port.edits if edit.file == KERNEL)
    kernel.write_text(edited((PORT / KERNEL).read_text(encoding="utf-8"), edits), encoding="utf-8")
    operator = find_operator(read_operators(checkout), "silu_and_mul")
    rows = verify(checkout, operator, ["sm_90"], out, Emitter(built_emitter()), tuning=False)
    return exit_status(rows)


def test_the_good_kernel_is_equal(checkout: Checkout, tmp_path: Path) -> None:
    assert status(checkout, HONEST[0], tmp_path) == 0


@pytest.mark.parametrize("port", [port for port in KERNELS if port.gate == "tile-ir"], ids=lambda port: port.name)
def test_a_kernel_at_fault_is_not_equal(port: Port, checkout: Checkout, tmp_path: Path) -> None:
    assert status(checkout, port, tmp_path) == 10
