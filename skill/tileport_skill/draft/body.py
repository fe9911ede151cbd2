"""A Rust function while it is written: names in scope, statements so far, what helper functions it needs."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tileport_skill.draft import rust
from tileport_skill.draft.derived import Derived, Pending, settled
from tileport_skill.draft.facts import Facts, Place, Seen, span
from tileport_skill.draft.naming import literal_name, rust_name, step_name
from tileport_skill.draft.rust import Blank, Comment, Expr, Let, Stmt, Word, call, word
from tileport_skill.draft.source import Source
from tileport_skill.draft.values import Array, Dims, Number, Tile, Untranslatable, Value

if TYPE_CHECKING:
    from tileport_skill.draft.tokens import Order

Functions = dict[object, tuple[rust.Function, Value]]
"""Translated device functions, by source and argument types, with what each returns."""


@dataclass(slots=True)
class Shared:
    """What all functions of one kernel file have in common."""

    facts: Facts
    sources: dict[str, Source]
    """Device functions by `file:line`."""
    functions: Functions = field(default_factory=dict)
    idioms: set[str] = field(default_factory=set)
    declare: bool = False
    """Whether operations that cuTile Rust has no word for may be declared."""
    generics: dict[str, str] = field(default_factory=dict)
    """The entry's const generics, and how the kernel's constants make each."""
    derived: dict[tuple[str, str], Derived] = field(default_factory=dict)
    """Const generics that are none of the kernel's parameters, by expression and type."""
    viewed: dict[str, Array] = field(default_factory=dict)
    """Arrays by pointer that are accessed as tiles too, by the name of the tensor."""
    known: Mapping[str, bool] = field(default_factory=dict)
    """Conditions over the kernel's constants that the variant's own guard decides."""
    assumed: list[str] = field(default_factory=list)
    """What the kernel's constants must be for the translation to hold: elsewhere it would run what was never read."""
    one_sided: dict[str, str] = field(default_factory=dict)
    """Variables that only one arm of a branch over the kernel's constants assigns, and its condition."""
    conditions: list[str] = field(default_factory=list)
    """What the kernel's constants have to be where the translation stands."""


@dataclass(slots=True)
class Body:
    shared: Shared
    source: Source
    place: Place
    """The calls that lead here."""
    env: dict[str, Value] = field(default_factory=dict)
    blocks: list[list[Stmt]] = field(default_factory=lambda: [[]])
    taken: set[str] = field(default_factory=set)
    """Rust names that stand for something already."""
    literals: list[dict[tuple[str, str], Word]] = field(default_factory=lambda: [{}])
    """Constant tiles that have a name, one table for each block."""
    line: int = 0
    """The last line of the source whose comments are written."""
    target: str | None = None
    """What the current statement assigns to, while that name is free for a step on the way."""
    last_step: str | None = None
    """The name that a step of the current statement has taken from it."""
    loops: list[set[str]] = field(default_factory=list)
    """The names each loop around carries from one round to the next."""
    returned: Value | None = None
    orders: dict[str, Order] = field(default_factory=dict)
    """Arrays whose accesses wait for each other."""
    decided: dict[ast.If, bool] = field(default_factory=dict)
    """Branches that are taken or not where the translation stands: in the halves of a loop that is split."""
    entry: bool = True
    """Whether this is the entry itself, whose const generics can be named."""

    def seen(self, node: ast.AST) -> Seen:
        found = self.maybe(node)
        if found is None:
            raise Untranslatable("code that no captured launch runs", getattr(node, "lineno", None))
        return found

    def maybe(self, node: ast.AST) -> Seen | None:
        return self.shared.facts.at((*self.place, span(node)))

    def where(self, node: ast.AST) -> Place:
        return (*self.place, span(node))

    # -- statements -------------------------------------------------------------------------------------------------

    def emit(self, statement: Stmt) -> None:
        self.blocks[-1].append(statement)

    @contextmanager
    def block(self) -> Iterator[list[Stmt]]:
        """A block of its own: what it names is forgotten behind it."""
        env, taken = dict(self.env), set(self.taken)
        self.blocks.append([])
        self.literals.append({})
        try:
            yield self.blocks[-1]
        finally:
            self.blocks.pop()
            self.literals.pop()
            self.env, self.taken = env, taken

    def comments(self, first: int, last: int | None = None) -> None:
        """Writes the comments and one empty line for a gap between what is written and the code at `first`."""
        gap, after = False, self.line
        for line in range(self.line + 1, first):
            if self.source.whole_line_comment(line):
                self._gap(gap)
                self.emit(Comment(self.source.comments[line]))
                gap = False
            gap = gap or self.source.is_blank(line)
        self._gap(gap and first > after)
        for line in range(max(first, after + 1), (last or first) + 1):
            if line in self.source.comments:
                self.emit(Comment(self.source.comments[line]))
        self.line = max(self.line, last or first)

    def _gap(self, wanted: bool) -> None:
        block = self.blocks[-1]
        if wanted and block and not isinstance(block[-1], Blank):
            self.emit(Blank())

    # -- names ------------------------------------------------------------------------------------------------------

    def free(self, wanted: str) -> str:
        """`wanted`, or the first like it that stands for nothing else."""
        name, more = wanted, 2
        while name in self.taken:
            name, more = f"{wanted}_{more}", more + 1
        self.taken.add(name)
        return name

    def bind(self, name: str, value: Value, *, mutable: bool = False) -> None:
        """`let name = value;` under the source's own name, and the name in scope."""
        match value:
            case Number(expr=Pending()) if not mutable:
                self.env[name] = dataclasses.replace(value, name=name)
            case Tile() | Number():
                value = settled(self, value) if isinstance(value, Number) else value
                rust_word = rust_name(name, self.env, self.taken)
                if mutable or value.expr != word(rust_word):
                    self.let(rust_word, value, mutable=mutable)
                self.taken.add(rust_word)
                self.env[name] = bound_to(value, rust_word, mutable=mutable)
            case _:
                self.env[name] = value

    def let(self, name: str, value: Tile | Number, *, mutable: bool = False) -> None:
        type_ = None
        if isinstance(value, Tile) and (mutable or not value.typed):
            type_ = value.type
        elif isinstance(value, Number) and mutable:
            type_ = value.dtype
        self.emit(Let((name,), value.expr, type_, mutable))

    def named(self, value: Tile, suffix: str) -> Tile:
        """`value` under a name, if Rust would not know its type where it stands."""
        if value.typed:
            return value
        return self.step(value, suffix)

    def named_number(self, name: str, value: Number) -> Expr:
        """`value` under a name of its own, if it has none."""
        if isinstance(value.expr, rust.Word) and value.expr.text.isidentifier():
            return value.expr
        made = word(self.free(name))
        self.emit(rust.Let((made.text,), value.expr, value.dtype))
        return made

    def step(self, value: Tile, suffix: str) -> Tile:
        """A step on the way to the current statement's result, under the result's name if that is free."""
        name, self.target = self.target, None
        if name is None and self.last_step is not None and re.search(rf"\b{self.last_step}\b", value.expr.flat):
            name = self.last_step  # that step is used up here
        self.last_step = name
        if name is None:
            name = self.free(step_name(value.expr, value.element) or suffix)
        self.let(name, value)
        self.taken.add(name)
        return dataclasses.replace(value, expr=word(name), typed=True)

    # -- constants --------------------------------------------------------------------------------------------------

    def literal(self, value: int | float, element: str, dims: Dims, name: str | None = None) -> Tile:
        """A tile full of one number; the second use in a block finds the first."""
        known = name or literal_name(value)
        made = Tile(expr=word(known), element=element, dims=dims)
        key = (repr(float(value)), made.type)
        for table in self.literals:
            if key in table:
                return dataclasses.replace(made, expr=table[key])
        as_word = word(self.free(known))
        for statement in constant_lets(self, as_word.text, value, made):
            self.emit(statement)
        self.literals[-1][key] = as_word
        return dataclasses.replace(made, expr=as_word)

    def idiom(self, name: str) -> str:
        self.shared.idioms.add(name)
        return name


