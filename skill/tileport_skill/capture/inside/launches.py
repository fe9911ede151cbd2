"""Every launch an operator makes, seen by cuTile's own C launch path and stopped before compilation.

`cuda.tile.launch` is called for real on the fake arguments: it checks them and computes the specialisation. Only
`kernel._compile`, where a GPU would come in, is replaced by one that keeps the signature.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import cuda.tile as ct
import torch
from cuda.tile import tune
from cuda.tile._execution import kernel as Kernel
from cuda.tile.compilation import (
    ArrayConstraint,
    ConstantConstraint,
    KernelSignature,
    ScalarConstraint,
)

from tileport_skill.capture import records
from tileport_skill.capture.inside import values
from tileport_skill.capture.inside.host import HostRecorder
from tileport_skill.capture.inside.widen import Searched, Widening
from tileport_skill.kernel_code import code_digest


class _Stopped(BaseException):
    """Leaves the C launch path; not an `Exception`, so that no operator swallows it."""

    def __init__(self, signature: KernelSignature) -> None:
        super().__init__()
        self.signature = signature


@dataclasses.dataclass(frozen=True, slots=True)
class Compilable:
    """A distinct specialisation with what is needed to export it."""

    record: records.Specialisation
    kernel: Any
    signature: KernelSignature


class Recorder:
    """Collects launches and the distinct specialisations among them, for one architecture."""

    def __init__(self, arch: str, host: HostRecorder, widening: Widening | None = None) -> None:
        self.arch = arch
        self.host = host
        self.widening = widening
        """Makes up more candidates for whatever is launched; None unless a wider tuning space is asked for."""
        self.test = ""
        self.again = False
        """Whether a call is made once more: host work is no news then."""
        self.launches: list[records.Launch] = []
        self.compilable: dict[str, Compilable] = {}
        self._storages: dict[int, int] = {}
        self._alive: list[Any] = []
        self._real_launch = ct.launch

    def install(self) -> None:
        """Must run before the operator's modules are imported: some keep `ct.launch` by name."""
        Kernel._compile = _stop
        ct.launch = self._launch
        tune.exhaustive_search = self._search
        tune._tune.exhaustive_search = self._search

    def start(self, test: str) -> None:
        self.test = test
        self._storages.clear()
        self._alive.clear()
        self.host.start()
        if self.widening is not None:
            self.widening.start()

    def forget(self, test: str, known: int) -> None:
        """Takes back what the test launched that was begun with `known` kinds of kernels seen."""
        while self.launches and self.launches[-1].test == test:
            self.launches.pop()
        for id in list(self.compilable)[known:]:
            del self.compilable[id]

    def _launch(self, _stream: Any, grid: Any, kernel: Any, args: Any, /, **_options: Any) -> None:
        self._record("launch", grid, kernel, args)
        if self.widening is not None and not self.again:
            with self._unobserved():
                self.widening.launched(grid, kernel, args, self._record)

    def _search(
        self,
        search_space: Any,
        _stream: Any,
        grid_fn: Any,
        kernel: Any,
        args_fn: Any,
        hints_fn: Any = None,
        **_options: Any,
    ) -> Any:
        """Records the whole space and answers with its first configuration."""
        space = list(search_space)
        if not space:
            raise ValueError("Search space is empty.")
        with self._unobserved():
            for configuration in space:
                chosen = kernel if isinstance(kernel, Kernel) else kernel(configuration)
                hinted = chosen.replace_hints(**(hints_fn(configuration) if hints_fn else {}))
                self._record("tune", grid_fn(configuration), hinted, args_fn(configuration), repr(configuration))
        if self.widening is not None:
            searched = Searched(space=space, grid_fn=grid_fn, args_fn=args_fn, hints_fn=hints_fn)
            self.widening.searched(kernel, searched)
        best = tune.Measurement(config=space[0], mean_us=1.0, num_samples=1, error_margin_us=0.1)
        return tune.TuningResult(best=best, successes=[best], failures=[])

    @contextmanager
    def _unobserved(self) -> Iterator[None]:
        """What a tuner needs for its trials is no part of the operator's work."""
        before, self.host.paused = self.host.paused, True
        try:
            yield
        finally:
            self.host.paused = before

    def _record(self, purpose: Any, grid: Any, kernel: Any, args: Any, configuration: str | None = None) -> None:
        grid = tuple(int(size) for size in grid)
        signature = self._signature(grid, kernel, tuple(args))
        specialisation = self._specialisation(kernel, signature)
        call, entry = 0, None
        if purpose == "launch":
            for value in args:
                _forget_values(value)
        if purpose == "launch" and not self.again:
            names = [f"{specialisation.kernel}.{parameter.name}" for parameter in specialisation.parameters]
            call, entry = self.host.launched(len(self.launches), list(_tensors(names, args)))
        self.launches.append(
            records.Launch(
                test=self.test,
                purpose=purpose,
                specialisation=specialisation.id,
                kernel=specialisation.kernel,
                grid=grid,
                arguments=tuple(self._argument(value) for value in args),
                backward=torch._C._current_graph_task_id() != -1,
                configuration=configuration,
                call=call,
                entry=entry,
            )
        )

    def _signature(self, grid: tuple[int, ...], kernel: Any, args: tuple[Any, ...]) -> KernelSignature:
        try:
            self._real_launch(0, grid, kernel, args)
        except _Stopped as stopped:
            return stopped.signature
        raise RuntimeError(f"the launch of {kernel._pyfunc.__name__} did not reach the compiler")

    def _specialisation(self, kernel: Any, signature: KernelSignature) -> records.Specialisation:
        function = kernel._pyfunc
        names = function.__code__.co_varnames
        record = records.Specialisation(
            id="",
            kernel=function.__qualname__,
            module=function.__module__,
            code=code_digest(function),
            parameters=tuple(map(_parameter, names, signature.parameters)),
            hints=_hints(kernel, self.arch),
            calling_convention=signature.calling_convention.code,
            ir=None,
        )
        text = json.dumps([dataclasses.asdict(record), list(map(repr, signature.parameters))], sort_keys=True)
        record = dataclasses.replace(record, id=hashlib.sha256(text.encode()).hexdigest()[:16])
        self.compilable.setdefault(record.id, Compilable(record, kernel, signature))
        return record

    def _argument(self, value: Any) -> records.Argument:
        if isinstance(value, torch.Tensor):
            memory = value.untyped_storage()
            if memory._cdata not in self._storages:
                self._alive.append(memory)  # so that no other storage of the test gets its address
            storage = self._storages.setdefault(memory._cdata, len(self._storages))
            return records.TensorArgument(
                dtype=_dtype(value.dtype),
                shape=tuple(value.shape),
                strides=tuple(value.stride()),
                offset=int(value.storage_offset()),
                storage=storage,
            )
        if isinstance(value, (list, tuple)):
            return records.ListArgument(items=tuple(self._argument(item) for item in value))  # type: ignore[misc]
        return records.ValueArgument(type=type(value).__name__, text=repr(value))


