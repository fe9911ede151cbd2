"""The pytest plugin of the capturing child: `python -m pytest -p tileport_skill.capture.inside.plugin …`.

The request comes as one JSON document in a file named by `TILEPORT_CAPTURE`; the answer is written beside it.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib.metadata
import json
import os
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from torch._subclasses.fake_tensor import FakeTensorMode

from tileport_skill.capture import records
from tileport_skill.capture.inside import checks, device, tensors
from tileport_skill.capture.inside.export import export, export_for_port
from tileport_skill.capture.inside.launches import Recorder
from tileport_skill.capture.profiles import profile_of
from tileport_skill.tilegym.operators import REFERENCE_BACKEND

BACKEND_PARAMETERS = ("backend", "framework")
OTHER_BACKENDS = {"triton", "pytorch", "torch", "tilecpp", "cutile-rs", "cutile_rs"}

REQUEST = json.loads(Path(os.environ["TILEPORT_CAPTURE"]).read_text(encoding="utf-8"))
PROFILE = profile_of(REQUEST["arch"])
STARTED = time.monotonic()

device.install(PROFILE)
tensors.install()
RECORDER = Recorder(PROFILE.arch)
RECORDER.install()
TESTS: list[records.Test] = []


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keeps the tests of the reference backend and those that name none."""
    checks.install()
    kept = [item for item in items if _of_reference(item)]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept


def _of_reference(item: pytest.Item) -> bool:
    parameters = getattr(item, "callspec", None)
    if parameters is None:
        return True
    named = [parameters.params[name] for name in BACKEND_PARAMETERS if name in parameters.params]
    if named:
        return all(value == REFERENCE_BACKEND for value in named)
    words: set[str] = set()
    for value in parameters.params.values():
        words |= {v for v in (value if isinstance(value, (tuple, list)) else (value,)) if isinstance(v, str)}
    return not words & OTHER_BACKENDS


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Set-up and test under one fake mode: tensors of different modes do not mix."""
    RECORDER.start(item.nodeid)
    tensors.reads.clear()
    with FakeTensorMode(allow_non_fake_inputs=True):
        yield


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Iterator[None]:
    outcome: Any = yield
    report = outcome.get_result()
    if report.when == "call" or (report.when == "setup" and not report.passed):
        TESTS.append(_result(item.nodeid, report, call))


def _result(test: str, report: pytest.TestReport, call: pytest.CallInfo[Any]) -> records.Test:
    made = [launch.purpose for launch in RECORDER.launches if launch.test == test]
    reason, where = (None, None) if call.excinfo is None else _blame(call.excinfo)
    return records.Test(
        id=test,
        status=report.outcome,
        launches=made.count("launch"),
        configurations=made.count("tune"),
        reason=reason,
        where=where,
        scalar_reads=tuple(dict.fromkeys(tensors.reads)),
    )


def _blame(error: pytest.ExceptionInfo[BaseException]) -> tuple[str, str]:
    frames = traceback.extract_tb(error.tb)
    own = [frame for frame in frames if "/tilegym/" in frame.filename or "/tests/" in frame.filename]
    last = (own or frames)[-1]
    path = last.filename
    for mark in ("/tests/", "/tilegym/"):
        if mark in path:
            path = mark.strip("/") + "/" + path.rsplit(mark, 1)[1]
            break
    return f"{error.typename}: {error.value}"[:300], f"{path}:{last.lineno}"


def pytest_sessionfinish(session: pytest.Session) -> None:
    folder = Path(REQUEST["ir"])
    found = RECORDER.compilable.values()
    answer = records.Capture(
        operators=tuple(REQUEST["operators"]),
        arch=PROFILE.arch,
        profile=PROFILE.name,
        symbol=REQUEST["symbol"],
        tests=tuple(TESTS),
        launches=tuple(map(_with_port_ir, RECORDER.launches)),
        specialisations=tuple(export(one, PROFILE.arch, REQUEST["symbol"], folder) for one in found),
        versions=_versions(),
        seconds=round(time.monotonic() - STARTED, 2),
    )
    Path(REQUEST["answer"]).write_text(json.dumps(dataclasses.asdict(answer)), encoding="utf-8")


def _with_port_ir(launch: records.Launch) -> records.Launch:
    made = _port_ir(launch.specialisation, launch.arguments)
    return dataclasses.replace(launch, port_ir=made)


@functools.cache
def _port_ir(specialisation: str, arguments: tuple[records.Argument, ...]) -> records.Bytecode | None:
    found = RECORDER.compilable[specialisation]
    return export_for_port(found, arguments, PROFILE.arch, REQUEST["symbol"], Path(REQUEST["ir"]))


def _versions() -> dict[str, str]:
    packages = ("cuda-tile", "torch", "nvidia-cuda-tileiras", "tileport")
    found = {"python": ".".join(map(str, sys.version_info[:3]))}
    for package in packages:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
