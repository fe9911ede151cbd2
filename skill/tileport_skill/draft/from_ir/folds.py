"""Steps that make a literal entry shorter and say the same: each is kept only if the proof holds after it."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Collection, Mapping

from tileport_skill.draft.from_ir.rewriting import in_statement, inside_out, reads, uses
from tileport_skill.draft.rust import (
    Assign,
    Binary,
    Block,
    Call,
    Expr,
    For,
    Let,
    Method,
    Run,
    Stmt,
    Unsafe,
    Word,
    call,
    word,
)

Fold = Callable[[Block, Collection[str]], Block]
"""Of a body; the names given are those of the source, which stay."""
MATH = {"addf": "+", "subf": "-", "mulf": "*", "divf": "/"}
EXACT = (word("rounding::NearestEven"), word("ftz::Disabled"))
COMPARISONS = {
    "LessThan": "lt_tile",
    "LessThanOrEqual": "le_tile",
    "GreaterThan": "gt_tile",
    "GreaterThanOrEqual": "ge_tile",
    "Equal": "eq_tile",
    "NotEqual": "ne_tile",
}
NUMBER = "Tile<i32, { [] }>"
NUMERAL = re.compile(r"\d+i32$")
LONGEST = 80
TAKES_EXPRESSIONS = frozenset({*COMPARISONS.values(), "fma", "select", "convert_tile", "exp2"})


def without_bounds(block: Block, kept: Collection[str]) -> Block:
    """Promises that sizes are not negative: what is promised of tensors the crate promises itself."""
    known: dict[str, Expr] = {}
    statements: list[Stmt] = []
    for statement in block.statements:
        statement = in_statement(statement, known)
        match statement:
            case Let(names=(name,), value=Unsafe(inner=Call(function=function, arguments=(value,)))) if (
                function.startswith("assume_bounds_lower")
            ):
                known[name] = value
            case _:
                statements.append(statement)
    return Block(tuple(statements))


def as_operators(block: Block, kept: Collection[str]) -> Block:
    """`a + b` for `addf(a, b, …)`, `lt_tile(a, b)` for `cmpi(a, b, predicate::LessThan)`."""
    return inside_out(block, lambda one: Block(tuple(map(_with_operators, one.statements))))


def _with_operators(statement: Stmt) -> Stmt:
    match statement:
        case Let(value=Call(function=function, arguments=(left, right, *rest))) if (
            function in MATH and tuple(rest) == EXACT
        ):
            return dataclasses.replace(statement, value=Binary(MATH[function], left, right))
        case Let(value=Call(function="cmpi", arguments=(left, right, Word(text=predicate)))):
            name = COMPARISONS[predicate.removeprefix("predicate::")]
            return dataclasses.replace(statement, value=call(name, left, right))
    return statement


def as_partitions(block: Block, kept: Collection[str]) -> Block:
    """`x.partition(shape).load(index)` for the partition and the load written out, where neither is ordered."""
    root = next(
        (s.names[0] for s in block.statements if isinstance(s, Let) and s.value == call("new_token_unordered")), None
    )
    if root is None:
        return block
    counts = uses(block)

    def change(one: Block) -> Block:
        statements: list[Stmt] = []
        for statement in one.statements:
            previous = statements[-1] if statements else None
            short = _partition(previous, statement, root) if isinstance(previous, Let) else None
            if short is not None and isinstance(previous, Let) and counts[previous.names[0]] == 1:
                statements[-1] = short
            else:
                statements.append(statement)
        return Block(tuple(statements))

    return inside_out(block, change)


def _partition(made: Let, access: Stmt, root: str) -> Stmt | None:
    name = made.names[0]
    match made.value, access:
        case (
            Call(
                function="make_partition_view",
                arguments=(
                    Word(text=tensor),
                    shape,
                    Word(text="padding::Zero"),
                    Word(text="dim_map::Identity"),
                    Word(text=token),
                ),
            ),
            Let(
                value=Call(
                    function="load_view_tko",
                    arguments=(
                        Word(text=view),
                        index,
                        Word(text="ordering::Weak"),
                        Word(text="scope::TileBlock"),
                        Word(text="None"),
                        Word(text="tma::Enabled"),
                    ),
                )
            ),
        ) if token == root and view == f"&{name}" and not tensor.startswith("&"):
            loaded = Method(Method(word(tensor), "partition", (shape,)), "load", (index,))
            return dataclasses.replace(access, value=loaded)
        case (
            Unsafe(
                inner=Call(
                    function="make_partition_view_mut",
                    arguments=(Word(text=tensor), shape, Word(text="padding::None"), Word(text=token)),
                )
            ),
            Run(
                value=Unsafe(
                    inner=Call(
                        function="store_view_tko_mut",
                        arguments=(
                            Word(text=view),
                            tile,
                            index,
                            Word(text="ordering::Weak"),
                            Word(text="scope::TileBlock"),
                            Word(text="None"),
                            Word(text="tma::Enabled"),
                        ),
                    )
                )
            ),
        ) if token == root and view == f"&mut {name}" and not tensor.startswith("&"):
            stored = Method(Method(word(tensor), "partition_full_mut", (shape,)), "store", (tile, index))
            return Run(Unsafe(stored))
    return None


def as_scalars(block: Block, kept: Collection[str]) -> Block:
    """Numbers as Rust's own: a tile of one `i32` that is computed from such is computed as `i32`."""
    return _scalar_block(block, {})


