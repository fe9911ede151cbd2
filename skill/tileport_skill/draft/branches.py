"""`if`: decided now where every specialisation agrees, else an `if` in Rust that yields what its arms assign."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Sequence

from tileport_skill.draft import rust
from tileport_skill.draft.body import Body
from tileport_skill.draft.coerce import as_scalar, as_tile
from tileport_skill.draft.derived import origin_of, settled
from tileport_skill.draft.expressions import truth
from tileport_skill.draft.naming import rust_name, snake
from tileport_skill.draft.rust import Block, Expr, If, Let, Run, word
from tileport_skill.draft.values import Apart, Number, Product, Symbol, Tile, Untranslatable, Value

Runner = Callable[[Body, Sequence[ast.stmt]], None]


def ends_here(node: ast.If) -> bool:
    """Whether the kernel ends where this branch is taken."""
    last = node.body[-1]
    return isinstance(last, ast.Return) and last.value is None and not node.orelse


def branch(body: Body, node: ast.If, run: Runner, *, last: bool = False) -> None:
    """`last`: nothing comes behind it, so that it yields nothing."""
    if node in body.decided:
        _take(body, node, body.decided[node], run)
        return
    condition = truth(body, node.test)
    if isinstance(condition.literal, bool):
        _take(body, node, condition.literal, run)
        return
    if condition.origin is not None and condition.origin in body.shared.known:
        _take(body, node, body.shared.known[condition.origin], run)
        return
    reached = [_is_reached(body, statements) for statements in (node.body, node.orelse)]
    if condition.origin is not None and reached[0] != reached[1]:
        body.shared.assumed.append(condition.origin if reached[0] else f"not ({condition.origin})")
        _take(body, node, reached[0], run)
        return
    condition = settled(body, condition)
    orders = copy.deepcopy(body.orders) if last else body.orders
    first = _arm(body, node.body, run, origin_of("{}", condition))
    body.orders = orders  # the kernel ends with the first arm, if nothing comes behind: it orders nothing of the second
    arms = [first, _arm(body, node.orelse, run, origin_of("not {}", condition))]
    body.line = max(body.line, node.end_lineno or 0)
    if condition.origin is not None:
        body.shared.one_sided |= dict.fromkeys(_one_sided(body, arms), condition.origin)
    names = [] if last else _yielded(body, arms)
    if not names:
        otherwise = Block(tuple(arms[1][0])) if node.orelse else None
        body.emit(Run(If(condition.expr, Block(tuple(arms[0][0])), otherwise)))
        return
    _bind(body, names, condition, arms)


def _take(body: Body, node: ast.If, taken: bool, run: Runner) -> None:
    """The statements of one arm, without the branch."""
    chosen = node.body if taken else node.orelse
    if chosen:
        body.line = max(body.line, chosen[0].lineno - 1)
    run(body, chosen)
    body.line = max(body.line, node.end_lineno or 0)


def _is_reached(body: Body, statements: Sequence[ast.stmt]) -> bool:
    """Whether the compiler comes to `statements` in any specialisation; to nothing it always does."""
    nodes = [node for statement in statements for node in ast.walk(statement) if isinstance(node, ast.expr)]
    return not nodes or any(body.maybe(node) is not None for node in nodes)


Arm = tuple[list[rust.Stmt], dict[str, Value]]


def _arm(body: Body, statements: Sequence[ast.stmt], run: Runner, known: str | None) -> Arm:
    """`known` is the condition, where the kernel's constants decide it."""
    before, conditions = dict(body.env), [known] if known is not None else []
    with body.block() as block:
        body.shared.conditions += conditions
        try:
            run(body, statements)
        finally:
            del body.shared.conditions[len(body.shared.conditions) - len(conditions) :]
        if body.returned is not None:
            raise Untranslatable("a return inside a branch")
        after = {name: value for name, value in body.env.items() if before.get(name) is not value}
    return block, after


def _yielded(body: Body, arms: list[Arm]) -> list[str]:
    """What is assigned in both arms, or in one and known before."""
    names = dict.fromkeys([*arms[0][1], *arms[1][1]])
    return [
        name
        for name in names
        if all(name in after or name in body.env for _, after in arms)
        and not all(isinstance(after.get(name, body.env.get(name)), Symbol) for _, after in arms)
    ]


