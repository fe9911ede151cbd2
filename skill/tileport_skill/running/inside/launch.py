"""Stands in for `cuda.tile.launch` on CPU tensors: cuTile exports the kernel, the interpreter runs it in place.

The specialisation is computed by cuTile's own launch path on fake CUDA tensors of the same layout. Where a port's
kernel is to be run, it is found by the reference's bytecode, for which it was emitted.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cuda.tile as ct
import ml_dtypes
import numpy as np
import torch
import torch._subclasses.fake_tensor as fake_tensor
from cuda.tile import tune
from cuda.tile._execution import kernel as Kernel
from cuda.tile.compilation import ConstantConstraint, KernelSignature

from tileport_skill.capture.inside.export import export_one
from tileport_skill.running.text_key import text_key
from tileport_skill.tileir.assemble import Refused, disassemble
from tileport_skill.tileir.interpret import Limits, run
from tileport_skill.tileir.launch import ArrayTable, Buffer, Launch, TableRow, Written
from tileport_skill.tileir.parse import parse
from tileport_skill.tileir.records import Entry

LIMITS = Limits(operations=100_000_000, blocks=1 << 30, findings=100)
NARROW = {
    torch.bfloat16: (torch.int16, ml_dtypes.bfloat16),
    torch.float8_e4m3fn: (torch.int8, ml_dtypes.float8_e4m3fn),
    torch.float8_e5m2: (torch.int8, ml_dtypes.float8_e5m2),
}
"""Types NumPy does not have: viewed as integers on the way."""


class _Stopped(BaseException):
    """Leaves cuTile's launch path; not an `Exception`, so that no operator swallows it."""

    def __init__(self, signature: KernelSignature) -> None:
        super().__init__()
        self.signature = signature


@dataclass(eq=False)
class Interpreted:
    """What was launched since the last `start`, and what the interpreter found in it."""

    arch: str
    symbol: str
    ir: Path
    """The folder that exported bytecode is kept in."""
    ports: dict[str, str] = field(default_factory=dict)
    """The file of a port's bytecode by the key of the reference's text; empty to run the reference's own."""
    spoiled: str | None = None
    """A kernel whose results are falsified, to see that the running test notices."""
    launches: Counter[str] = field(default_factory=Counter)
    blocks: Counter[str] = field(default_factory=Counter)
    findings: dict[str, set[str]] = field(default_factory=dict)
    foreign: set[str] = field(default_factory=set)
    """Kernels launched under a specialisation that the port was not compiled for; the reference's own ran."""
    last: str = ""
    """The kernel launched last, to blame for what the interpreter does not know."""

    def install(self) -> None:
        """Before the operators' modules are imported: some keep `ct.launch` by name."""
        self.real_launch = ct.launch
        setattr(fake_tensor, "init_gpu_context", lambda *_: None)  # noqa: B010 - it would start a CUDA context
        Kernel._compile = _stop
        ct.launch = self.launch
        tune.exhaustive_search = tune._tune.exhaustive_search = _first

    def start(self, spoiled: str | None) -> None:
        self.spoiled, self.last = spoiled, ""
        self.launches.clear()
        self.blocks.clear()
        self.findings.clear()
        self.foreign.clear()

    def launch(self, _stream: Any, grid: Any, kernel: Any, args: Any, /, **_options: Any) -> None:
        with torch._C.DisableTorchFunction():
            self._launch(tuple(int(n) for n in grid), kernel, tuple(args))

    def _launch(self, grid: tuple[int, ...], kernel: Any, args: tuple[Any, ...]) -> None:
        function = kernel._pyfunc
        self.last = name = f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}"
        signature = self._signature(grid, kernel, args)
        entry = self._entry(name, kernel, signature)
        memory = _Memory()
        arguments: list[Buffer | ArrayTable | int | float] = []
        for value, parameter in zip(args, signature.parameters, strict=True):
            if not isinstance(parameter, ConstantConstraint):
                arguments += memory.arguments(value)
        x, y, z = (*grid, 1, 1, 1)[:3]
        outcome = run(entry, Launch((x, y, z), tuple(arguments)), LIMITS)
        self.launches[name] += 1
        self.blocks[name] += x * y * z
        for finding in outcome.findings:
            self.findings.setdefault(name, set()).add(f"{finding.kind}: {finding.text}")
        unsure = sum(int(written.poison.sum()) for written in outcome.buffers)
        if unsure:
            self.findings.setdefault(name, set()).add("unspecified: stores results of lanes read outside an array")
        memory.write_back(outcome.buffers, falsify=self.spoiled == name)

    def _entry(self, name: str, kernel: Any, signature: KernelSignature) -> Entry:
        sha256 = _exported(kernel, _Key(signature, repr((signature, kernel._compiler_options))), self)
        own = str(self.ir / f"{sha256}.tileirbc")
        port = self.ports.get(text_key(Path(own))) if self.ports else None
        if self.ports and port is None:
            self.foreign.add(name)
        return _read(port or own)

    def _signature(self, grid: tuple[int, ...], kernel: Any, args: tuple[Any, ...]) -> KernelSignature:
        try:
            self.real_launch(0, grid, kernel, tuple(map(_fake, args)))
        except _Stopped as stopped:
            return stopped.signature
        raise RuntimeError(f"the launch of {kernel._pyfunc.__name__} did not reach the compiler")


