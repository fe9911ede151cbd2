"""The pytest plugin of the capturing child: `python -m pytest -p tileport_skill.capture.inside.plugin …`.

The request comes as one JSON document in a file named by `TILEPORT_CAPTURE`; the answer is written beside it.
"""

from __future__ import annotations

import dataclasses
import gc
import importlib.metadata
import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from tileport_skill.capture import records
from tileport_skill.capture.inside import checks, device, guard, lean, tensors, values
from tileport_skill.capture.inside.again import Again
from tileport_skill.capture.inside.benchmarks import BenchmarkFile
from tileport_skill.capture.inside.c_calls import CallRecorder
from tileport_skill.capture.inside.export import Exporter
from tileport_skill.capture.inside.host import HostRecorder
from tileport_skill.capture.inside.launches import Recorder
from tileport_skill.capture.inside.port_calls import PortRecorder, ports_for_references
from tileport_skill.capture.inside.widen import Widening
from tileport_skill.capture.inside.words import with_launchers_words
from tileport_skill.capture.profiles import profile_of
from tileport_skill.correctness.calls import FIRST_SEED, is_performance
from tileport_skill.kernel_code import launch_key
from tileport_skill.tilegym.operators import PORT_BACKEND, REFERENCE_BACKEND, is_benchmark

BACKEND_PARAMETERS = ("backend", "framework")
ALL_BACKENDS = {REFERENCE_BACKEND, PORT_BACKEND, "cutile_rs", "triton", "pytorch", "torch", "tilecpp"}

REQUEST = json.loads(Path(os.environ["TILEPORT_CAPTURE"]).read_text(encoding="utf-8"))
PROFILE = profile_of(REQUEST["arch"])
BACKEND: str = REQUEST["backend"]
STARTED = time.monotonic()

guard.die_with_parent(REQUEST["parent"])
lean.install((REQUEST["root"], REQUEST["package"]))
device.install(PROFILE)
tensors.install(REQUEST["package"], REQUEST["root"])
values.install()
WIDENING = Widening(PROFILE.arch, REQUEST["widen"]) if REQUEST["widen"] else None
RECORDER = Recorder(PROFILE.arch, HostRecorder(REQUEST["package"], REQUEST["root"]), WIDENING)
RECORDER.install()
PORT = CallRecorder() if REQUEST["calls"] else PortRecorder(Path(REQUEST["launches"]))
PORT.install()
AGAIN = Again(REQUEST["names"], BACKEND) if REQUEST["again"] else None
TESTS: list[records.Test] = []
TORCH: list[guard.TorchAsItWas] = []


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    return BenchmarkFile.from_parent(parent, path=module_path) if is_benchmark(module_path.name) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keeps the tests of the reference, whichever side runs: a port's own list of cases decides nothing."""
    checks.install()
    if BACKEND == PORT_BACKEND:
        PORT.install_tuner()
    if AGAIN is not None:
        AGAIN.install()
    if BACKEND == PORT_BACKEND:
        ports_for_references()
    kept = [item for item in items if _wanted(item)]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept
    torch.manual_seed(FIRST_SEED)
    TORCH.append(guard.TorchAsItWas())
    gc.freeze()  # TileGym's tests collect garbage before each test, through every module that torch has loaded