def _one_sided(body: Body, arms: list[Arm]) -> list[str]:
    """What one arm alone assigns, and nobody did before."""
    names = dict.fromkeys([*arms[0][1], *arms[1][1]])
    return [name for name in names if name not in body.env and not all(name in after for _, after in arms)]


def _bind(body: Body, names: list[str], condition: Number, arms: list[Arm]) -> None:
    results: list[list[tuple[str, Expr]]] = []
    pattern: list[tuple[str, Value]] = []
    for block, after in arms:
        body.blocks.append(block)
        values = [_settled(body, name, after.get(name, body.env.get(name)), arms) for name in names]
        body.blocks.pop()
        results.append([(_type(value), value.expr) for value in values])
        pattern = list(zip(names, values, strict=True))
    types = [left[0] for left in results[0]]
    if types != [right[0] for right in results[1]]:
        said = f"{', '.join(names)}: of another type in each branch"
        raise Untranslatable(said) if condition.origin is None else Apart(said, condition.origin)
    blocks = [_tail(block, [e for _, e in result]) for (block, _), result in zip(arms, results, strict=True)]
    choice = If(condition.expr, blocks[0], blocks[1])
    _name_results(body, pattern, types, choice)


def _settled(body: Body, name: str, value: Value | None, arms: list[Arm]) -> Tile | Number:
    """The value of `name` at the end of an arm, as Rust can yield it."""
    others = [after.get(name, body.env.get(name)) for _, after in arms]
    tile = next((v for v in others if isinstance(v, Tile)), None)
    number = next((v for v in others if isinstance(v, Number) and v.literal is None), None)
    match value:
        case Tile():
            return value
        case Number() | Product() if tile is not None:
            return as_tile(body, value, tile.element, tile.dims)
        case Number():
            return as_scalar(body, value, number.dtype if number is not None else value.dtype)
    raise Untranslatable(f"{name}, which is a value in one branch only")


def _type(value: Tile | Number) -> str:
    return value.type if isinstance(value, Tile) else value.dtype


def _tail(block: list[rust.Stmt], values: list[Expr]) -> Block:
    """The arm's block, ending in its values; a last `let` that only names the value is left out."""
    if len(values) > 1:
        return Block(tuple(block), rust.Call("", tuple(values)))
    last = block[-1] if block else None
    if isinstance(last, Let) and not last.mutable and last.type is None and last.names == (values[0].flat,):
        return Block(tuple(block[:-1]), last.value)
    return Block(tuple(block), values[0])


def _name_results(body: Body, pattern: list[tuple[str, Value]], types: list[str], choice: If) -> None:
    carried = [name for name, _ in pattern if body.loops and name in body.loops[-1]]
    if carried and len(pattern) > 1:
        fresh = tuple(body.free(f"{snake(name)}_next" if name in carried else snake(name)) for name, _ in pattern)
        body.emit(Let(fresh, choice, f"({', '.join(types)})"))
        for (name, value), one in zip(pattern, fresh, strict=True):
            _rebind(body, name, value, word(one), name in carried)
        return
    if carried:
        name, value = pattern[0]
        _rebind(body, name, value, choice, True)
        return
    words = tuple(rust_name(name, body.env, body.taken) for name, _ in pattern)
    body.emit(Let(words, choice, types[0] if len(types) == 1 else f"({', '.join(types)})"))
    body.taken |= set(words)
    for (name, value), one in zip(pattern, words, strict=True):
        _rebind(body, name, value, word(one), False)


def _rebind(body: Body, name: str, value: Value, expr: Expr, carried: bool) -> None:
    if carried:
        old = body.env[name]
        assert isinstance(old, (Tile, Number))
        body.emit(rust.Assign(old.expr.flat, expr))
        return
    if isinstance(value, Tile):
        body.env[name] = Tile(expr=expr, element=value.element, dims=value.dims)
    elif isinstance(value, Number):
        body.env[name] = Number(expr=expr, dtype=value.dtype)
