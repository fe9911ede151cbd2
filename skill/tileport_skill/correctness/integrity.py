"""Are the functions that judge still the ones that were there before the port was imported?"""

from __future__ import annotations

import hashlib
import importlib
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

WATCHED = (
    "torch.allclose",
    "torch.equal",
    "torch.empty",
    "torch.empty_like",
    "torch.manual_seed",
    "torch.randn",
    "torch.save",
    "torch.testing.assert_close",
    "torch.autograd.grad",
    "torch.cuda.synchronize",
    "torch.cuda.current_stream",
    "torch.cuda.Event",
    "torch.cuda.Event.elapsed_time",
    "torch.cuda.Event.record",
    "torch.cuda.Stream",
    "torch.cuda.Stream.synchronize",
    "torch.Tensor.detach",
    "torch.Tensor.cpu",
    "torch.Tensor.clone",
    "torch.Tensor.__eq__",
    "torch.Tensor.equal",
    "torch.Tensor.data_ptr",
    "torch.Tensor.backward",
    "time.perf_counter",
    "time.perf_counter_ns",
    "time.time",
    "json.dumps",
    "cupti.cupti.activity_flush_all",
    "cupti.cupti.activity_disable",
    "_pytest.runner.runtestprotocol",
    "_pytest.reports.TestReport.from_item_and_call",
    "_pytest.junitxml.LogXML.pytest_runtest_logreport",
    "tileport_skill.correctness.tracing.Trace.drain",
    "tileport_skill.correctness.tracing.Trace._completed",
    "tileport_skill.correctness.replay.observe",
    "tileport_skill.correctness.plugin.Plugin.pytest_runtest_logreport",
)
"""Imported before the port is; whoever changes one of them has an answer to hide."""


class Snapshot:
    """The watched functions as they were when this was made."""

    def __init__(self, names: tuple[str, ...] = WATCHED) -> None:
        self._before = {name: _meaning(name) for name in names}

    def changed(self) -> tuple[str, ...]:
        """The names that mean something else now."""
        found = []
        for name, (function, code) in self._before.items():
            now, code_now = _meaning(name)
            if now is not function or code_now is not code:
                found.append(name)
        return tuple(found)


def fingerprint(reference: str, tests: Iterable[str] = ()) -> dict[str, str]:
    """What the reference's module and the tests' are made of, hashed: two processes can tell whether they differ.

    Of the tests, functions and methods; of the reference, its kernels, their hints and its tuples too: a tuner whose
    configurations somebody else chose is no baseline.
    """
    found: dict[str, str] = {}
    for module in (reference, *tests):
        for name, value in list(vars(importlib.import_module(module)).items()):
            for part, meaning in _meanings(value, module, constants=module == reference):
                found[f"{module}.{name}{part}"] = hashlib.sha256(meaning.encode()).hexdigest()
    return found


def _meanings(value: Any, module: str, *, constants: bool) -> Iterator[tuple[str, str]]:
    """What one global of a module means, and each part of it that has a name."""
    if (code := getattr(value, "__code__", None)) is not None:
        yield "", _essence(code)
    elif isinstance(value, type) and value.__module__ == module:
        for name, member in vars(value).items():
            function = getattr(member, "__func__", member)
            # A recorder of ours in front of it is on both sides.
            function = getattr(function, "_tileport_inner", function)
            if (code := getattr(function, "__code__", None)) is not None:
                yield f".{name}", _essence(code)
    elif constants and hasattr(value, "_pyfunc"):
        yield "", f"{_essence(value._pyfunc.__code__)} {getattr(value, '_compiler_options', None)!r}"
    elif constants and isinstance(value, tuple) and " at 0x" not in repr(value):
        yield "", repr(value)


def _essence(code: CodeType) -> str:
    """What a function does, without where its file lies."""
    constants = [_essence(c) if isinstance(c, CodeType) else _spelled(c) for c in code.co_consts]
    return f"{code.co_code.hex()} {code.co_names} {code.co_varnames} {constants}"


def _spelled(constant: Any) -> str:
    """A constant's text; that of a set in an order which is the same in every process."""
    return f"{{{', '.join(sorted(map(repr, constant)))}}}" if isinstance(constant, frozenset) else repr(constant)


def thread_count() -> int:
    """Threads of this process, those the interpreter knows nothing of included."""
    return len(list(Path("/proc/self/task").iterdir()))


def python_threads() -> int:
    """Threads that are in Python code, beside the one that asks.

    Not `threading`'s own list: it lacks what `_thread` started, and has autograd's thread once that has logged a line.
    """
    return len(sys._current_frames()) - 1


def _meaning(name: str) -> tuple[Any, Any]:
    """The object and its code: replacing either shows."""
    found = resolve(name)
    return found, getattr(found, "__code__", None)


def resolve(name: str) -> Any:
    """The object `a.b.c` names, importing as far as there are modules; None if there is none."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:length]))
        except ImportError:
            continue
        for part in parts[length:]:
            # Through the type's own dictionary where there is one: a bound method is a new object every time.
            found = vars(found).get(part, getattr(found, part, None)) if hasattr(found, "__dict__") else None
        return found
    return None
