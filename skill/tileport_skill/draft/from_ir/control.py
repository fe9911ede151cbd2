"""Loops and branches. What they hand on is a mutable variable each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tileport_skill.draft import rust
from tileport_skill.draft.from_ir.constants_read import constant_value
from tileport_skill.draft.from_ir.writer import Held, Writer, plain
from tileport_skill.draft.rust import Expr, call, word
from tileport_skill.draft.values import Untranslatable
from tileport_skill.tileir.records import Op, Region, Value
from tileport_skill.tileir.types import Tile, Token

Body = Callable[[Writer, Region], None]


def for_loop(writer: Writer, op: Op, body: Body) -> None:
    if "unsignedCmp" in op.attributes:
        raise Untranslatable("a loop that counts unsigned")
    counter, *inner = op.regions[0].arguments
    start, stop, step = (writer.scalar(op.operand(name)) for name in ("lowerBound", "upperBound", "step"))
    carried = _carried(writer, op, inner)
    index = writer.names.of(op, counter, word("index"))
    with writer.block() as statements:
        writer.from_scalar(op, counter, word(index))
        _hold(writer, inner, carried)
        _inside(writer, op.regions[0], carried, body)
    by = None if _is_one(writer, op.operand("step")) else step
    writer.emit(rust.For(index, start, stop, by, rust.Block(tuple(statements))))
    _hold(writer, op.results, carried)


def endless_loop(writer: Writer, op: Op, body: Body) -> None:
    inner = op.regions[0].arguments
    carried = _carried(writer, op, inner)
    with writer.block() as statements:
        _hold(writer, inner, carried)
        _inside(writer, op.regions[0], carried, body)
    writer.emit(rust.Loop(rust.Block(tuple(statements))))
    _hold(writer, op.results, carried)


def _inside(writer: Writer, region: Region, carried: Sequence[str], body: Body) -> None:
    writer.carried.append(tuple(carried))
    body(writer, region)
    writer.carried.pop()


def _carried(writer: Writer, op: Op, inner: Sequence[Value]) -> list[str]:
    """A variable for each value that the loop hands on. The crate orders them by name, so the names keep the order."""
    initial = op.operands.get("initValues", ())
    wanted = [writer.names.wanted(op, value, writer.of(first)) for value, first in zip(inner, initial, strict=True)]
    names = writer.names.ascending(wanted)
    for name, value, first in zip(names, inner, initial, strict=True):
        held = writer.held[first]
        unsigned = writer.signs.unsigned(value)
        expr = writer.signed(first, unsigned=unsigned)
        writer.emit(rust.Let((name,), expr, writer.type(first, unsigned=unsigned), mutable=True))
        if held.unsigned != unsigned and isinstance(first.type, Token):
            raise AssertionError(first.name)
    return names


def _hold(writer: Writer, values: Sequence[Value], names: Sequence[str]) -> None:
    for value, name in zip(values, names, strict=True):
        writer.held[value] = Held(word(name), writer.signs.unsigned(value))


def _is_one(writer: Writer, value: Value) -> bool:
    source = writer.sources.get(value)
    return source is not None and source.name == "constant" and constant_value(source) == 1


def handed_on(writer: Writer, op: Op) -> None:
    """`continue`, `yield` and `break`: all variables change at once."""
    names = writer.carried[-1] if writer.carried else ()
    values = list(op.all_operands())
    new = [writer.signed(value, unsigned=writer.signs.unsigned(value)) for value in values]
    moves = [(name, expr) for name, expr in zip(names, new, strict=False) if expr.flat != name]
    changed = {name for name, _ in moves}
    ready: list[tuple[str, Expr]] = []
    for name, expr in moves:
        if plain_name(expr) in changed:  # another variable's old value
            value = values[names.index(name)]
            kept = writer.names.fresh(f"{plain(expr)}_before")
            writer.emit(rust.Let((kept,), expr, writer.type(value, unsigned=writer.signs.unsigned(value))))
            expr = word(kept)
        ready.append((name, expr))
    for name, expr in ready:
        writer.emit(rust.Assign(name, expr))
    if op.name == "break":
        writer.emit(rust.Run(word("break")))


def ended(writer: Writer, op: Op) -> None:
    """The kernel's end is not written. One inside a branch or a loop ends it early."""
    if len(writer.blocks) > 1:
        raise Untranslatable("a `return` inside a branch, which is not drafted")


def plain_name(expr: Expr) -> str:
    return expr.text if isinstance(expr, rust.Word) else ""


def branch(writer: Writer, op: Op, body: Body) -> None:
    condition = writer.scalar(op.operand("condition"))
    wanted = [writer.names.wanted(op, value, word("chosen")) for value in op.results]
    names = writer.names.ascending(wanted)
    for name, value in zip(names, op.results, strict=True):
        unsigned = writer.signs.unsigned(value)
        writer.emit(rust.Let((name,), _placeholder(writer, value), writer.type(value, unsigned=unsigned), mutable=True))
    arms = []
    for region in op.regions:
        if region.ops and region.ops[-1].name == "continue":
            raise Untranslatable("a `continue` inside a branch, which is not drafted")
        with writer.block() as statements:
            if _ends_loop(region):
                body(writer, region)
            else:
                _inside(writer, region, names, body)
        arms.append(rust.Block(tuple(statements)))
    otherwise = arms[1] if len(arms) > 1 and arms[1].statements else None
    writer.emit(rust.Run(rust.If(condition, arms[0], otherwise)))
    _hold(writer, op.results, names)


def _ends_loop(region: Region) -> bool:
    return bool(region.ops) and region.ops[-1].name == "break"


def _placeholder(writer: Writer, value: Value) -> Expr:
    """Overwritten in both arms; Rust wants something there."""
    if isinstance(value.type, Token):
        return word(writer.root)
    if not isinstance(value.type, Tile):
        raise Untranslatable(f"a branch that yields a {value.type}")
    element = writer.element(value, unsigned=writer.signs.unsigned(value))
    if element == "bool":
        text = "true"
    elif element[0] in "iu" and element[1:].isdigit():
        text = f"0{element}"
    else:
        text = "0.0f32" if element == "f32" else f"{element}::ZERO"
    return call("constant", word(text), writer.shape(value))
