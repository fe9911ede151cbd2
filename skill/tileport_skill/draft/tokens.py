"""The order of accesses to one array, where the compiler orders them: by tokens, as its own typed IR has them.

An access that nothing orders needs no token, and its array no state here. Where a loop writes an array in order, one
token is carried from round to round; where a kernel reads and writes one array, each write waits for the reads before.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field

from tileport_skill.draft.body import Body
from tileport_skill.draft.facts import span
from tileport_skill.draft.rust import Assign, Call, Expr, Let, Word, call, word
from tileport_skill.draft.values import Array


@dataclass(slots=True)
class Order:
    """What the next access of one array waits for."""

    accesses: list[Expr] = field(default_factory=list)
    """Tokens of everything since the last write: a write waits for them."""
    write: Expr | None = None
    """The last write's token: a read waits for it."""
    carried: Word | None = None
    """The variable that loops carry, where only writes are ordered."""


def ordered_arrays(body: Body, within: ast.AST) -> list[Array]:
    """Arrays with an access inside `within` that the compiler orders behind another."""
    found = []
    for node in ast.walk(within):
        if not isinstance(node, ast.Call) or (*body.place, span(node)) not in body.shared.facts.ordered:
            continue
        first = node.args[0] if node.args else None
        value = body.env.get(first.id) if isinstance(first, ast.Name) else None
        if isinstance(value, Array) and value not in found:
            found.append(value)
    return found


def begin_loop(body: Body, loop: ast.For) -> None:
    """Before a loop: a token for every array that it writes in order."""
    for array in ordered_arrays(body, loop):
        order = body.orders.setdefault(array.name, Order())
        if order.carried is None:
            start: Expr = join(body, array, order.accesses) if order.accesses else call("new_token_unordered")
            order.carried = word(body.free(f"{array.name}_written"))
            body.emit(Let((order.carried.text,), start, "Token", mutable=True))


def follow(body: Body, arrays: Iterable[Array]) -> None:
    """At the beginning of a kernel: arrays that are read and written in order outside loops."""
    for array in arrays:
        body.orders.setdefault(array.name, Order())


def of_read(body: Body, array: Array) -> Order | None:
    """The state of `array`, if its reads count."""
    order = body.orders.get(array.name)
    return None if order is None or order.carried is not None else order


def note_read(order: Order, view: str) -> None:
    order.accesses.append(call("get_partition_token", word(f"&{view}")))


def before_write(body: Body, array: Array) -> Expr | None:
    """What a write waits for; None if nothing orders it."""
    order = body.orders.get(array.name)
    if order is None:
        return None
    if order.carried is not None:
        return order.carried
    return join(body, array, order.accesses) if order.accesses else None


def join(body: Body, array: Array, tokens: list[Expr]) -> Expr:
    if len(tokens) == 1:
        return tokens[0]
    name = word(body.free(f"{array.name}_order"))
    body.emit(Let((name.text,), call("join_tokens", Call("&", tuple(tokens), "[]"))))
    return name


def note_write(body: Body, array: Array, token: Expr) -> None:
    """After a write, whose token is `token`."""
    order = body.orders[array.name]
    if order.carried is not None:
        body.emit(Assign(order.carried.text, token))
    else:
        order.accesses, order.write = [token], token
