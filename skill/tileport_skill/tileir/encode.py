"""Writes records as bytecode, with cuTile Python's own writer, so that edited text can be assembled again.

The names of operands and attributes are the writer's own, so one loop over a writer function's parameters
serves nearly every operation; what is spelled differently is in the tables below.
"""

from __future__ import annotations

import enum
import functools
import inspect
import re
from collections.abc import Callable
from typing import Any

import cuda.tile._bytecode.encodings as encodings
import numpy as np
from cuda.tile._bytecode import attribute as attributes
from cuda.tile._bytecode.debug_info import DebugAttrId
from cuda.tile._bytecode.type import PaddingValue, PtrAttr, SimpleType
from cuda.tile._bytecode.version import BytecodeVersion
from cuda.tile._bytecode.writer import write_bytecode

from tileport_skill.errors import RequestError
from tileport_skill.tileir.elements import STORAGE, read_constant
from tileport_skill.tileir.formats import FOLDS, LOOPS
from tileport_skill.tileir.hints import per_architecture
from tileport_skill.tileir.records import Entry, Global, Module, Op, Region, Value
from tileport_skill.tileir.types import (
    GatherScatterView,
    PartitionView,
    Pointer,
    StridedView,
    TensorView,
    Tile,
    Token,
    Type,
)

_DYNAMIC = -(2**63)
_OVERFLOW = {"no_signed_wrap": "NSW", "no_unsigned_wrap": "NUW", "no_wrap": "NW"}
_DEFAULT_ROUNDING = {"exp": "FULL", "tanh": "FULL", "ftoi": "NEAREST_INT_TO_ZERO", "divi": "ZERO"}
_PADDING = {
    None: PaddingValue.Missing,
    "zero": PaddingValue.Zero,
    "neg_zero": PaddingValue.NegZero,
    "nan": PaddingValue.Nan,
    "pos_inf": PaddingValue.PosInf,
    "neg_inf": PaddingValue.NegInf,
}


def encode(module: Module) -> bytes:
    """The bytecode of `module`. Raises `RequestError` for what the writer cannot express."""
    if any(isinstance(item, Global) for item in module.items):
        raise RequestError("Modules with global variables are not written as bytecode.")
    out = bytearray()
    with write_bytecode(len(module.entries), out, BytecodeVersion.V_13_3) as writer:
        for entry in module.entries:
            _Encoder(writer).entry(entry)
    return bytes(out)


@functools.cache
def _writer_of(name: str) -> tuple[Callable[..., Any], tuple[inspect.Parameter, ...]]:
    wanted = {"pow": "fpowf"}.get(name, name).replace("_", "")
    for candidate, function in vars(encodings).items():
        if candidate.startswith("encode_") and candidate[7:-2].lower() == wanted:
            return function, tuple(inspect.signature(function).parameters.values())[1:]
    raise RequestError(f"The bytecode writer has no operation {name}.")