def _tensors(names: Sequence[str], args: Any) -> Iterator[tuple[str, torch.Tensor]]:
    for name, value in zip(names, args, strict=False):
        for item in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(item, torch.Tensor):
                yield name, item


def _forget_values(value: Any) -> None:
    if isinstance(value, torch.Tensor):
        values.forget(value)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _forget_values(item)


def _stop(self: Any, signature: KernelSignature, context: Any, compute_capability: Any = None) -> None:
    raise _Stopped(signature)


def _parameter(name: str, constraint: Any) -> records.Parameter:
    match constraint:
        case ArrayConstraint():
            return records.Array(
                name=name,
                dtype=str(constraint.dtype),
                ndim=constraint.ndim,
                index_dtype=str(constraint.index_dtype),
                stride_constant=tuple(constraint.stride_constant),
                shape_constant=tuple(constraint.shape_constant),
                stride_divisible_by=tuple(constraint.stride_divisible_by),
                shape_divisible_by=tuple(constraint.shape_divisible_by),
                base_divisible_by=constraint.base_addr_divisible_by,
                may_alias_internally=constraint.may_alias_internally,
            )
        case ScalarConstraint():
            return records.Scalar(name=name, dtype=str(constraint.dtype))
        case ConstantConstraint():
            return records.Constant(name=name, type=type(constraint.value).__name__, text=repr(constraint.value))
        case _:
            return records.Other(name=name, text=repr(constraint))


def _hints(kernel: Any, arch: str) -> records.Hints:
    by_target = kernel._compiler_options.hints_by_target()
    chosen = {**by_target.get("default", {}), **by_target.get(arch, {})}
    return records.Hints(**{name: chosen.get(name) for name in records.Hints.__dataclass_fields__ if name in chosen})


def _dtype(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
