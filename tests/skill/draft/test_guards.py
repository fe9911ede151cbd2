"""What the wrapper does where launches of one kernel differ, and with calls into cuTile that host code makes."""

from __future__ import annotations

from ctypes import c_float

import pytest
import torch
from tests.skill.draft.test_wrapper import REFERENCE, loaded

from tileport_skill.draft.crossing import c_function
from tileport_skill.draft.host import read_host
from tileport_skill.draft.operator import KernelDraft
from tileport_skill.draft.wrapper import print_wrapper

HOST = """
import cuda.tile as ct
import torch

from tilegym.backend import register_impl


@ct.kernel
def _either_rank_kernel(x, y, TILE: ct.Constant[int]):
    pass


@ct.kernel
def _same_size_kernel(x, y, TILE: ct.Constant[int], OTHER: ct.Constant[int]):
    pass


@ct.kernel
def _thinned_kernel(x, y, P: ct.Constant[float], BLOCK: ct.Constant[int]):
    pass


@register_impl("either", backend="cutile")
def either(x):
    ct.launch(torch.cuda.current_stream(), (1, 1, 1), _either_rank_kernel, (x, torch.empty_like(x), 32))


@register_impl("same", backend="cutile")
def same(x, other):
    ct.launch(torch.cuda.current_stream(), (1, 1, 1), _same_size_kernel, (x, torch.empty_like(x), 32, other))


@register_impl("thinned", backend="cutile")
def thinned(x, p):
    grid = (ct.cdiv(x.numel() + 1, 128), 1, 1)
    ct.launch(torch.cuda.current_stream(), grid, _thinned_kernel, (x, torch.empty_like(x), p, 128))
"""


def wrapper_of(draft: KernelDraft, host: str) -> str:
    functions = [c_function("drafted", entry) for entry in draft.entries]
    return print_wrapper("drafted", read_host(host), functions, {one.kernel: one.reason for one in draft.refused})


def test_the_entry_of_the_arrays_rank_is_launched(draft: KernelDraft, monkeypatch: pytest.MonkeyPatch) -> None:
    names, library = loaded(wrapper_of(draft, HOST), monkeypatch, tuning=False)
    names["either"](torch.zeros(32))
    names["either"](torch.zeros(1, 32))
    symbols = [name for name, _ in library.calls]
    assert symbols == ["cutile_drafted_either_rank_kernel", "cutile_drafted_either_rank_kernel_2"]
    with pytest.raises(NotImplementedError, match="_either_rank_kernel is not drafted for these arguments"):
        names["either"](torch.zeros(1, 1, 32))


def test_what_was_never_read_is_not_launched(draft: KernelDraft, monkeypatch: pytest.MonkeyPatch) -> None:
    names, library = loaded(wrapper_of(draft, HOST), monkeypatch, tuning=False)
    names["same"](torch.zeros(32), 32)
    assert len(library.calls) == 1
    with pytest.raises(NotImplementedError, match="_same_size_kernel is not drafted for these arguments"):
        names["same"](torch.zeros(32), 64)


def test_python_computes_what_the_constants_make(draft: KernelDraft, monkeypatch: pytest.MonkeyPatch) -> None:
    names, library = loaded(wrapper_of(draft, HOST), monkeypatch, tuning=False)
    names["thinned"](torch.zeros(256), 0.1)
    names["thinned"](torch.zeros(255), 1.0)
    assert [arguments[2:6] for _, arguments in library.calls] == [
        (c_float(0.1).value, 128, True, c_float(1.0 / (1.0 - 0.1)).value),
        (1.0, 128, False, 0),
    ]
    assert [arguments[6] for _, arguments in library.calls] == [3, 2]  # blocks, rounded up


def test_a_hint_by_target_is_that_of_the_gpu(draft: KernelDraft, monkeypatch: pytest.MonkeyPatch) -> None:
    host = REFERENCE.replace("occupancy=2", "occupancy=ct.ByTarget(sm_100=3, default=5)", 1)
    for capability, occupancy in (((10, 0), 3), ((9, 0), 5)):
        names, library = loaded(wrapper_of(draft, host), monkeypatch, tuning=False)
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device, found=capability: found)
        names["leaky"](torch.zeros(128))
        assert [arguments[-3] for _, arguments in library.calls] == [occupancy]


def test_a_time_out_of_the_compiler_is_kept_and_said_to_have_no_effect(
    draft: KernelDraft, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = "        result = exhaustive_search(\n"
    start = REFERENCE.index(old)
    end = REFERENCE.index("        )\n", start) + len("        )\n")
    inner = "".join(f"    {line}\n" for line in REFERENCE[start:end].splitlines())
    host = f"{REFERENCE[:start]}        with ct.compiler_timeout(5):\n{inner}{REFERENCE[end:]}"
    wrapper = wrapper_of(draft, host)
    assert "with _compiler_timeout(5):" in wrapper
    assert "cannot give up compiling" in wrapper
    names, library = loaded(wrapper, monkeypatch, tuning=True)
    names["rows"](torch.zeros(7, 30), torch.zeros(30))
    assert [arguments[-3] for _, arguments in library.calls] == [1, 2, 4, 4]
