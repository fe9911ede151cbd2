"""The wrapper of a port whose kernels come from Tile IR: the entry is chosen at each call, and no other is launched."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tileport_skill.draft.crossing import c_function
from tileport_skill.draft.host import read_host
from tileport_skill.draft.operator import KernelDraft
from tileport_skill.draft.wrapper import print_wrapper

REFERENCE = """
import cuda.tile as ct
import torch

from tilegym.backend import register_impl


@ct.kernel
def _halved_kernel(x, y, TILE: ct.Constant[int], PARTS: ct.Constant[int]):
    pass


@register_impl("irregular", backend="cutile")
def irregular(x, y, n):
    ct.launch(torch.cuda.current_stream(), (4,), _halved_kernel, (x, y, n, n // 8))
    return y
"""


def crossing(wrapper: str) -> Any:
    """The kernel's function of the wrapper, run by itself."""
    start = wrapper.index("def _halved_kernel(")
    body = wrapper[start : wrapper.index("\n\n\n", start)]
    space: dict[str, Any] = {"torch": torch}
    exec(body, space)
    return space["_halved_kernel"]


def test_a_long_guard_stands_on_lines_of_its_own_and_means_the_same(irregular: KernelDraft) -> None:
    (halved,) = (one for one in irregular.entries if one.kernel == "_halved_kernel")
    known = ", ".join(f"({n}, {n // 8})" for n in range(8, 400, 8))
    guard = f"(x is None or y is not None) and PARTS > 0 and (TILE, PARTS) in ({known})"
    long = dataclasses.replace(halved, variant=dataclasses.replace(halved.variant, guard=guard))
    wrapper = print_wrapper("irregular", read_host(REFERENCE), [c_function("irregular", long)], {})
    assert max(map(len, wrapper.splitlines())) <= 120
    kernel = crossing(wrapper)
    assert kernel(None, None, 64, 8)[1] == (None, None, 32, 8.0)
    for arguments in ((1, None, 64, 8), (None, None, 64, 0), (None, None, 64, 9)):
        with pytest.raises(NotImplementedError):
            kernel(*arguments)


def test_the_first_entry_that_is_for_a_call_is_launched_with_what_it_takes(irregular: KernelDraft) -> None:
    (halved,) = (one for one in irregular.entries if one.kernel == "_halved_kernel")
    variant = dataclasses.replace(halved.variant, guard="TILE == 512 and x.dtype == torch.float32")
    entry = dataclasses.replace(halved.entry, name="halved_kernel_2")
    single = dataclasses.replace(halved, variant=variant, entry=entry)
    functions = [c_function("irregular", one) for one in (halved, single)]
    kernel = crossing(print_wrapper("irregular", read_host(REFERENCE), functions, {}))
    x, y = SimpleNamespace(dtype=torch.float16), object()
    assert kernel(x, y, 64, 8) == (functions[0].symbol, (x, y, 32, 8.0))
    wide = SimpleNamespace(dtype=torch.float32)
    assert kernel(wide, y, 512, 4) == (functions[1].symbol, (wide, y, 256, 4.0))
    with pytest.raises(NotImplementedError, match="not drafted for these arguments"):
        kernel(x, y, 512, 64)