def _scalar_block(block: Block, outer: dict[str, Expr]) -> Block:
    """`outer` holds what each such tile of the blocks around is as a scalar."""
    scalars = dict(outer)
    statements: list[Stmt] = []
    for statement in block.statements:
        match statement:
            case For(body=body):
                statements.append(dataclasses.replace(statement, body=_scalar_block(body, scalars)))
            case Let(names=(name,), mutable=False):
                statements += _scalar_let(name, statement, scalars)
            case _:
                statements.append(statement)
    return Block(tuple(statements))


def _scalar_let(name: str, let: Let, scalars: dict[str, Expr]) -> tuple[Stmt, ...]:
    """The statement, its tile kept for what needs it; without its tile it is dropped later."""
    match let.value:
        case Call(function="scalar_to_tile", arguments=(scalar,)) if let.type == NUMBER:
            scalars[name] = scalar
        case Call(function="constant", arguments=(Word(text=text), _)) if let.type == NUMBER and NUMERAL.match(text):
            scalars[name] = word(text)
        case Call(function="tile_to_scalar", arguments=(Word(text=text),)) if text in scalars:
            return (Let((name,), scalars[text], let.type),)
        case Binary(operator="+" | "-" | "*" as sign, left=Word(text=left), right=Word(text=right)) if (
            let.type == NUMBER and left in scalars and right in scalars
        ):
            number = f"{name}_number"
            made = Let((number,), Binary(sign, scalars[left], scalars[right]), "i32")
            scalars[name] = word(number)
            return made, Let((name,), call("scalar_to_tile", number), NUMBER)
    return (let,)


def without_aliases(block: Block, kept: Collection[str]) -> Block:
    """`let a: i32 = b;` says nothing: `b` is read instead. Literals too."""

    def change(one: Block) -> Block:
        known: dict[str, Expr] = {}
        statements: list[Stmt] = []
        for statement in one.statements:
            statement = in_statement(statement, known)
            match statement:
                case Let(names=(name,), value=Word(text=text), mutable=False, type="i32") if re.fullmatch(r"\w+", text):
                    known[name] = word(text)
                case _:
                    statements.append(statement)
        return Block(tuple(statements))

    return inside_out(block, change)


def without_the_unused(block: Block, kept: Collection[str]) -> Block:
    """What nothing reads and that does nothing but give a value; an unread result gets an underscore."""
    while (shorter := inside_out(block, _Used(uses(block)).left)) != block:
        block = shorter
    return inside_out(block, _Used(uses(block)).marked)


@dataclasses.dataclass(frozen=True, slots=True)
class _Used:
    counts: Mapping[str, int]

    def left(self, block: Block) -> Block:
        return Block(tuple(one for one in block.statements if not _idle(one, self.counts)))

    def marked(self, block: Block) -> Block:
        return Block(tuple(_marked(one, self.counts) for one in block.statements))