def _wanted(item: pytest.Item) -> bool:
    parameters = getattr(item, "callspec", None)
    named: set[str] = set()
    if parameters is not None:
        values = [parameters.params[name] for name in BACKEND_PARAMETERS if name in parameters.params]
        for value in values or parameters.params.values():
            named |= {v for v in (value if isinstance(value, (tuple, list)) else (value,)) if isinstance(v, str)}
    return named & ALL_BACKENDS <= {REFERENCE_BACKEND}


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Set-up and test under one fake mode: tensors of different modes do not mix."""
    RECORDER.start(item.nodeid)
    PORT.start(item.nodeid)
    tensors.reads.clear()
    checks.stated.clear()
    values.forget_all()
    with FakeTensorMode(allow_non_fake_inputs=True), values.Values(RECORDER.host.saw):
        yield
    for kept in TORCH:
        kept.restore()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    if AGAIN is not None:
        AGAIN.watches = not (is_benchmark(item.path.name) or is_performance(item.name))
    with guard.time_limit(REQUEST["test_seconds"]):
        yield
    if AGAIN is not None:
        PORT.poll("launch")
        for name, make in AGAIN.varied(item.nodeid):
            _again(name, make)
        RECORDER.test = PORT.test = item.nodeid


def _again(name: str, make: Callable[[], None]) -> None:
    """One call made once more. What the reference refuses nobody has to port; a port may not refuse what is left."""
    RECORDER.test = PORT.test = name
    RECORDER.again, RECORDER.host.paused = True, True
    known = len(RECORDER.compilable)
    status: Literal["passed", "skipped", "failed"] = "passed"
    reason = None
    try:
        with guard.time_limit(REQUEST["test_seconds"]):
            make()
    except (Exception, guard.TestTimedOut) as error:
        status, reason = ("failed" if BACKEND == PORT_BACKEND else "skipped"), f"{type(error).__name__}: {error}"[:300]
        RECORDER.forget(name, known)
    finally:
        RECORDER.again, RECORDER.host.paused = False, False
        PORT.poll("launch")
    TESTS.append(_counted(records.Test(id=name, status=status, launches=0, configurations=0, reason=reason)))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Iterator[None]:
    outcome: Any = yield
    report = outcome.get_result()
    PORT.poll("launch")
    if report.when == "call" or (report.when == "setup" and not report.passed):
        TESTS.append(_result(item.nodeid, report, call))


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """A file that cannot be imported is a failed test of its own; the others run."""
    if report.failed:
        lines = [line for line in str(report.longrepr).splitlines() if line.strip()]
        reason = lines[-1].removeprefix("E").strip() if lines else "it cannot be collected"
        TESTS.append(records.Test(id=report.nodeid, status="failed", launches=0, configurations=0, reason=reason))


def _result(test: str, report: pytest.TestReport, call: pytest.CallInfo[Any]) -> records.Test:
    reason, where = (None, None) if call.excinfo is None else _blame(call.excinfo)
    reason = None if reason is None else with_launchers_words(reason, report.capstderr)
    found = records.Test(
        id=test,
        status=report.outcome,
        launches=0,
        configurations=0,
        reason=reason,
        where=where,
        scalar_reads=tuple(dict.fromkeys(tensors.reads)),
        tolerances=tuple(dict.fromkeys(checks.stated)),
    )
    return _counted(found)


def _counted(test: records.Test) -> records.Test:
    made = [launch.purpose for launch in (*RECORDER.launches, *PORT.made) if launch.test == test.id]
    return dataclasses.replace(test, launches=made.count("launch"), configurations=made.count("tune"))


def _blame(error: pytest.ExceptionInfo[BaseException]) -> tuple[str, str]:
    frames = traceback.extract_tb(error.tb)
    places = {REQUEST["package"]: "tilegym", REQUEST["root"]: ""}
    own = [frame for frame in frames if frame.filename.startswith(tuple(places))]
    last = (own or frames)[-1]
    path = last.filename
    for folder, name in places.items():
        if path.startswith(folder):
            path = f"{name}{path.removeprefix(folder)}".lstrip("/")
            break
    return f"{error.typename}: {error.value}"[:300], f"{path}:{last.lineno}"


def pytest_sessionfinish(session: pytest.Session) -> None:
    answer = _recording() if BACKEND == PORT_BACKEND else _capture()
    Path(REQUEST["answer"]).write_text(json.dumps(dataclasses.asdict(answer)), encoding="utf-8")


def _capture() -> records.Capture:
    RECORDER.host.finish()
    exporter = Exporter(PROFILE.arch, REQUEST["symbol"], Path(REQUEST["ir"]))
    launches = [_with_host(number, launch) for number, launch in enumerate(RECORDER.launches)]
    specialisations, launched = exporter.exported(
        RECORDER.compilable.values(), launches, for_ports=REQUEST["for_ports"]
    )
    return records.Capture(
        operators=tuple(REQUEST["operators"]),
        arch=PROFILE.arch,
        profile=PROFILE.name,
        symbol=REQUEST["symbol"],
        tests=tuple(TESTS),
        launches=launched,
        specialisations=specialisations,
        versions=_versions(),
        seconds=round(time.monotonic() - STARTED, 2),
        host=tuple(RECORDER.host.operations),
        entries=tuple(RECORDER.host.entries),
        refused=() if WIDENING is None else tuple((*key, why) for key, why in WIDENING.refused.items()),
        launch_keys=() if WIDENING is None else tuple(_launch_keys()),
    )


def _launch_keys() -> Iterator[tuple[str, str]]:
    for id, one in RECORDER.compilable.items():
        yield id, launch_key(one.kernel, one.signature, PROFILE.arch)


def _with_host(number: int, launch: records.Launch) -> records.Launch:
    before, after = RECORDER.host.around.get(number, ((), ()))
    return dataclasses.replace(launch, before=before, after=after)


def _recording() -> records.PortRecording | records.CallRecording:
    """A reference kernel launched from a port's test would be missing here, so it is an error of that test."""
    if isinstance(PORT, CallRecorder):
        return records.CallRecording(
            operators=tuple(REQUEST["operators"]),
            arch=PROFILE.arch,
            profile=PROFILE.name,
            tests=tuple(map(_without_reference, TESTS)),
            calls=tuple(PORT.calls),
            versions=_versions(),
            seconds=round(time.monotonic() - STARTED, 2),
        )
    return records.PortRecording(
        operators=tuple(REQUEST["operators"]),
        arch=PROFILE.arch,
        profile=PROFILE.name,
        tests=tuple(map(_without_reference, TESTS)),
        launches=tuple(PORT.launches),
        versions=_versions(),
        seconds=round(time.monotonic() - STARTED, 2),
    )


def _without_reference(test: records.Test) -> records.Test:
    borrowed = sorted({launch.kernel for launch in RECORDER.launches if launch.test == test.id})
    if not borrowed:
        return test
    return dataclasses.replace(test, status="failed", reason=f"the port launched the reference's {', '.join(borrowed)}")


def _versions() -> dict[str, str]:
    packages = ("cuda-tile", "torch", "nvidia-cuda-tileiras", "tileport")
    found = {"python": ".".join(map(str, sys.version_info[:3]))}
    for package in packages:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
