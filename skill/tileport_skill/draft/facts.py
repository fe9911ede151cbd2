"""The compiler's readings of one kernel, asked by place: over all specialisations, in terms of type generics."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tileport_skill.draft.oracle.records import Node, Reading, Span
from tileport_skill.draft.values import Untranslatable
from tileport_skill.emit.mapping import TENSOR_CORES

Place = tuple[Span, ...]

RUST_ELEMENTS = {
    "bool_": "bool",
    "bool": "bool",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
    "tfloat32": "tf32",
    "float8_e4m3fn": "f8e4m3fn",
    "float8_e5m2": "f8e5m2",
}


def span(node: ast.AST) -> Span:
    """Where `node` stands, as the oracle's places say it."""
    line, column = getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
    return (line, column, getattr(node, "end_lineno", line), getattr(node, "end_col_offset", column))


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One place, in every specialisation that reaches it, by the specialisation's number."""

    nodes: Mapping[int, Node]

    @property
    def dtypes(self) -> dict[int, str]:
        return {index: node.dtype for index, node in self.nodes.items() if node.dtype is not None}

    @property
    def symbols(self) -> dict[int, str]:
        return {index: node.symbol for index, node in self.nodes.items() if node.symbol is not None}

    @property
    def constant(self) -> int | float | bool | str | None:
        """Its value, if it is the same known number or text wherever the place is reached."""
        found = {node.constant for node in self.nodes.values()}
        (only,) = found if len(found) == 1 else (None,)
        return None if only is None else _number(only)

    @property
    def constants(self) -> tuple[object, ...]:
        """Its values, if it is known everywhere."""
        texts = [node.constant for node in self.nodes.values()]
        return tuple(_number(text) for text in texts if text is not None) if None not in texts else ()


def _number(text: str) -> int | float | bool | str | None:
    if text in ("inf", "-inf", "nan"):
        return float(text)
    value = ast.literal_eval(text)
    return value if isinstance(value, (int, float, bool, str)) else None


class Facts:
    """Answers for one variant of one kernel."""

    def __init__(self, readings: Sequence[Reading], generics: Mapping[str, Mapping[int, str]]) -> None:
        """`generics` gives each type generic's element type by the reading's number."""
        self._generics = generics
        self._nodes: dict[Place, dict[int, Node]] = {}
        for index, reading in enumerate(readings):
            for node in reading.nodes:
                self._nodes.setdefault(node.place, {})[index] = node
        self.readings = readings
        self.fused = {one.sum: one.product for reading in readings for one in reading.fused}
        self.products = set(self.fused.values())
        self.split = {place for reading in readings for place in reading.split_loops}
        self.ordered = {one.place for reading in readings for one in reading.accesses if one.ordered}
        self.mma_generics: dict[str, str] = {}
        """Generics made up for the tensor cores, and whose they are."""

    def at(self, place: Place) -> Seen | None:
        """None where no specialisation comes."""
        nodes = self._nodes.get(place)
        return Seen(nodes=nodes) if nodes else None

    def element(self, dtypes: Mapping[int, str]) -> str:
        """The Rust element type that is `dtypes` in every specialisation: a type, or a generic."""
        matching = [name for name, known in self._generics.items() if all(known[i] == t for i, t in dtypes.items())]
        found = set(dtypes.values())
        if len(found) == 1 and not matching:
            return rust_element(found.pop())
        if len(found) == 1 and (varying := self._varies(matching[0], dtypes)):
            return matching[0] if varying else rust_element(found.pop())
        if matching:
            return matching[0]
        return self._tensor_cores(dtypes)

    def _varies(self, generic: str, dtypes: Mapping[int, str]) -> bool:
        return len({self._generics[generic][index] for index in dtypes}) > 1

    def _tensor_cores(self, dtypes: Mapping[int, str]) -> str:
        for name, known in self._generics.items():
            if all(t == ("tfloat32" if known[i] == "float32" else known[i]) for i, t in dtypes.items()):
                self.mma_generics[f"{name}{TENSOR_CORES}"] = name
                return f"{name}{TENSOR_CORES}"
        raise Untranslatable(f"an element type that is {', '.join(sorted(set(dtypes.values())))}, as no array's is")


def rust_element(dtype: str) -> str:
    if dtype not in RUST_ELEMENTS:
        raise Untranslatable(f"the element type {dtype}")
    return RUST_ELEMENTS[dtype]
