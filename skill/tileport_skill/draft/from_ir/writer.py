"""What writing one kernel needs everywhere: Rust's types, names, statements in order, scalars of tiles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from tileport_skill.draft import rust
from tileport_skill.draft.from_ir.names import Names
from tileport_skill.draft.from_ir.signs import Signs
from tileport_skill.draft.from_ir.slots import ELEMENTS, INTEGERS, Filling, Fillings, Generic, Key, shape_of
from tileport_skill.draft.rust import Expr, call, word
from tileport_skill.draft.values import Untranslatable
from tileport_skill.tileir.records import Op, Value
from tileport_skill.tileir.types import PartitionView, Pointer, Tile, Token


@dataclass(slots=True)
class Held:
    """How a value of Tile IR is read in Rust."""

    expr: Expr
    unsigned: bool = False
    scalar: Expr | None = None
    """The same as a Rust scalar, once it was asked for."""
    home: list[rust.Stmt] | None = None
    """The block in which the scalar was taken; None if it is known everywhere."""


@dataclass(slots=True, kw_only=True)
class Writer:
    """Writes one kernel. What is written goes to the innermost block."""

    numbers: Mapping[Value, int]
    fillings: Fillings
    names: Names
    signs: Signs
    uses: Mapping[Value, int]
    """How often each value is an operand."""
    sources: Mapping[Value, Op]
    """The operation that each value comes from."""
    declare: bool = False
    held: dict[Value, Held] = field(default_factory=dict)
    views: dict[Value, Expr] = field(default_factory=dict)
    """Tensor views as `make_partition_view` takes them, `x` or `&x_view`; and partitions, by those they are made of."""
    idioms: set[str] = field(default_factory=set)
    """Idioms that the kernel needs."""
    blocks: list[list[rust.Stmt]] = field(default_factory=lambda: [[]])
    carried: list[tuple[str, ...]] = field(default_factory=list)
    """The names that the loops and branches being written hand on, innermost last."""
    root: str = ""
    """The token that the kernel begins with."""

    def emit(self, statement: rust.Stmt) -> None:
        self.blocks[-1].append(statement)

    @contextmanager
    def block(self) -> Iterator[list[rust.Stmt]]:
        """What is written inside goes to a block of its own."""
        self.blocks.append([])
        try:
            yield self.blocks[-1]
        finally:
            self.blocks.pop()

    def filling(self, key: Key, content: Filling) -> Filling:
        return self.fillings.get(key, content)

    def element(self, value: Value, *, unsigned: bool = False) -> str:
        _, element = shape_of(value.type)
        if element is None:
            raise Untranslatable(f"a value of type {value.type}")
        if element == "i1":
            return "bool"
        if element in INTEGERS:
            return f"u{element[1:]}" if unsigned else element
        return _text(self.filling(Key("element", self.numbers[value]), ELEMENTS.get(element, element)))

    def dims(self, value: Value) -> tuple[str, ...]:
        shape, _ = shape_of(value.type)
        keys = (Key("size", self.numbers[value], axis) for axis in range(len(shape)))
        return tuple(_text(self.filling(key, size)) for key, size in zip(keys, shape, strict=True))

    def shape(self, value: Value) -> Expr:
        """`const_shape![M, N]`."""
        return rust.shape(self.dims(value))

    def type(self, value: Value, *, element: str | None = None, unsigned: bool = False) -> str:
        """The Rust type of a value, or of one like it but for its element type."""
        match value.type:
            case Token():
                return "Token"
            case Tile(element=Pointer()):
                return f"PointerTile<*mut {self.element(value)}, {{ [{', '.join(self.dims(value))}] }}>"
            case Tile() | PartitionView():
                said = element or self.element(value, unsigned=unsigned)
                return f"Tile<{said}, {{ [{', '.join(self.dims(value))}] }}>"
        raise Untranslatable(f"a value of type {value.type}")

    def of(self, value: Value) -> Expr:
        """The value as its own type, for an operation that does not mind signs."""
        return self.held[value].expr

    def signed(self, value: Value, *, unsigned: bool) -> Expr:
        """The value with the sign asked for, cast if it has the other."""
        held = self.held[value]
        if held.unsigned == unsigned or shape_of(value.type)[1] not in INTEGERS:
            return held.expr
        name = self.names.fresh(f"{plain(held.expr)}_{'unsigned' if unsigned else 'signed'}")
        self.emit(rust.Let((name,), call("bitcast", held.expr), self.type(value, unsigned=unsigned)))
        return word(name)

    def let(self, op: Op, expr: Expr, *, unsigned: bool | None = None) -> None:
        """Binds the operation's only result."""
        self.bind(op, op.result, expr, unsigned=unsigned)

    def bind(self, op: Op, value: Value, expr: Expr, *, unsigned: bool | None = None) -> None:
        sign = self.signs.unsigned(value) if unsigned is None else unsigned
        name = self.names.of(op, value, expr)
        self.emit(rust.Let((name,), expr, self.type(value, unsigned=sign)))
        self.held[value] = Held(word(name), sign)

    def scalar(self, value: Value) -> Expr:
        """A value of rank 0 as a Rust scalar."""
        held = self.held[value]
        if held.scalar is None or not self._inside(held.home):
            name = self.names.fresh(f"{plain(held.expr)}_scalar")
            element = self.element(value, unsigned=held.unsigned)
            self.emit(rust.Let((name,), call("tile_to_scalar", held.expr), element))
            held.scalar, held.home = word(name), self.blocks[-1]
        return held.scalar

    def _inside(self, home: list[rust.Stmt] | None) -> bool:
        return home is None or any(block is home for block in self.blocks)

    def from_scalar(self, op: Op, value: Value, scalar: Expr) -> None:
        """Binds a value that Rust gives as a scalar."""
        self.bind(op, value, call("scalar_to_tile", scalar), unsigned=False)
        self.held[value].scalar, self.held[value].home = scalar, self.blocks[-1]

    def token(self, value: Value | None) -> Expr:
        """The token, or the one the kernel begins with."""
        return word(self.root) if value is None else self.held[value].expr

    def used(self, value: Value) -> bool:
        return self.uses.get(value, 0) > 0


def plain(expr: Expr) -> str:
    return expr.text.lower() if isinstance(expr, rust.Word) and expr.text.isidentifier() else "value"


def _text(filling: Filling) -> str:
    return filling.name if isinstance(filling, Generic) else str(filling)
