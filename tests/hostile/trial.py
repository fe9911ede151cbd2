"""One port's wrapper, run on the stand-in in a process of its own: what did it return, change and launch?"""

from __future__ import annotations

import contextlib
import functools
import importlib
import multiprocessing
import os
import shutil
import sys
import types
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from tests.hostile.catalogue import PLACES, PORT, WRAPPER, Port, edited, files_of

STANDIN = Path(__file__).parent / "standin"
_LIBRARY = "tilegym/ops/cutile_rs/cutile_kernels/target/release/libcutile_kernels.so"
_SECONDS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One call to make."""

    shape: tuple[int, ...] = (7, 3, 16)
    dtype: torch.dtype = torch.float32
    layout: str = "dense"
    """`dense`, `padded`, `every other`."""
    gradient: bool = True
    out: str = ""
    """Empty, `dense` or `padded`."""
    times: int = 1
    """Calls before the one that is looked at, and that one."""
    tuned: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What the last call did."""

    error: str = ""
    type: str = ""
    plain: bool = False
    """Whether type, layout, autograd and `out` are what the reference's would be."""
    right: bool = False
    gradient_right: bool = False
    changed: bool = False
    launches: tuple[str, ...] = ()
    """The port's entries, in order, of all calls."""
    reference_launches: int = 0
    library_changed: bool = False


def run(port: Port, cases: Sequence[Case], folder: Path) -> tuple[Seen, ...]:
    """The port's wrapper in a fork of this process, which may patch whatever it likes."""
    _warm_up()
    tree = folder / port.name
    shutil.copytree(STANDIN, tree)
    wrapper = edited((PORT / WRAPPER).read_text(encoding="utf-8"), files_of(port).get(WRAPPER, ()))
    (tree / PLACES[WRAPPER]).write_text(wrapper, encoding="utf-8")
    (tree / _LIBRARY).parent.mkdir(parents=True)
    (tree / _LIBRARY).write_bytes(b"library")
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_in_fork, args=(tree, cases, theirs))
    process.start()
    theirs.close()
    try:
        found = ours.recv() if ours.poll(_SECONDS) else (Seen(error="it did not end"),)
    except EOFError:
        found = (Seen(error="it ended"),)
    process.kill()
    process.join()
    shutil.rmtree(tree)
    return tuple(found)


@functools.cache
def _warm_up() -> None:
    """Autograd's first use imports for seconds, which each fork would do anew."""
    torch.set_num_threads(1)
    one = torch.ones(2, requires_grad=True)
    torch.autograd.grad(one * 2, one, torch.ones(2))


def _in_fork(tree: Path, cases: Sequence[Case], results: Any) -> None:
    sys.path.insert(0, str(tree))
    sys.argv = ["child"]
    os.environ["DISABLE_FALLBACK"] = "1"
    for name in [name for name in sys.modules if name.split(".")[0] == "tilegym"]:
        del sys.modules[name]
    sys.modules["tests.common"] = types.ModuleType("tests.common")
    _pretend_a_device()
    results.send([_tried(case, tree) for case in cases])
    os._exit(0)


def _tried(case: Case, tree: Path) -> Seen:
    os.environ["TILEGYM_DISABLE_AUTOTUNE"] = "0" if case.tuned else "1"
    try:
        return _call(case, tree)
    except BaseException as error:
        return Seen(error=f"{type(error).__name__}: {error}")


def _pretend_a_device() -> None:
    stream = types.SimpleNamespace(cuda_stream=0, wait_stream=lambda other: None)
    cuda: Any = torch.cuda
    cuda.current_stream = lambda device=None: stream
    cuda.Stream = lambda device=None: stream
    cuda.stream = lambda stream: contextlib.nullcontext()
    cuda.device = lambda device: contextlib.nullcontext()
    cuda.current_device = lambda: 0
    cuda.get_device_capability = lambda device=None: (9, 0)


def _call(case: Case, tree: Path) -> Seen:
    reference = importlib.import_module("tilegym.ops.cutile.silu_and_mul")
    library = importlib.import_module("tilegym.backend.cutile_rs.utils")
    importlib.import_module("tilegym.ops.cutile_rs.silu_and_mul")
    dispatcher = importlib.import_module("tilegym.backend.dispatcher")
    torch.manual_seed(0)
    library.LAUNCHES.clear()
    reference.LAUNCHES.clear()
    for _ in range(case.times):
        input = _tensor(case.shape, case.dtype, case.layout).requires_grad_(case.gradient)
        before = input.detach().clone()
        half = (*case.shape[:-1], case.shape[-1] // 2)
        out = _tensor(half, case.dtype, case.out) if case.out else None
        result = dispatcher.dispatch("silu_and_mul", input, **({} if out is None else {"out": out}))
    return _seen(case, tree, input, before, out, result, library, reference)


def _seen(case: Case, tree: Path, input: Any, before: Any, out: Any, result: Any, library: Any, reference: Any) -> Seen:
    wanted = input.detach().clone().copy_(before).requires_grad_(case.gradient)
    hidden = case.shape[-1] // 2
    expected = torch.nn.functional.silu(wanted[..., :hidden].float()) * wanted[..., hidden:].float()
    tolerance = {"rtol": 2e-2, "atol": 2e-2} if case.dtype != torch.float32 else {"rtol": 1e-5, "atol": 1e-5}
    right = _close(result.detach().float(), expected.detach(), tolerance)
    gradient_right = not case.gradient
    if case.gradient and result.requires_grad:
        direction = 0.1 * torch.randn(result.shape).to(case.dtype)
        (grad,) = torch.autograd.grad(result, input, direction)
        (wish,) = torch.autograd.grad(expected, wanted, direction.float())
        gradient_right = _close(grad.float(), wish.float(), tolerance)
    dense = out.stride() if out is not None else torch.empty(result.shape).stride()
    plain = type(result) is torch.Tensor and result.stride() == dense and result.requires_grad == case.gradient
    return Seen(
        type=type(result).__name__,
        plain=plain and result.dtype == case.dtype and (out is None or result.data_ptr() == out.data_ptr()),
        right=right,
        gradient_right=gradient_right,
        changed=not torch.equal(input.detach(), before),
        launches=tuple(library.LAUNCHES),
        reference_launches=len(reference.LAUNCHES),
        library_changed=(tree / _LIBRARY).read_bytes() != b"library",
    )


def _close(one: Any, other: Any, tolerance: dict[str, float]) -> bool:
    """Not with torch.allclose, which some ports replace."""
    with torch._C.DisableTorchFunctionSubclass():
        difference = (one - other).abs() <= tolerance["atol"] + tolerance["rtol"] * other.abs()
        return bool(difference.all())


def _tensor(shape: tuple[int, ...], dtype: torch.dtype, layout: str) -> torch.Tensor:
    if layout == "padded":
        return torch.randn(*shape[:-1], shape[-1] + 8).to(dtype)[..., :-8]
    if layout == "every other":
        return torch.randn(*shape[:-1], 2 * shape[-1]).to(dtype)[..., ::2]
    return torch.randn(shape).to(dtype)
