"""The frozen records of a capture, as they lie on disk in `capture.json`."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

from pydantic import Discriminator

FORBID: dict[str, str] = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorArgument:
    """An array as the kernel received it; strides and offset in elements."""

    kind: Literal["tensor"] = "tensor"
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    storage: int
    """Number of its storage within the test: arguments of one number alias."""
    __pydantic_config__: ClassVar = FORBID


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueArgument:
    """A scalar, or what a `Constant` parameter was bound to; `text` is its Python spelling."""

    kind: Literal["value"] = "value"
    type: str
    text: str
    __pydantic_config__: ClassVar = FORBID


@dataclass(frozen=True, slots=True, kw_only=True)
class ListArgument:
    """A list or tuple of arguments."""

    kind: Literal["list"] = "list"
    items: tuple[TensorArgument | ValueArgument, ...]
    __pydantic_config__: ClassVar = FORBID


Argument = Annotated[TensorArgument | ValueArgument | ListArgument, Discriminator("kind")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Array:
    """What cuTile assumes of an array parameter, as its own launch path computed it."""

    kind: Literal["array"] = "array"
    name: str
    dtype: str
    ndim: int
    index_dtype: str
    stride_constant: tuple[int | None, ...]
    shape_constant: tuple[int | None, ...]
    stride_divisible_by: tuple[int, ...]
    shape_divisible_by: tuple[int, ...]
    base_divisible_by: int
    may_alias_internally: bool
    __pydantic_config__: ClassVar = FORBID


@dataclass(frozen=True, slots=True, kw_only=True)
class Scalar:
    """A runtime scalar parameter."""

    kind: Literal["scalar"] = "scalar"
    name: str
    dtype: str
    __pydantic_config__: ClassVar = FORBID


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant:
    """A parameter bound at compile time."""

    kind: Literal["constant"] = "constant"
    name: str
    type: str
    text: str
    __pydantic_config__: ClassVar = FORBID


@dataclass(frozen=True, slots=True, kw_only=True)
class Other:
    """A parameter of a kind not taken apart here (lists of arrays, tuples): cuTile's own spelling of it."""

    kind: Literal["other"] = "other"
    name: str
    text: str
    __pydantic_config__: ClassVar = FORBID


