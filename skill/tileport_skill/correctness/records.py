"""What the correctness run is asked, and what it found: frozen, JSON in and out, free of torch."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

Role = Literal["reference", "port"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One operator to judge. In a file, paths are relative to its folder; `read_job` makes them absolute."""

    operator: str
    names: tuple[str, ...]
    """The names TileGym dispatches it under."""
    reference_module: str
    """`tilegym.ops.cutile.silu_and_mul`"""
    kernels: tuple[str, ...]
    """The reference's `@ct.kernel` functions."""
    entries: tuple[str, ...]
    """The entries the port's `kernel.rs` declares."""
    base: str
    """A tree without the port: its tests are run, on both sides."""
    tree: str
    """The same tree with the port."""
    package: str
    """Where `tilegym` is imported from, relative to a tree: `src`, or `.` for a wheel."""
    tests: tuple[str, ...]
    """Test files, relative to `tests_root`."""
    tests_root: str
    """Holds the base's `tests`, or the project's own cases where the base has none of the operator; no `tilegym`."""
    own_tests: bool
    """Whether `tests` are the project's own."""
    library: str
    """The port's shared library, relative to `tree`."""
    library_sha256: str
    tuned: bool
    """Whether tests go through both sides' tuners, which time nothing here; without, `TILEGYM_DISABLE_AUTOTUNE=1`. The
    calls after the tests are never tuned."""
    seed: int
    """Fresh for every run, so that no port can know its inputs."""
    base_tree: str = ""
    """git's hash of the base, the port hidden; empty where the trees come from no repository."""
    result_tree: str = ""
    """git's hash of the tree with the port: what the evidence is about."""
    without: tuple[str, ...] = ()
    """Variations left out: `large` takes most of a GPU, so it cannot run where several runs share one."""
    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TestRun:
    """One test case on one side; what it reached is empty where it never came to its body."""

    id: str
    """pytest's node id as the base's own parameters give it, so that both sides' agree."""
    outcome: Literal["passed", "failed", "skipped", "error"]
    message: str
    dispatched: int = 0
    """Calls that reached the side's implementation of the operator."""
    reference_launches: int = 0
    """Launches of cuTile Python kernels: any on the port's side is a bypass."""
    gradients: tuple[bool, ...] = ()
    """Per dispatched call, whether what it returned takes part in autograd."""
    kernels: tuple[str, ...] = ()
    """Kernels CUPTI saw inside dispatched calls, sorted, each once; empty where tracing was off."""
    other_kernels: tuple[str, ...] = ()
    """Entries of the port that ran in the test outside dispatched calls: the backward pass."""
    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """One value that a call returned, or one gradient."""

    type: str
    """The exact Python type, `torch.Tensor`."""
    dtype: str = ""
    shape: tuple[int, ...] = ()
    stride: tuple[int, ...] = ()
    device: str = ""
    requires_grad: bool = False
    alias: int = -1
    """The input whose storage it shares, or -1."""
    storage: bool = True
    """Whether memory stands behind it."""
    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """One piece of device work that CUPTI recorded: a kernel, or a copy or fill by the driver."""

    name: str
    stream: int
    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What one call did on one side."""

    item: str
    """`call 3, misaligned`"""
    error: str | None
    outputs: tuple[Value, ...] = ()
    gradients: tuple[Value | None, ...] = ()
    changed: tuple[int, ...] = ()
    """Inputs whose storage, padding included, held other bytes afterwards."""
    work: tuple[Kernel, ...] = ()
    stream: int = -1
    """The stream the call was made on."""
    threads: int = 0
    """Threads the interpreter has beside the caller's, and those the process gained in the call."""
    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Both sides' values of one call, compared in a process that never imported the port."""

    item: str
    identical: bool
    """Every byte of every output and gradient."""
    problems: tuple[str, ...]
    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """Everything one side's process left."""

    tests: tuple[TestRun, ...]
    observations: tuple[Observation, ...]
    patched: tuple[str, ...]
    """Functions of ours, of torch or of the tests that were not the same objects afterwards."""
    fingerprint: dict[str, str]
    """Per function, kernel and constant of the reference's module and of the tests', a hash of what it means."""
    unrecorded: tuple[str, ...]
    """Calls whose arguments could not be kept, with the reason."""
    exit: str
    """`ended`, or how the process died and during what."""
    bytecodes: tuple[str, ...]
    """SHA-256 of each bytecode that went to the assembler, sorted."""
    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sanitized:
    """What compute-sanitizer's memcheck said of the port's kept calls, each tensor an allocation of its own."""

    calls: int = 0
    """How many it watched from beginning to end."""
    errors: tuple[str, ...] = ()
    """Accesses outside any allocation, or misaligned ones, that the reference does not make."""
    not_run: str = ""
    """Why it says nothing, if so."""
    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The whole run."""

    job: Job
    library_sha256: str
    """Of the library as it lay there when the port had run."""
    reference: Side
    port: Side
    comparisons: tuple[Comparison, ...]
    host: dict[str, str]
    """Device, driver, versions."""
    seconds: float
    sanitized: Sanitized = Sanitized(not_run="made before there was this check")
    schema: Literal[1] = 1
    __pydantic_config__: ClassVar = {"extra": "forbid"}


def entry_of(symbol: str) -> str:
    """The entry's name in `kernel.rs`, from the symbol cuTile Rust gives it."""
    return symbol.removesuffix("_entry")


def to_json(record: Any) -> str:
    """One record as one line."""
    return json.dumps(dataclasses.asdict(record))


def write_json(path: Path, record: Any) -> None:
    """Written whole or not at all."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps(dataclasses.asdict(record), indent=1) + "\n", encoding="utf-8")
    part.replace(path)


def read_job(path: Path) -> Job:
    """A job as `write_json` left it, its folders where they lie now."""
    found = Job(**_tuples(json.loads(path.read_text(encoding="utf-8"))))
    here = path.resolve().parent
    base, tree, root = (str(here / place) for place in (found.base, found.tree, found.tests_root))
    return dataclasses.replace(found, base=base, tree=tree, tests_root=root)


def read_observation(line: str) -> Observation:
    """An observation as `to_json` left it."""
    found = json.loads(line)
    return Observation(
        item=found["item"],
        error=found["error"],
        outputs=tuple(map(_value, found["outputs"])),
        gradients=tuple(_value(value) if value else None for value in found["gradients"]),
        changed=tuple(found["changed"]),
        work=tuple(Kernel(**kernel) for kernel in found["work"]),
        stream=found["stream"],
        threads=found["threads"],
    )


def read_test(line: str) -> TestRun:
    """A test as `to_json` left it."""
    return TestRun(**_tuples(json.loads(line)))


def _value(found: dict[str, Any]) -> Value:
    return Value(**_tuples(found))


def _tuples(found: dict[str, Any]) -> dict[str, Any]:
    """JSON has lists only; the records hold tuples."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in found.items()}