def constant_lets(body: Body, name: str, value: int | float, tile: Tile) -> list[Let]:
    """Names a tile full of `value`. cuTile Rust 0.2.0 spells no constants of a generic type but zero."""
    element, shape = tile.element, rust.shape(tile.dims)
    if is_spelled(element, value):
        return [Let((name,), call("constant", literal_text(value, element), shape), tile.type)]
    if body.shared.declare:
        return [Let((name,), call(body.idiom("constant_of"), literal_text(value, "f32"), shape), tile.type)]
    wide = dataclasses.replace(tile, element="f32")
    constant = Let((name,), call("constant", literal_text(value, "f32"), shape), wide.type)
    return [constant, Let((name,), call("convert_tile", word(name)), tile.type)]


def bound_to(value: Tile | Number, name: str, *, mutable: bool = False) -> Tile | Number:
    """What `name` stands for behind `let name = value;`."""
    if isinstance(value, Tile):
        return dataclasses.replace(value, expr=word(name), typed=True)
    if mutable:
        return dataclasses.replace(value, expr=word(name), literal=None, fixed=False, origin=None)
    return dataclasses.replace(value, expr=word(name))


def is_spelled(element: str, value: int | float) -> bool:
    return element in ("i32", "i64", "f32", "f64", "u32", "bool", "i8", "i16") or value == 0


def shortest(number: float, element: str) -> str:
    """The shortest decimal that is `number` once rounded to `element`, without an exponent."""
    exact = np.float64(number) if element == "f64" else np.float32(number)
    return np.format_float_positional(exact, unique=True, trim="0")


def literal_text(value: int | float | bool, element: str) -> Expr:
    """A number as Rust spells it."""
    if isinstance(value, bool):
        return word("true" if value else "false")
    if element not in ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64"):
        if value == 0:
            return word(f"{element}::ZERO")
        raise Untranslatable(f"the constant {value} of type {element}")
    if element.startswith("f"):
        number = float(value)
        if number in (float("inf"), float("-inf")):
            return word(f"{element}::{'NEG_' if number < 0 else ''}INFINITY")
        return word(f"{shortest(number, element)}{element}")
    return word(f"{int(value)}{element}")