Parameter = Annotated[Array | Scalar | Constant | Other, Discriminator("kind")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hints:
    """The compiler hints of one kernel for one architecture; `None` leaves the choice to the compiler."""

    occupancy: int | None = None
    num_ctas: int | None = None
    num_worker_warps: int | None = None
    opt_level: int | None = None
    __pydantic_config__: ClassVar = FORBID


@dataclass(frozen=True, slots=True, kw_only=True)
class Bytecode:
    """Exported Tile IR, content-addressed in the cache."""

    sha256: str
    symbol: str
    __pydantic_config__: ClassVar = FORBID


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelKey:
    """What one kernel is, as against another of the same name."""

    module: str
    kernel: str
    code: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Specialisation:
    """The compile-time half of a launch."""

    id: str
    """Hash of everything below but the IR; the same from run to run."""
    kernel: str
    """`_silu_and_mul_kernel_row_wise`."""
    module: str
    code: str = ""
    """Hash of its code and of what it closes over: a factory's kernels share name and module."""
    parameters: tuple[Parameter, ...]
    hints: Hints
    calling_convention: str
    ir: Bytecode | None
    refused: str | None = None
    """Why cuTile's compiler refused it, when it did."""
    __pydantic_config__: ClassVar = FORBID

    @property
    def key(self) -> KernelKey:
        return KernelKey(module=self.module, kernel=self.kernel, code=self.code)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostTensor:
    """A tensor that host code worked on."""

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    device: str
    __pydantic_config__: ClassVar = FORBID


@dataclass(frozen=True, slots=True, kw_only=True)
class HostOperation:
    """One operation on device tensors that an operator's host code asked torch for; mere views are left out."""

    operation: str
    """`aten._to_copy`, as torch's dispatcher names it."""
    where: str
    """The line of the checkout that asked for it."""
    inputs: tuple[HostTensor, ...]
    outputs: tuple[HostTensor, ...]
    options: tuple[str, ...]
    """Its other arguments, `dtype=torch.float32`."""
    feeds: tuple[str, ...] = ()
    """Later launches of the same call that get its result or a view of it: `_kernel.parameter`."""
    takes: tuple[str, ...] = ()
    """Earlier launches of the same call that had one of its inputs as an argument."""
    __pydantic_config__: ClassVar = FORBID


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One way the reference implementation was called: its function and what can be said of its arguments."""

    function: str
    features: tuple[tuple[str, str], ...]
    """`x.dtype` is `float32`, `x.size(1)` is `4096`, `use_tma` is `True`."""
    __pydantic_config__: ClassVar = FORBID


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One launch, or one configuration the tuner would have tried."""

    test: str
    purpose: Literal["launch", "tune"]
    specialisation: str
    kernel: str
    grid: tuple[int, ...]
    arguments: tuple[Argument, ...]
    backward: bool
    """Whether autograd's backward pass made it."""
    configuration: str | None = None
    """The tuner's configuration, in its own spelling."""
    port_ir: Bytecode | None = None
    """The kernel compiled under what a port's launcher assumes of these arguments; see `inside/export.py`."""
    call: int = 0
    """Number of the operator call within its test: launches of one call have the same."""
    entry: int | None = None
    """How the implementation was called, an index into `Capture.entries`; `None` if no reference stood on the stack."""
    before: tuple[int, ...] = ()
    """What the host did since the call began or since its previous launch: indices into `Capture.host`."""
    after: tuple[int, ...] = ()
    """What it did afterwards, on the last launch of a call."""
    __pydantic_config__: ClassVar = FORBID


AGAIN = " again "
"""In the name of a test that is another's call made once more with awkward arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Test:
    """What became of one test."""

    id: str
    status: Literal["passed", "skipped", "failed"]
    launches: int
    configurations: int
    reason: str | None = None
    where: str | None = None
    """The line that raised, in the checkout's own files where there is one."""
    scalar_reads: tuple[str, ...] = ()
    """Lines that read a value of a fake tensor and got a neutral one."""
    tolerances: tuple[tuple[float | None, float | None], ...] = ()
    """Relative and absolute, as the test states them to its base class."""
    __test__: ClassVar = False  # pytest would collect it by its name
    __pydantic_config__: ClassVar = FORBID


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """Everything one architecture's run of the tests of the given operators yielded."""

    operators: tuple[str, ...]
    arch: str
    profile: str
    symbol: str
    tests: tuple[Test, ...]
    launches: tuple[Launch, ...]
    specialisations: tuple[Specialisation, ...]
    versions: dict[str, str]
    seconds: float
    host: tuple[HostOperation, ...] = ()
    """Distinct operations of host code around the launches."""
    entries: tuple[Entry, ...] = ()
    """Distinct ways the implementations were called."""
    refused: tuple[tuple[str, str, str], ...] = ()
    """Of a widened tuning space: kernel, configuration, and why the host's code does not take it."""
    launch_keys: tuple[tuple[str, str], ...] = ()
    """With it, for each specialisation the key that a launch on a GPU asks for its cubin by."""
    __pydantic_config__: ClassVar = FORBID

    def only(self, ids: Collection[str]) -> Capture:
        """The same with these specialisations alone, and the launches of them."""
        return replace(
            self,
            specialisations=tuple(one for one in self.specialisations if one.id in ids),
            launches=tuple(one for one in self.launches if one.specialisation in ids),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PortParameter:
    """One value a port's launcher pushed: its type in Tile IR, and `storage 2 + 64` (bytes) or a number."""

    type: str
    value: str
    __pydantic_config__: ClassVar = FORBID


@dataclass(frozen=True, slots=True, kw_only=True)
class PortLaunch:
    """One launch as it reached the driver from the port's own launcher."""

    test: str
    purpose: Literal["launch", "tune"]
    grid: tuple[int, ...]
    parameters: tuple[PortParameter, ...]
    ir: Bytecode
    """The bytecode that the launcher handed to `tileiras`."""
    __pydantic_config__: ClassVar = FORBID


@dataclass(frozen=True, slots=True, kw_only=True)
class PortRecording:
    """Everything one architecture's run of the tests on the port yielded."""

    operators: tuple[str, ...]
    arch: str
    profile: str
    tests: tuple[Test, ...]
    launches: tuple[PortLaunch, ...]
    versions: dict[str, str]
    seconds: float
    __pydantic_config__: ClassVar = FORBID


@dataclass(frozen=True, slots=True, kw_only=True)
class CArray:
    """An array as a port's wrapper describes it to its launcher."""

    kind: Literal["array"] = "array"
    pointer: str
    """`storage 2 + 64`, in bytes."""
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: int
    """TileGym's code of the element type."""
    __pydantic_config__: ClassVar = FORBID


@dataclass(frozen=True, slots=True, kw_only=True)
class CNumber:
    """A number as C converted it."""

    kind: Literal["number"] = "number"
    value: int | float
    __pydantic_config__: ClassVar = FORBID


CValue = Annotated[CArray | CNumber, Discriminator("kind")]


@dataclass(frozen=True, slots=True, kw_only=True)
class CCall:
    """One call of a port's wrapper into its library, stopped at the C function's door."""

    test: str
    purpose: Literal["launch", "tune"]
    symbol: str
    arguments: tuple[CValue, ...]
    __pydantic_config__: ClassVar = FORBID


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRecording:
    """Everything one architecture's run of the tests on a port's wrapper yielded, without its library."""

    operators: tuple[str, ...]
    arch: str
    profile: str
    tests: tuple[Test, ...]
    calls: tuple[CCall, ...]
    versions: dict[str, str]
    seconds: float
    __pydantic_config__: ClassVar = FORBID
