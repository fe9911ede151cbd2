"""The pytest plugin of both sides: the base's own test cases, with the port's backend as the only new parameter."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from tileport_skill.correctness import untimed
from tileport_skill.correctness.calls import FIRST_SEED, CallStore, is_performance, tensors_in
from tileport_skill.correctness.records import Job, Kernel, Role, TestRun, entry_of
from tileport_skill.correctness.tracing import Trace

BACKENDS: dict[Role, str] = {"reference": "cutile", "port": "cutile-rs"}
_OTHER_BACKENDS = frozenset({"cutile-rs", "triton", "tilecpp", "pytorch", "torch"})


class Plugin:
    """Chooses the cases, switches their backend, and notes what each really reached."""

    def __init__(self, job: Job, role: Role, store: CallStore | None, trace: Trace | None) -> None:
        self.runs: list[TestRun] = []
        self._job, self._role, self._store, self._trace = job, role, store, trace
        self._inside: dict[str, None] = {}
        self._gradients: list[bool] = []
        self._launches = 0
        self._depth = 0
        self._outcomes: dict[str, tuple[Any, str]] = {}
        self._tolerances: Any = None

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Keeps the cases the base gives its reference backend, performance ones aside."""
        kept = [item for item in items if not is_performance(item.name) and not _of_another(item)]
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        for item in kept:
            key = _backend_key(item)
            if key:
                item.callspec.params[key] = BACKENDS[self._role]  # type: ignore[attr-defined]
        items[:] = kept
        torch.manual_seed(FIRST_SEED)

    def pytest_sessionstart(self) -> None:
        Plugin.current = self
        untimed.install_for_ports()
        self._wrap_implementations()
        self._count_launches()
        self._note_tolerances()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        self._inside, self._gradients, self._launches, self._tolerances = {}, [], 0, None
        outside: list[Kernel] = []
        if self._trace is not None:
            self._trace.drain()
        try:
            return (yield)
        finally:
            if self._trace is not None:
                outside = self._trace.drain()
            self._finish(item, outside)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.outcome != "passed":
            outcome = "error" if report.when != "call" and report.outcome == "failed" else report.outcome
            self._outcomes[report.nodeid] = (outcome, _short(report))

    def results(self) -> tuple[TestRun, ...]:
        """Every case with its outcome; those that never came to their body too."""
        known = {run.id: run for run in self.runs}
        return tuple(
            dataclasses.replace(known[name], outcome=outcome, message=message)
            if name in known
            else TestRun(id=name, outcome=outcome, message=message)
            for name, (outcome, message) in self._outcomes.items()
        )

    def _finish(self, item: pytest.Item, outside: list[Kernel]) -> None:
        entries = {name for name in (entry_of(kernel.name) for kernel in outside) if name in self._job.entries}
        self.runs.append(
            TestRun(
                id=item.nodeid,
                outcome="passed",
                message="",
                dispatched=len(self._gradients),
                reference_launches=self._launches,
                gradients=tuple(self._gradients),
                kernels=tuple(sorted(self._inside)),
                other_kernels=tuple(sorted(entries)),
            )
        )

    def _wrap_implementations(self) -> None:
        """Puts a recorder around this side's implementation, and leads direct calls of the reference to the port."""
        dispatcher = importlib.import_module("tilegym.backend.dispatcher")
        importlib.import_module("tilegym.ops")
        module = importlib.import_module(self._job.reference_module)
        for name in self._job.names:
            found = dispatcher._REGISTRY.get(name, {})
            implementation = found.get(BACKENDS[self._role])
            if implementation is None or hasattr(implementation, "_tileport_inner"):
                continue
            recorded = self._recorded(name, implementation)
            reference = found.get(BACKENDS["reference"])
            found[BACKENDS[self._role]] = recorded
            for attribute, value in list(vars(module).items()):
                if value is reference:
                    setattr(module, attribute, recorded)

    def _recorded(self, name: str, implementation: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            current = Plugin.current
            if current._depth:
                return implementation(*args, **kwargs)
            found = current._observed(name, implementation, args, kwargs)
            # A getter: what it returns is the operator.
            return current._recorded(f"{name}()", found) if callable(found) else found

        call._tileport_inner = implementation  # type: ignore[attr-defined]
        return call

    current: Plugin
    """The plugin of the running session; wrappers outlive the session that made them."""

    def _observed(self, name: str, implementation: Callable[..., Any], args: tuple[Any, ...], kwargs: Any) -> Any:
        if self._store is not None and tensors_in((args, kwargs)):
            self._store.keep(name, args, kwargs, self._tolerances)
        self._depth += 1
        try:
            if self._trace is None:
                found = implementation(*args, **kwargs)
            else:
                with self._trace.window() as work:
                    found = implementation(*args, **kwargs)
                self._inside |= dict.fromkeys(kernel.name for kernel in work)
        finally:
            self._depth -= 1
        if not callable(found):
            self._gradients.append(any(tensor.requires_grad for tensor in tensors_in(found)))
        return found

    def _count_launches(self) -> None:
        """cuTile Python launches, by whatever name they are reached."""
        tile = importlib.import_module("cuda.tile")
        if hasattr(tile.launch, "_tileport_inner"):
            return
        launch = tile.launch

        def counted(*args: Any, **kwargs: Any) -> Any:
            Plugin.current._launches += 1
            return launch(*args, **kwargs)

        counted._tileport_inner = launch  # type: ignore[attr-defined]
        tile.launch = counted  # type: ignore[attr-defined]

    def _note_tolerances(self) -> None:
        """What the test that is running states, for comparing its calls outside."""
        common = _tests_common()
        if common is None or hasattr(common.PyTestCase.assertCorrectness, "_tileport_inner"):
            return
        check = common.PyTestCase.assertCorrectness

        def noted(case: Any, *args: Any, **kwargs: Any) -> Any:
            Plugin.current._tolerances = (kwargs.get("rtol"), kwargs.get("atol"))
            return check(case, *args, **kwargs)

        noted._tileport_inner = check  # type: ignore[attr-defined]
        common.PyTestCase.assertCorrectness = noted


def _tests_common() -> Any:
    try:
        return importlib.import_module("tests.common")
    except ImportError:
        return None


def _backend_key(item: pytest.Item) -> str | None:
    """The parameter that is the reference's backend; a case without one runs as it stands on either side."""
    params = item.callspec.params if hasattr(item, "callspec") else {}
    return next((k for k, value in params.items() if isinstance(value, str) and value == BACKENDS["reference"]), None)


def _of_another(item: pytest.Item) -> bool:
    """Whether the case is for a backend that is neither side's."""
    params = item.callspec.params if hasattr(item, "callspec") else {}
    return any(isinstance(value, str) and value in _OTHER_BACKENDS for value in params.values())


def _short(report: pytest.TestReport) -> str:
    if report.outcome == "passed":
        return ""
    if report.outcome == "skipped" and isinstance(report.longrepr, tuple):
        return str(report.longrepr[2])
    crash = getattr(report.longrepr, "reprcrash", None)
    return (str(crash.message) if crash is not None else str(report.longrepr))[:600]
