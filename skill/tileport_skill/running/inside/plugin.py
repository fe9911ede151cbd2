"""The pytest plugin of the child: an operator's own tests on CPU tensors, its kernels run by the interpreter.

`python -m pytest -p tileport_skill.running.inside.plugin …`, with the request as JSON in the file that
`TILEPORT_INTERPRETED` names. For each test that passes, its kernels are then falsified one at a time: a test that does
not notice proves nothing. With `ports` in the request, a port's Tile IR is run in the place of what it stands for.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from _pytest.runner import runtestprotocol
from torch.overrides import TorchFunctionMode

from tileport_skill.capture.inside import device, guard
from tileport_skill.capture.profiles import profile_of
from tileport_skill.running.inside.launch import Interpreted, spy_on

REQUEST = json.loads(Path(os.environ["TILEPORT_INTERPRETED"]).read_text(encoding="utf-8"))
PROFILE = dataclasses.replace(profile_of(REQUEST["arch"]), sms=4)  # persistent kernels launch a block for each
RUNS = Interpreted(PROFILE.arch, REQUEST["symbol"], Path(REQUEST["ir"]), REQUEST["ports"])
TOLERANCES: set[str] = set()
CONTROLLED: set[str] = set()
"""Kernels whose falsification some test has noticed."""


class _OnCpu(TorchFunctionMode):
    """What asks for CUDA gets the CPU."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if "cuda" in str(kwargs.get("device")):
            kwargs["device"] = "cpu"
        if func is torch.Tensor.cuda:
            return args[0]
        args = tuple("cpu" if _names_cuda(value) else value for value in args)
        if func in PRODUCTS and torch.backends.cuda.matmul.allow_tf32:
            args = tuple(_as_tf32(value) for value in args)
        return func(*args, **kwargs)


PRODUCTS = (torch.matmul, torch.mm, torch.Tensor.matmul, torch.Tensor.__matmul__, torch.Tensor.mm)


def _as_tf32(value: Any) -> Any:
    """What a GPU multiplies when a test lets the reference use TF32: 32-bit numbers rounded to ten bits of mantissa."""
    if not isinstance(value, torch.Tensor) or value.dtype is not torch.float32:
        return value
    bits = value.detach().contiguous().view(torch.int32)
    return ((bits + 0xFFF + ((bits >> 13) & 1)) & ~0x1FFF).view(torch.float32)


class _Generator(torch.Generator):
    """Random numbers of the CPU, whatever device is asked for."""

    def __new__(cls, device: Any = None) -> _Generator:
        return super().__new__(cls, device="cpu")  # type: ignore[call-arg]  # torch declares no constructor


def _names_cuda(value: Any) -> bool:
    return isinstance(value, (str, torch.device)) and str(value).startswith("cuda")


def pytest_collection_modifyitems() -> None:
    helpers = sys.modules.get("tests.common")
    spy_on(helpers, "compare_tensors", _compared_by_helper)


def _compared(args: tuple[Any, ...], options: dict[str, Any]) -> None:
    rtol, atol = ((*args[2:4], None, None)[:2]) if len(args) > 2 else (None, None)
    TOLERANCES.add(f"{options.get('rtol', rtol)}/{options.get('atol', atol)}")


def _compared_by_helper(args: tuple[Any, ...], options: dict[str, Any]) -> None:
    _compared(args, options)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Once in earnest, then once for each kernel that no test is known to notice yet."""
    record = _run(item, nextitem, None)
    for kernel in record["launches"] if record["status"] == "passed" else ():
        if kernel in REQUEST["kernels"] and kernel not in CONTROLLED:
            noticed = _run(item, nextitem, kernel)["status"] == "failed"
            record["falsified"][kernel] = noticed
            CONTROLLED.update({kernel} if noticed else ())
    with Path(REQUEST["answer"]).open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")
    return True


def _run(item: pytest.Item, nextitem: pytest.Item | None, falsified: str | None) -> dict[str, Any]:
    RUNS.start(falsified)
    TOLERANCES.clear()
    item._initrequest()  # type: ignore[attr-defined]
    began = time.monotonic()
    reports = runtestprotocol(item, nextitem=nextitem, log=False)
    bad = [report for report in reports if not report.passed]
    reason = _reason(bad[0]) if bad else None
    return {
        "test": item.nodeid,
        "status": bad[0].outcome if bad else "passed",
        "reason": reason,
        "launches": dict(RUNS.launches),
        "blocks": dict(RUNS.blocks),
        "foreign": sorted(RUNS.foreign),
        "last": RUNS.last,
        "findings": {name: sorted(found) for name, found in RUNS.findings.items()},
        "tolerances": sorted(TOLERANCES),
        "falsified": {},
        "seconds": round(time.monotonic() - began, 1),
    }


def _reason(report: pytest.TestReport) -> str:
    if isinstance(report.longrepr, tuple):
        return str(report.longrepr[2])[:300]
    crash = getattr(report.longrepr, "reprcrash", None)
    return str(crash.message if crash else report.longrepr)[:400]


def _install() -> None:
    """At import, since a checkout's own conftest asks for the device."""
    torch.set_num_threads(1)
    torch.autograd.set_multithreading_enabled(False)
    device.install(PROFILE)
    RUNS.install()
    torch.Tensor.is_cuda = property(lambda _: True)  # type: ignore[assignment]
    torch.Generator = _Generator  # type: ignore[misc]
    spy_on(torch.testing, "assert_close", _compared)
    spy_on(torch, "allclose", _compared)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    with _OnCpu(), contextlib.suppress(ImportError), guard.time_limit(REQUEST["test_seconds"], of_processor=True):
        yield


_install()
