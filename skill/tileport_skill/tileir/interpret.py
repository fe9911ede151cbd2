"""Runs a kernel on NumPy, block by block, and watches what it must not do."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tileport_skill.tileir.access import MEMORY
from tileport_skill.tileir.elements import STORAGE
from tileport_skill.tileir.facts import Fact, constant_has, facts_of
from tileport_skill.tileir.folds import fold
from tileport_skill.tileir.launch import ArrayTable, Buffer, Finding, Grid, Launch, Outcome, Written
from tileport_skill.tileir.machine import Unsupported
from tileport_skill.tileir.memory import SPACING, Memory
from tileport_skill.tileir.records import Entry, Op, Region, Value, walk
from tileport_skill.tileir.semantics import PURE
from tileport_skill.tileir.tile_value import Before, Cut, Elements, Held, Tensor
from tileport_skill.tileir.types import (
    GatherScatterView,
    PartitionView,
    Pointer,
    StridedView,
    TensorView,
    Tile,
)

LARGEST_TILE = 1 << 22
"""Elements; a tile beyond that is refused rather than run out of memory."""


class TooLong(Exception):
    """More operations or time than was allowed; nothing is known of the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How far a run goes."""

    operations: int = 200_000
    findings: int = 20
    """The run stops at so many."""
    blocks: int = 64
    """Of a larger grid a sample runs: all corners, then evenly spread."""
    until: float = math.inf
    """When to give up, on the monotonic clock."""


class _Stop(Exception):
    """Enough findings."""


def run(entry: Entry, launch: Launch, limits: Limits | None = None) -> Outcome:
    """Raises `Unsupported` for what the interpreter does not know and `TooLong` beyond `limits`."""
    limits = limits or Limits()
    check_supported(entry)
    first = _Run(entry, launch, limits, frozenset())
    outcome = first.all_blocks()
    shared = first.memory.both_read_and_written()
    if shared and not outcome.findings:  # once more, now watching who reads what others write
        outcome = _Run(entry, launch, limits, shared).all_blocks()
    return outcome


def check_supported(entry: Entry) -> None:
    """Raises `Unsupported` at the first operation or type nothing here can run."""
    control = {"for", "loop", "if", "reduce", "scan", "yield", "continue", "break", "return"}
    known = {*PURE, *MEMORY, *control, *_OTHERS}
    for op in walk(entry.body):
        if op.name not in known:
            raise Unsupported(f"the operation {op.name} (line {op.line})")
        for value in op.results:
            type_ = value.type
            if isinstance(type_, Tile):
                element = type_.element.to if isinstance(type_.element, Pointer) else type_.element
                if element not in STORAGE:
                    raise Unsupported(f"the element type {element} (line {op.line})")
                if type_.size > LARGEST_TILE:
                    raise Unsupported(f"a tile of {type_.size} elements (line {op.line})")


def blocks_of(grid: Grid, most: int) -> list[Grid]:
    """The blocks of `grid`, or a sample: all corners first, then evenly spread over the rest."""
    every = [(x, y, z) for z in range(grid[2]) for y in range(grid[1]) for x in range(grid[0])]
    if len(every) <= most:
        return every
    ends = [sorted({0, n - 1}) for n in grid]
    corners = [(x, y, z) for z in ends[2] for y in ends[1] for x in ends[0]][:most]
    step = max(1, len(every) // max(1, most - len(corners)))
    return list(dict.fromkeys([*corners, *every[::step]]))[:most]


class _Run:
    def __init__(self, entry: Entry, launch: Launch, limits: Limits, tracked: frozenset[int]) -> None:
        self.entry, self.launch, self.limits = entry, launch, limits
        self.buffers = launch.buffers
        self.places = {id(buffer.data): place for place, buffer in enumerate(self.buffers)}
        self.memory = Memory([*self.buffers, *map(self._table, _tables(launch))], tracked)
        self.findings: list[Finding] = []
        self.exact = True
        self.left = limits.operations
        self.constants = {op.results[0] for op in walk(entry.body) if op.name == "constant"}

    def _table(self, table: ArrayTable) -> Buffer:
        """The table as the kernel finds it in memory."""
        rows = [[self.address(row.array), *row.numbers] for row in table.rows]
        return Buffer(table.name, np.array(rows, np.int64).reshape(-1))

    def address(self, buffer: Buffer) -> int:
        start = (self.places[id(buffer.data)] + 1) << SPACING
        return start + buffer.offset * buffer.data.dtype.itemsize

    def spend(self) -> None:
        """One operation more."""
        self.left -= 1
        if self.left < 0:
            raise TooLong(f"more than {self.limits.operations} operations")
        if time.monotonic() > self.limits.until:
            raise TooLong("more time than was allowed")

    def all_blocks(self) -> Outcome:
        with np.errstate(all="ignore"):
            try:
                for number, block in enumerate(blocks_of(self.launch.grid, self.limits.blocks)):
                    self.memory.begin(number)
                    Block(self, block).execute()
            except _Stop:
                pass
        regions = self.memory.regions[: len(self.buffers)]
        written = tuple(Written(r.name, r.data, r.poison, r.touched) for r in regions)
        return Outcome(written, tuple(self.findings), self.exact)


def _tables(launch: Launch) -> list[ArrayTable]:
    return [given for given in launch.arguments if isinstance(given, ArrayTable)]


class Block:
    """One tile block while it runs."""

    def __init__(self, run: _Run, block: Grid) -> None:
        self.run, self.block, self.grid = run, block, run.launch.grid
        self.memory = run.memory
        self.held: dict[Value, Held] = {}

    def execute(self) -> None:
        for value, given in zip(self.run.entry.arguments, self.run.launch.arguments, strict=True):
            if isinstance(given, Buffer):
                data = np.array(self.run.address(given), np.int64)
            elif isinstance(given, ArrayTable):
                place = len(self.run.buffers) + _tables(self.run.launch).index(given)
                data = np.array(self.memory.address(place), np.int64)
            else:
                assert isinstance(value.type, Tile)
                assert isinstance(value.type.element, str)
                data = np.array(given).astype(STORAGE[value.type.element])
            self.held[value] = Elements(data)
        self.region(self.run.entry.body)

    # what operations ask for

    def elements(self, op: Op, name: str) -> Elements:
        return self.value(op.operand(name))

    def many(self, op: Op, name: str) -> list[Elements]:
        return [self.value(value) for value in op.operands[name]]

    def value(self, value: Value) -> Elements:
        held = self.held[value]
        assert isinstance(held, Elements)
        return held

    def number(self, value: Value) -> int:
        return int(self.value(value).data)

    def before(self, op: Op) -> int:
        token = op.optional("token")
        held = self.held[token] if token is not None else Before()
        assert isinstance(held, Before)
        return held.accesses

    def finding(self, kind: str, op: Op, text: str, needs: tuple[int, int, int] | None = None) -> None:
        found = Finding(
            kind=kind,
            text=text,
            block=self.block,
            operation=op.name,
            line=op.line,
            needs=None if needs is None else (self.memory.owner(needs[0]), *needs[1:]),
        )
        if found not in self.run.findings:
            self.run.findings.append(found)
        if len(self.run.findings) >= self.run.limits.findings:
            raise _Stop

    def inexact(self) -> None:
        self.run.exact = False

    # running

    def region(self, region: Region) -> tuple[str, tuple[Held, ...]]:
        """How the region ended, and with which operands."""
        for op in region.ops:
            self.run.spend()
            pure = PURE.get(op.name)
            if pure is not None:
                self.held[op.results[0]] = pure(self, op)
                continue
            memory = MEMORY.get(op.name)
            if memory is not None:
                memory(self, op)
                continue
            if op.name in ("yield", "continue", "break", "return"):
                return op.name, tuple(self.held[value] for value in op.operands.get("operands", ()))
            ended = self.other(op)
            if ended is not None:
                return ended
        return "end", ()

    def other(self, op: Op) -> tuple[str, tuple[Held, ...]] | None:
        if op.name == "for":
            return self.for_loop(op)
        if op.name == "loop":
            return self.endless_loop(op)
        if op.name == "if":
            return self.branch(op)
        if op.name in ("reduce", "scan"):
            fold(self, op)
            return None
        _OTHERS[op.name](self, op)
        return None

    def branch(self, op: Op) -> tuple[str, tuple[Held, ...]] | None:
        condition = self.elements(op, "condition")
        if condition.poison is not None and condition.poison.any():
            self.finding("unspecified", op, "a branch depends on an unspecified value")
        index = 0 if bool(condition.data) else 1
        if index >= len(op.regions):
            return None
        ended, values = self.region(op.regions[index])
        if ended in ("continue", "break", "return"):
            return ended, values
        self.held.update(zip(op.results, values, strict=True))
        return None

    def for_loop(self, op: Op) -> tuple[str, tuple[Held, ...]] | None:
        lower, upper, step = (self.number(op.operand(n)) for n in ("lowerBound", "upperBound", "step"))
        body = op.regions[0]
        index, carried = body.arguments[0], body.arguments[1:]
        assert isinstance(index.type, Tile)
        assert isinstance(index.type.element, str)
        dtype = STORAGE[index.type.element]
        if "unsignedCmp" in op.attributes:
            wrap = 1 << 8 * dtype.itemsize
            lower, upper, step = lower % wrap, upper % wrap, step % wrap
        if step <= 0:
            self.finding("loop", op, f"a step of {step}")
            return None
        values = tuple(self.held[value] for value in op.operands.get("initValues", ()))
        for number in range(lower, upper, step):
            self.held[index] = Elements(np.array(number).astype(dtype))
            self.held.update(zip(carried, values, strict=True))
            ended, given = self.region(body)
            if ended == "return":
                return ended, given
            if ended == "break":
                values = given
                break
            values = given if carried else ()
        self.held.update(zip(op.results, values, strict=True))
        return None

    def endless_loop(self, op: Op) -> tuple[str, tuple[Held, ...]] | None:
        body = op.regions[0]
        values = tuple(self.held[value] for value in op.operands.get("initValues", ()))
        while True:
            self.held.update(zip(body.arguments, values, strict=True))
            ended, given = self.region(body)
            if ended == "return":
                return ended, given
            if ended == "break":
                self.held.update(zip(op.results, given, strict=True))
                return None
            values = given if body.arguments else ()
            self.run.spend()


def _scalars(block: Block, op: Op, numbers: Iterable[int]) -> None:
    for result, number in zip(op.results, numbers, strict=True):
        assert isinstance(result.type, Tile)
        assert isinstance(result.type.element, str)
        block.held[result] = Elements(np.array(number).astype(STORAGE[result.type.element]))


def _assume(block: Block, op: Op) -> None:
    held = block.held[op.operand("value")]
    block.held[op.result] = held
    if not isinstance(held, Elements) or _is_constant(block, op.operand("value")):
        return  # cuTile itself says of the constant 1 that it is a multiple of 4
    for fact in facts_of(op.attributes["predicate"]):
        if not _holds(held, fact):
            block.finding("assume", op, f"a value is taken for granted to be {fact}, and is not")


def _is_constant(block: Block, value: Value) -> bool:
    return value in block.run.constants


def _holds(held: Elements, fact: Fact) -> bool:
    if fact.number is None:
        return True  # another kind of predicate: not checked
    data = held.data if held.poison is None else held.data[~held.poison]
    if data.size == 0:
        return True
    if fact.kind == "multiple of":
        return bool((data.astype(np.int64) % fact.number == 0).all())
    extreme = int(data.min()) if fact.kind == "at least" else int(data.max())
    return constant_has(extreme, fact)


def _tensor_view(block: Block, op: Op) -> None:
    type_ = op.result.type
    assert isinstance(type_, TensorView)
    if type_.element not in STORAGE:
        raise Unsupported(f"the element type {type_.element}")
    dims = []
    for known, name in ((type_.shape, "dynamicShape"), (type_.strides, "dynamicStrides")):
        given = iter(op.operands[name])
        dims.append(tuple(block.number(next(given)) if n is None else n for n in known))
    if any(n < 0 for each in dims for n in each):
        block.finding("tensor view", op, f"shape {dims[0]} and strides {dims[1]}")
    base = block.number(op.operand("base"))
    block.held[op.result] = Tensor(base, type_.element, dims[0], dims[1])


def _view(block: Block, op: Op) -> None:
    tensor = block.held[op.operand("tensor_view")]
    assert isinstance(tensor, Tensor)
    assert isinstance(op.result.type, PartitionView | StridedView | GatherScatterView)
    block.held[op.result] = Cut(op.result.type, tensor)


def _shape(block: Block, op: Op) -> None:
    held = block.held[op.operand("src")]
    if isinstance(held, Tensor):
        _scalars(block, op, held.shape)
    elif isinstance(held, Cut):
        _scalars(block, op, index_space(held))


def index_space(cut: Cut) -> tuple[int, ...]:
    """How many tiles a view has along each of its dimensions."""
    type_, shape = cut.type, cut.tensor.shape
    if isinstance(type_, GatherScatterView):
        sizes = [1 if d == type_.sparse_dim else n for d, n in enumerate(type_.tile)]
        return tuple(-(-full // size) for full, size in zip(shape, sizes, strict=True))
    steps = type_.traversal if isinstance(type_, StridedView) else type_.tile
    return tuple(-(-shape[d] // step) for d, step in zip(type_.dim_map, steps, strict=True))


def _join(block: Block, op: Op) -> None:
    accesses = 0
    for token in op.operands["tokens"]:
        held = block.held[token]
        assert isinstance(held, Before)
        accesses |= held.accesses
    block.held[op.result] = Before(accesses)


def _token(block: Block, op: Op) -> None:
    block.held[op.result] = Before()


_OTHERS = {
    "get_tile_block_id": lambda block, op: _scalars(block, op, block.block),
    "get_num_tile_blocks": lambda block, op: _scalars(block, op, block.grid),
    "get_tensor_shape": _shape,
    "get_index_space_shape": _shape,
    "make_tensor_view": _tensor_view,
    "make_partition_view": _view,
    "make_strided_view": _view,
    "make_gather_scatter_view": _view,
    "make_token": _token,
    "join_tokens": _join,
    "assume": _assume,
}
