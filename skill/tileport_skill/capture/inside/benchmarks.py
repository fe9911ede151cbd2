"""TileGym's benchmarks as tests of the reference: each row of each `triton.testing.perf_report`, run once.

Triton's own records say what the rows are; only what measures time, and asks a GPU's driver which device it is, is
replaced. A port has no such tests: many benchmarks know the backends they choose from by name.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from tileport_skill.tilegym.operators import REFERENCE_BACKEND

FOREVER = 1.0
"""The milliseconds every measurement is said to have taken: a neutral number, read by nobody."""


class BenchmarkFile(pytest.Module):
    """A pytest module only for pytest to take it instead of its own; nothing in it is named `test_…`."""

    def collect(self) -> Iterator[pytest.Item]:
        _measure_nothing()
        for name, mark in vars(_imported(self.path)).items():
            if type(mark).__name__ == "Mark" and hasattr(mark, "benchmarks"):
                for label, arguments in _rows(mark):
                    yield BenchmarkRow.from_parent(self, name=f"{name}[{label}]", run=mark.fn, arguments=arguments)


class BenchmarkRow(pytest.Item):
    """One call of a benchmark's function."""

    def __init__(self, *, run: Callable[..., object], arguments: dict[str, Any], **options: Any) -> None:
        super().__init__(**options)
        self.run, self.arguments = run, arguments

    def runtest(self) -> None:
        self.run(**self.arguments)


def _rows(mark: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each row of the reference's lines: its label and its arguments.

    A line stands for a backend by its value, or where that is a number, the index of a table, by its name.
    """
    reports = mark.benchmarks if isinstance(mark.benchmarks, (list, tuple)) else [mark.benchmarks]
    for report in filter(None, reports):
        for value, line in zip(report.line_vals, report.line_names, strict=True):
            if value != REFERENCE_BACKEND and not (isinstance(value, int) and _named_after_reference(line)):
                continue
            named = [] if value == REFERENCE_BACKEND else [line]
            for values in report.x_vals:
                each = values if isinstance(values, (list, tuple)) else [values] * len(report.x_names)
                shape = dict(zip(report.x_names, each, strict=True))
                label = "-".join(map(str, [report.plot_name, *named, *shape.values()]))
                yield label, {**report.args, **shape, report.line_arg: value}


def _named_after_reference(line: str) -> bool:
    return line.split()[:1] != [] and line.split()[0].casefold() == REFERENCE_BACKEND


def _imported(path: Path) -> ModuleType:
    """By its path: two folders have benchmarks of one name. What lies beside it can be imported as when it is run."""
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    name = "_".join(("benchmark", *path.with_suffix("").parts[1:]))
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    _once(module, "profile_with_l2flush")
    return module


def _measure_nothing() -> None:
    import triton
    import triton.testing

    for name in ("do_bench", "do_bench_cudagraph"):
        _once(triton.testing, name)
    triton.testing.Mark.run = lambda *_args, **_options: None  # some files run their reports when they are imported
    triton.runtime.driver.set_active(_Driver())


class _Driver:
    """Of Triton's driver, what benchmarks ask: anything else is an error of the row that asks."""

    def get_active_torch_device(self) -> torch.device:
        return torch.device("cuda", torch.cuda.current_device())


def _once(holder: ModuleType, name: str) -> None:
    """Replaces a function that times `fn` by one of the same parameters that calls it once."""
    original = getattr(holder, name, None)
    if original is None or hasattr(original, "measures_nothing"):
        return
    signature = inspect.signature(original)

    def once(*args: Any, **options: Any) -> float | list[float]:
        given = signature.bind(*args, **options).arguments
        given["fn"]()
        quantiles = given.get("quantiles") or (None,)
        return [FOREVER] * len(quantiles) if len(quantiles) > 1 else FOREVER

    once.measures_nothing = True  # type: ignore[attr-defined]
    setattr(holder, name, once)