class _Encoder:
    def __init__(self, writer: Any) -> None:
        self.writer, self.types = writer, writer.type_table
        self.values: dict[Value, Any] = {}
        self.builder: Any = None

    def entry(self, entry: Entry) -> None:
        hints = {}
        for arch, given in per_architecture(entry.hints).items():
            hints[arch] = attributes.EntryHints(**{name: int(value) for name, value in given.items()})
        arguments = [self.type(argument.type) for argument in entry.arguments]
        with self.writer.function(entry.name, arguments, [], True, hints, DebugAttrId(0)) as function:
            self.builder = function.code_builder
            self.values.update(zip(entry.arguments, function.parameters, strict=True))
            self.region(entry.body, "return")

    def region(self, region: Region, ending: str) -> None:
        for op in region.ops:
            self.op(op)
        if not region.ops or region.ops[-1].name not in ("yield", "continue", "break", "return"):
            _writer_of(ending)[0](self.builder, [])

    def op(self, op: Op) -> None:
        function, parameters = _writer_of(op.name)
        results = iter(op.results)
        given = {p.name: self.argument(op, p.name, p.annotation, results) for p in parameters}
        made = function(self.builder, **given)
        if op.name in LOOPS or op.name in FOLDS or op.name == "if":
            ending = "continue" if op.name in LOOPS else "yield"
            for region in self.regions_of(op):
                with made.new_block([self.type(a.type) for a in region.arguments]) as arguments:
                    self.values.update(zip(region.arguments, arguments, strict=True))
                    self.region(region, ending)
            made = made.done()
        if op.results:
            self.values.update(zip(op.results, made if isinstance(made, tuple) else (made,), strict=True))

    def regions_of(self, op: Op) -> tuple[Region, ...]:
        missing = 2 - len(op.regions) if op.name == "if" else 0
        return (*op.regions, *(Region((), ()) for _ in range(missing)))

    def argument(self, op: Op, name: str, annotation: Any, results: Any) -> Any:
        """What the writer's parameter `name` gets for `op`."""
        if name.endswith("_types"):
            return [self.type(result.type) for result in op.results]
        if name.endswith("_type"):
            return self.type(next(results).type)
        key = name.rstrip("_")
        if key in op.operands:
            values = [self.values[value] for value in op.operands[key]]
            return values[0] if annotation is encodings.Value or "Optional" in str(annotation) else values
        if key in _SPECIAL:
            return _SPECIAL[key](self, op)
        if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
            return _member(annotation, self.spelled(op, key))
        if "MemoryScope" in str(annotation):
            return _member(encodings.MemoryScope, op.attributes[key]) if key in op.attributes else None
        if annotation is bool:
            return op.attributes.get(key, "false") != "false"
        if annotation is int:
            return int(op.attributes[key])
        if annotation is str:
            return _unquoted(op.attributes[key])
        return None if "Optional" in str(annotation) else []

    def spelled(self, op: Op, key: str) -> str:
        if key in ("rounding_mode", "rounding"):
            return op.attributes.get(key, _DEFAULT_ROUNDING.get(op.name, "NEAREST_EVEN"))
        if key == "overflow":
            return _OVERFLOW.get(op.attributes.get(key, ""), "NONE")
        return op.attributes[key]

    def type(self, type_: Type) -> Any:
        if isinstance(type_, Token):
            return self.types.Token
        if isinstance(type_, Tile):
            return self.types.tile(self.element(type_.element), type_.shape)
        if isinstance(type_, TensorView):
            dims = [[_DYNAMIC if n is None else n for n in each] for each in (type_.shape, type_.strides)]
            return self.types.tensor_view(self.element(type_.element), *dims, PtrAttr.Missing)
        tensor, padding = self.type(type_.tensor), _PADDING[type_.padding]
        if isinstance(type_, PartitionView):
            return self.types.partition_view(type_.tile, tensor, type_.dim_map, padding)
        if isinstance(type_, StridedView):
            return self.types.strided_view(type_.tile, type_.traversal, tensor, type_.dim_map, padding)
        assert isinstance(type_, GatherScatterView)
        return self.types.gather_scatter_view(type_.tile, tensor, type_.sparse_dim, padding)

    def element(self, element: str | Pointer) -> Any:
        if isinstance(element, Pointer):
            return self.types.pointer(self.element(element.to), PtrAttr.Missing)
        return self.types.simple(SimpleType[element.upper()])

    def constant(self, op: Op) -> bytes:
        type_ = op.result.type
        assert isinstance(type_, Tile)
        assert isinstance(type_.element, str)
        if type_.element not in STORAGE or type_.element == "tf32":
            raise RequestError(f"Constants of {type_.element} are not written as bytecode.")
        text = op.attributes["value"].partition(": ")[2]
        listed = text.startswith("[")
        data = read_constant(text, type_.element, type_.shape if listed else ())
        if type_.element == "i1":
            return (
                np.packbits(data.reshape(-1), bitorder="little").tobytes() if listed else (b"\xff" if data else b"\0")
            )
        return np.ascontiguousarray(data).tobytes()

    def identities(self, op: Op) -> list[Any]:
        found = []
        for text in op.attributes["identities"].split(", "):
            value, _, element = text.partition(" : ")
            number = read_constant(value, element, ())
            if element.startswith("i"):
                width = int(element[1:])
                simple = self.types.simple(SimpleType[element.upper()])
                found.append(attributes.Integer(simple, width, int(number)))
            else:
                found.append(attributes.Float(float(number), SimpleType[element.upper()], self.types))
        return found

    def load_store_hints(self, op: Op) -> Any:
        if "optimization_hints" not in op.attributes:
            return None
        hints = {}
        for arch, given in per_architecture(op.attributes["optimization_hints"]).items():
            latency = int(given["latency"]) if "latency" in given else None
            hints[arch] = attributes.LoadStoreHints(latency, given.get("allow_tma") != "false")
        return attributes.make_load_store_hints(hints)


def _predicate(op: Op) -> Any:
    text = op.attributes["predicate"]
    if found := re.fullmatch(r"div_by<(\d+)(?:, every (\d+) along (\d+))?>", text):
        return attributes.DivBy(*[None if n is None else int(n) for n in found.groups()])
    if found := re.fullmatch(r"bounded<(\?|-?\d+), (\?|-?\d+)>", text):
        return attributes.Bounded(*[None if n == "?" else int(n) for n in found.groups()])
    raise RequestError(f"The predicate {text} is not written as bytecode.")


def _unquoted(text: str) -> str:
    if text.startswith("@"):
        return text[1:]
    return re.sub(r"\\([0-9A-F]{2})", lambda m: chr(int(m[1], 16)), text[1:-1])


def _member(kind: type[enum.Enum], spelled: str) -> enum.Enum:
    wanted = spelled.replace("_", "").lower()
    for member in kind:
        if member.name.replace("_", "").lower() == wanted:
            return member
    raise RequestError(f"{kind.__name__} has no {spelled}.")


_SPECIAL: dict[str, Callable[[_Encoder, Op], Any]] = {
    "identities": _Encoder.identities,
    "optimization_hints": _Encoder.load_store_hints,
    "predicate": lambda encoder, op: _predicate(op),
    "value": _Encoder.constant,
    "permutation": lambda encoder, op: [int(d) for d in op.attributes["permutation"].split(", ")],
    "inbounds": lambda encoder, op: (),
}