def _idle(statement: Stmt, counts: Mapping[str, int]) -> bool:
    if not isinstance(statement, Let) or any(counts.get(name) for name in statement.names):
        return False
    return "store" not in statement.value.flat and "atomic" not in statement.value.flat


def _marked(statement: Stmt, counts: Mapping[str, int]) -> Stmt:
    if not isinstance(statement, Let):
        return statement
    names = tuple(n if counts.get(n) or n.startswith("_") else f"_{n}" for n in statement.names)
    return dataclasses.replace(statement, names=names)


def assigned_directly(block: Block, kept: Collection[str]) -> Block:
    """`total = a + b;` for a value that is only handed on."""
    counts = uses(block)

    def change(one: Block) -> Block:
        statements = list(one.statements)
        for place in range(len(statements) - 1, -1, -1):
            statement = statements[place]
            if not (isinstance(statement, Assign) and isinstance(statement.value, Word)):
                continue
            made = next((n for n in range(place) if _names(statements[n]) == (statement.value.text,)), None)
            if made is None or counts[statement.value.text] != 1:
                continue
            between = [name for other in statements[made + 1 : place] for name in reads(other)]
            let = statements[made]
            if isinstance(let, Let) and statement.name not in between:
                statements[made] = Assign(statement.name, let.value)
                del statements[place]
        return Block(tuple(statements))

    return inside_out(block, change)


def _names(statement: Stmt) -> tuple[str, ...]:
    return statement.names if isinstance(statement, Let) and not statement.mutable else ()


def inlined(block: Block, kept: Collection[str]) -> Block:
    """What the source does not name and the next statement alone reads stands in it, so that the order stays."""
    counts = uses(block)

    def change(one: Block) -> Block:
        statements: list[Stmt] = []
        for statement in one.statements:
            while statements and (shorter := _with_previous(statements[-1], statement, counts, kept)) is not None:
                statements.pop()
                statement = shorter
            statements.append(statement)
        return Block(tuple(statements))

    return inside_out(block, change)


def _with_previous(previous: Stmt, statement: Stmt, counts: Mapping[str, int], kept: Collection[str]) -> Stmt | None:
    if not isinstance(previous, Let) or previous.mutable or len(previous.names) != 1:
        return None
    (name,) = previous.names
    if counts.get(name) != 1 or name in kept or not _nests(previous.value):
        return None
    if not isinstance(statement, Let | Assign | Run) or not _stands_alone(statement.value, name):
        return None
    if "Pointer" in (previous.type or "") or (isinstance(statement, Let) and "Pointer" in (statement.type or "")):
        return None  # the crate does not find the type of a chain of pointers
    shorter = in_statement(statement, {name: previous.value})
    assert isinstance(shorter, Let | Assign | Run)
    return shorter if len(shorter.value.flat) <= LONGEST else None


def _nests(expr: Expr) -> bool:
    """Whether the crate finds the type of an expression that stands inside another."""
    match expr:
        case Binary() | Call(function="broadcast_scalar"):
            return True
        case Method(name="reshape" | "broadcast"):
            return True
    return False


def _stands_alone(expr: Expr, name: str) -> bool:
    """Whether `name` is an operand of its own, and comes first of what has to be computed."""
    match expr:
        case Binary(left=left, right=right):
            return _is(left, name) or _is(right, name)
        case Method(receiver=receiver, name="reshape" | "broadcast"):
            return _is(receiver, name)
        case Call(function=function, arguments=arguments) if function in (
            *COMPARISONS.values(),
            "fma",
            "select",
            "convert_tile",
            "exp2",
        ):
            return any(_is(one, name) for one in arguments)
    return False


def _is(expr: Expr, name: str) -> bool:
    return isinstance(expr, Word) and expr.text == name


STEPS: tuple[tuple[str, Fold], ...] = (
    ("bounds", without_bounds),
    ("operators", as_operators),
    ("partitions", as_partitions),
    ("scalars", lambda block, kept: without_aliases(as_scalars(block, kept), kept)),
    ("unused", without_the_unused),
    ("assignments", assigned_directly),
    ("inlining", inlined),
)
