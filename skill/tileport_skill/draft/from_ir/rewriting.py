"""Walking and changing the Rust tree of an entry: names it uses, names replaced, statements in every block."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from tileport_skill.draft.rust import (
    Assign,
    Binary,
    Block,
    Call,
    Expr,
    For,
    If,
    Let,
    Loop,
    Method,
    Run,
    Stmt,
    Unsafe,
    Word,
)

IDENTIFIER = re.compile(r"(?<![\w.:])[a-z_]\w*")
Change = Callable[[Block], Block]


def names_in(expr: Expr) -> Iterator[str]:
    """Every variable that an expression reads, also inside texts such as `&x_tiles`."""
    match expr:
        case Word(text=text):
            yield from IDENTIFIER.findall(text)
        case Call(arguments=arguments):
            for one in arguments:
                yield from names_in(one)
        case Method(receiver=receiver, arguments=arguments):
            for one in (receiver, *arguments):
                yield from names_in(one)
        case Binary(left=left, right=right):
            yield from names_in(left)
            yield from names_in(right)
        case Unsafe(inner=inner):
            yield from names_in(inner)
        case If(condition=condition, then=then, otherwise=otherwise):
            yield from names_in(condition)
            for block in (then, otherwise):
                yield from uses(block).elements() if block else ()


def reads(statement: Stmt) -> Iterator[str]:
    match statement:
        case Let(value=value) | Run(value=value):
            yield from names_in(value)
        case Assign(name=name, value=value):
            yield name
            yield from names_in(value)
        case For(start=start, stop=stop, step=step, body=body):
            for one in (start, stop, *([step] if step else [])):
                yield from names_in(one)
            yield from uses(body).elements()
        case Loop(body=body):
            yield from uses(body).elements()


def uses(block: Block) -> Counter[str]:
    """How often each name is read or assigned to in a block, the blocks inside it included."""
    return Counter(name for statement in block.statements for name in reads(statement))


def replaced(expr: Expr, by: Mapping[str, Expr]) -> Expr:
    """With variables replaced, where they stand as expressions of their own or inside a text, there by names alone."""
    match expr:
        case Word(text=text):
            if text in by:
                return by[text]
            return Word(IDENTIFIER.sub(lambda found: _word(by, found[0]), text))
        case Call(arguments=arguments):
            return dataclasses.replace(expr, arguments=tuple(replaced(one, by) for one in arguments))
        case Method(receiver=receiver, arguments=arguments):
            inner = tuple(replaced(one, by) for one in arguments)
            return dataclasses.replace(expr, receiver=replaced(receiver, by), arguments=inner)
        case Binary(left=left, right=right):
            return dataclasses.replace(expr, left=replaced(left, by), right=replaced(right, by))
        case Unsafe(inner=inner):
            return Unsafe(replaced(inner, by))
        case If(condition=condition, then=then, otherwise=otherwise):
            arms = (in_block(then, by), in_block(otherwise, by) if otherwise else None)
            return If(replaced(condition, by), *arms)
    return expr


def _word(by: Mapping[str, Expr], name: str) -> str:
    found = by.get(name)
    return found.text if isinstance(found, Word) else name


def in_statement(statement: Stmt, by: Mapping[str, Expr]) -> Stmt:
    match statement:
        case Let(value=value) | Run(value=value) | Assign(value=value):
            return dataclasses.replace(statement, value=replaced(value, by))
        case For(start=start, stop=stop, step=step, body=body):
            step = replaced(step, by) if step else None
            return dataclasses.replace(
                statement, start=replaced(start, by), stop=replaced(stop, by), step=step, body=in_block(body, by)
            )
        case Loop(body=body):
            return Loop(in_block(body, by))
    return statement


def in_block(block: Block, by: Mapping[str, Expr]) -> Block:
    return Block(tuple(in_statement(one, by) for one in block.statements))


def inside_out(block: Block, change: Change) -> Block:
    """`change` applied to every block, inner ones first."""
    statements: list[Stmt] = []
    for statement in block.statements:
        match statement:
            case For(body=body) | Loop(body=body):
                statement = dataclasses.replace(statement, body=inside_out(body, change))
            case Run(value=If(condition=condition, then=then, otherwise=otherwise)):
                arms = (inside_out(then, change), inside_out(otherwise, change) if otherwise else None)
                statement = Run(If(condition, *arms))
        statements.append(statement)
    return change(Block(tuple(statements)))
