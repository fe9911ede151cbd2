"""What tells a tuner's configurations apart, read from kernels as cuTile exports them."""

from __future__ import annotations

from tileport_skill.tileir.assemble import disassemble
from tileport_skill.tileir.outline import outline_of


def test_the_tiles_and_the_hints_of_a_kernel_are_told(soak) -> None:
    text = disassemble(soak("tileir_kernels").exported("gemm"))
    assert str(outline_of(text, "sm_90")) == "loads 16x32, 32x16; stores 16x16; no hints"
    hinted = text.replace("optimization_hints=<default = {}>", "optimization_hints=<sm_90 = {occupancy = 2}>", 1)
    assert str(outline_of(hinted, "sm_90")).endswith("; occupancy 2")
    assert outline_of(hinted, "sm_100") == outline_of(text, "sm_100")


def test_another_tile_is_another_outline(soak) -> None:
    text = disassemble(soak("tileir_kernels").exported("gemm"))
    assert outline_of(text, "sm_90") != outline_of(text.replace("16x32", "16x64"), "sm_90")