def _stop(self: Any, signature: KernelSignature, context: Any, compute_capability: Any = None) -> None:
    raise _Stopped(signature)


def _first(search_space: Any, *_args: Any, **_options: Any) -> Any:
    """The tuner's answer without running anything: its first configuration."""
    best = tune.Measurement(config=next(iter(search_space)), mean_us=1.0, num_samples=1, error_margin_us=0.1)
    return tune.TuningResult(best=best, successes=[best], failures=[])


_FAKES = fake_tensor.FakeTensorMode(allow_non_fake_inputs=True)


def _fake(value: Any) -> Any:
    """A CUDA tensor laid out like `value`, without contents."""
    if isinstance(value, torch.Tensor):
        count = value.untyped_storage().nbytes() // value.element_size()
        with _FAKES:
            whole = torch.empty(count, dtype=value.dtype, device="cuda")
            return whole.as_strided(value.shape, value.stride(), value.storage_offset())
    if isinstance(value, (list, tuple)):
        return type(value)(map(_fake, value))
    return value


@dataclass(frozen=True, eq=False)
class _Key:
    """A signature that can be remembered by its text."""

    signature: KernelSignature
    text: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)


@functools.lru_cache(maxsize=512)
def _exported(kernel: Any, key: _Key, runs: Interpreted) -> str:
    """The hash of the reference's bytecode, as captures name it."""
    done = export_one(kernel, key.signature, runs.arch, runs.symbol, runs.ir)
    if isinstance(done, str):
        raise TypeError(done)
    return done.sha256


@functools.lru_cache(maxsize=512)
def _read(path: str) -> Entry:
    text = disassemble(Path(path).read_bytes())
    if isinstance(text, Refused):
        raise TypeError(text.reason)
    return parse(text).entries[0]


class _Memory:
    """The storages of one launch as NumPy arrays, which share their memory with torch."""

    def __init__(self) -> None:
        self.arrays: dict[tuple[int, torch.dtype], np.ndarray] = {}

    def arguments(self, value: Any) -> list[Buffer | ArrayTable | int | float]:
        """What one argument becomes: for an array its pointer, sizes and strides."""
        if isinstance(value, torch.Tensor):
            return [self.buffer(value), *value.shape, *value.stride()]
        if isinstance(value, (list, tuple)):
            rows = tuple(TableRow(self.buffer(t), (*t.shape, *t.stride())) for t in value)
            return [ArrayTable("list", rows), len(rows)]
        return [value]

    def buffer(self, tensor: torch.Tensor) -> Buffer:
        tensor = tensor.detach()
        storage = tensor.untyped_storage()
        key = (storage.data_ptr(), tensor.dtype)
        if key not in self.arrays:
            count = storage.nbytes() // tensor.element_size()
            whole = torch.empty(0, dtype=tensor.dtype).set_(storage, 0, (count,), (1,))
            through, dtype = NARROW.get(tensor.dtype, (tensor.dtype, None))
            array = whole.view(through).numpy()
            self.arrays[key] = array if dtype is None else array.view(dtype)
        return Buffer("array", self.arrays[key], int(tensor.storage_offset()))

    def write_back(self, written: tuple[Written, ...], *, falsify: bool) -> None:
        """Only what was stored. Unspecified lanes are zeros, as TMA has them: TileGym's attention rests on that."""
        for array, result in zip(self.arrays.values(), written, strict=True):
            data = result.data
            if array.dtype.kind not in "iub":
                data = (data.astype(np.float64) * 1.5 + 0.75).astype(array.dtype) if falsify else data
            elif falsify:
                data = ~data if array.dtype.kind == "b" else data + 1
            array[result.touched] = data[result.touched]


Spy = Callable[..., Any]


def spy_on(holder: Any, name: str, note: Callable[[tuple[Any, ...], dict[str, Any]], None]) -> None:
    """Notes each call of `holder.name`, if there is one."""
    original = getattr(holder, name, None)
    if original is None or getattr(original, "tileport_spied", False):
        return

    @functools.wraps(original)
    def spied(*args: Any, **options: Any) -> Any:
        note(args, options)
        return original(*args, **options)

    spied.tileport_spied = True  # type: ignore[attr-defined]
    setattr(holder, name, spied)
