"""Statements: assignments, loops, branches, returns, each with the comments before it."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Iterable, Sequence

from tileport_skill.draft import rust
from tileport_skill.draft.body import Body
from tileport_skill.draft.branches import branch, ends_here
from tileport_skill.draft.coerce import as_scalar
from tileport_skill.draft.expressions import number, translate
from tileport_skill.draft.naming import rust_name, snake
from tileport_skill.draft.rust import For, Let, Word, word
from tileport_skill.draft.split_loops import split_of
from tileport_skill.draft.tokens import begin_loop
from tileport_skill.draft.values import Items, Number, Product, Symbol, Tile, Untranslatable, Value


def run(body: Body, statements: Sequence[ast.stmt]) -> None:
    """Writes `statements` to `body`."""
    for at, statement in enumerate(statements):
        if isinstance(statement, ast.If) and ends_here(statement):
            _end_early(body, statement, statements[at + 1 :])
            return
        if body.returned is not None:
            raise Untranslatable("code behind a return", statement.lineno)
        body.comments(statement.lineno, _head_end(statement))
        try:
            _run(body, statement)
        except Untranslatable as error:
            raise error.at(statement.lineno) from error
        body.target = body.last_step = None


def _end_early(body: Body, node: ast.If, rest: Sequence[ast.stmt]) -> None:
    """`if c: …; return` and what follows: the rest is the other arm, as cuTile Rust 0.2.0 leaves out such a return."""
    if body.loops:
        raise Untranslatable("a return inside a loop", node.lineno)
    body.comments(node.lineno, node.lineno)
    whole = ast.copy_location(
        ast.If(test=node.test, body=node.body[:-1] or [ast.copy_location(ast.Pass(), node)], orelse=list(rest)), node
    )
    whole.end_lineno = rest[-1].end_lineno if rest else node.end_lineno
    if node in body.decided:
        body.decided[whole] = body.decided[node]
    branch(body, whole, run, last=True)


def _head_end(statement: ast.stmt) -> int:
    """The last line of what is written at once: comments inside a compound statement's body come later."""
    compound = isinstance(statement, (ast.For, ast.If, ast.While, ast.With))
    return statement.lineno if compound else statement.end_lineno or statement.lineno


def _run(body: Body, statement: ast.stmt) -> None:
    match statement:
        case ast.Assign(targets=[target]):
            _assign(body, target, statement.value)
        case ast.AnnAssign(value=ast.expr() as value):
            _assign(body, statement.target, value)
        case ast.AugAssign(target=ast.Name() as name):
            whole = ast.BinOp(left=ast.Name(name.id, ast.Load()), op=statement.op, right=statement.value)
            ast.copy_location(whole, statement)
            ast.copy_location(whole.left, name)
            _assign(body, name, whole)
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="static_assert"), args=[test, *_])):
            _asserted(body, test)
        case ast.Expr():
            translate(body, statement.value)
        case ast.For():
            _loop(body, statement)
        case ast.If():
            branch(body, statement, run)
        case ast.Return():
            body.returned = Symbol("None") if statement.value is None else translate(body, statement.value)
        case ast.Pass():
            return
        case _:
            raise Untranslatable(f"the statement `{ast.unparse(statement).splitlines()[0][:60]}`")


def _asserted(body: Body, test: ast.expr) -> None:
    """What the compiler checks of the kernel's constants, the wrapper checks. Its own reading has no trace of that."""
    names = {node.id: body.env.get(node.id) for node in ast.walk(test) if isinstance(node, ast.Name)}
    own = {argument.arg for argument in body.source.tree.args.args} if body.entry else set()
    origins = {
        name: name if name in own and value.fixed else value.origin
        for name, value in names.items()
        if isinstance(value, Number)
    }
    if len(origins) != len(names) or None in origins.values():
        raise Untranslatable(f"the assertion `{ast.unparse(test)[:60]}` over more than the kernel's constants")
    said = re.sub(r"\w+", lambda word: str(origins.get(word[0], word[0])), ast.unparse(test))
    body.shared.assumed.append(said)


def _assign(body: Body, target: ast.expr, value: ast.expr) -> None:
    if isinstance(target, ast.Tuple):
        _unpack(body, target, translate(body, value))
        return
    if not isinstance(target, ast.Name):
        raise Untranslatable(f"an assignment to `{ast.unparse(target)[:60]}`")
    carried = any(target.id in names for names in body.loops)
    body.target = None if carried else _step_name(body, target.id, value)
    found = translate(body, value)
    if carried and target.id in body.loops[-1]:
        _carry_on(body, target.id, found)
    elif isinstance(found, Number) and isinstance(found.literal, (int, float)):
        body.env[target.id] = dataclasses.replace(found, name=snake(target.id))
    else:
        body.bind(target.id, found)


def _step_name(body: Body, name: str, value: ast.expr) -> str | None:
    """`name`'s Rust word, if no step of computing `value` reads what it stands for now after it is written."""
    reads = [node for node in ast.walk(value) if isinstance(node, ast.Name) and node.id == name]
    free = not reads or (len(reads) == 1 and _innermost(body, value, name))
    return rust_name(name, body.env, body.taken) if free else None


def _innermost(body: Body, value: ast.expr, name: str) -> bool:
    """Whether `name` is read first of all, at the bottom of a chain of calls with one tile each."""
    while isinstance(value, ast.Call):
        inner = [*value.args]
        inner += [keyword.value for keyword in value.keywords] if inner else []
        if isinstance(value.func, ast.Attribute) and not (
            isinstance(value.func.value, ast.Name) and value.func.value.id in ("ct", "cuda")
        ):
            inner.insert(0, value.func.value)
        if not inner or any(_needs_steps(body, argument) for argument in inner[1:]):
            return False
        value = inner[0]
    return isinstance(value, ast.Name) and value.id == name


def _needs_steps(body: Body, argument: ast.expr) -> bool:
    """Whether tiles or numbers of the kernel are in `argument`, which may need steps of their own."""
    names = [node.id for node in ast.walk(argument) if isinstance(node, ast.Name)]
    return any(isinstance(body.env.get(name), (Tile, Number, Product)) for name in names)


def _unpack(body: Body, target: ast.Tuple, value: Value) -> None:
    if not isinstance(value, Items) or len(value.items) != len(target.elts):
        raise Untranslatable(f"the assignment to `{ast.unparse(target)[:60]}`")
    names = [part.id for part in target.elts if isinstance(part, ast.Name)]
    last = body.blocks[-1][-1] if body.blocks[-1] else None
    words = [item.expr.text for item in value.items if isinstance(item, Number) and isinstance(item.expr, Word)]
    if isinstance(last, Let) and last.names == tuple(words) and len(names) == len(words) > 1:
        body.taken -= set(words)
        fresh = tuple(rust_name(name, body.env, body.taken) for name in names)
        body.blocks[-1][-1] = Let(fresh, last.value)
        body.taken |= set(fresh)
        for name, one, item in zip(names, fresh, value.items, strict=True):
            assert isinstance(item, Number)
            body.env[name] = dataclasses.replace(item, expr=word(one))
        return
    for part, item in zip(target.elts, value.items, strict=True):
        if not isinstance(part, ast.Name):
            raise Untranslatable(f"the assignment to `{ast.unparse(target)[:60]}`")
        body.bind(part.id, item)


# -- loops ----------------------------------------------------------------------------------------------------


def _loop(body: Body, node: ast.For) -> None:
    if not isinstance(node.target, ast.Name) or node.orelse:
        raise Untranslatable("a loop over more than a range")
    start, stop, step = _range(body, node.iter)
    split = None
    if body.where(node) in body.shared.facts.split:
        split = split_of(body, node, node.target.id, start, stop)
    carried = [name for name in _assigned(node.body) if name in body.env and _is_carried(body, name, node)]
    for name in carried:
        _make_mutable(body, name)
    begin_loop(body, node)
    body.loops.append(set(carried))
    if split is None:
        body.emit(_written_loop(body, node, start.expr, stop.expr, step.expr if step else None))
    else:
        body.decided[split.branch] = split.taken_first
        line = body.line
        body.emit(_written_loop(body, node, start.expr, split.first_stop, None))
        body.decided[split.branch] = not split.taken_first
        body.line = line
        second = _written_loop(body, node, split.second_start, stop.expr, None)
        body.emit(second if split.always is None else rust.Run(rust.If(split.always, rust.Block((second,)), None)))
    body.loops.pop()


def _written_loop(body: Body, node: ast.For, start: rust.Expr, stop: rust.Expr, step: rust.Expr | None) -> For:
    assert isinstance(node.target, ast.Name)
    index = rust_name(node.target.id, body.env, body.taken)
    with body.block() as block:
        body.env[node.target.id] = Number(expr=word(index), dtype="i32")
        body.taken.add(index)
        run(body, node.body)
    return For(index, start, stop, step, rust.Block(tuple(block)))


def _range(body: Body, node: ast.expr) -> tuple[Number, Number, Number | None]:
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range"):
        raise Untranslatable(f"a loop over `{ast.unparse(node)[:60]}`")
    parts = [as_scalar(body, translate(body, argument), "i32") for argument in node.args]
    if len(parts) == 1:
        parts.insert(0, dataclasses.replace(number(0), expr=word("0")))
    step = parts[2] if len(parts) == 3 and parts[2].literal != 1 else None
    return parts[0], parts[1], step


def _assigned(statements: Iterable[ast.stmt]) -> list[str]:
    """The names that `statements` assign to, in order."""
    names = [
        node.id
        for statement in statements
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    return list(dict.fromkeys(names))


def _is_carried(body: Body, name: str, loop: ast.For) -> bool:
    """Whether what `name` stands for matters beyond one round: it is read before it is written, or behind the loop."""
    if not isinstance(body.env[name], (Tile, Number, Product)):
        return False
    end = loop.end_lineno or loop.lineno
    uses = [n for n in ast.walk(body.source.tree) if isinstance(n, ast.Name) and n.id == name and n.lineno > end]
    reads = [n.lineno for n in uses if isinstance(n.ctx, ast.Load)]
    writes = [n.lineno for n in uses if isinstance(n.ctx, ast.Store)]
    read_later = bool(reads) and (not writes or min(reads) <= min(writes))
    return read_later or _read_first(loop.body, name)


def _read_first(statements: Sequence[ast.stmt], name: str) -> bool:
    """Whether a round reads `name` before it surely writes it."""
    for statement in statements:
        names = [n for n in ast.walk(statement) if isinstance(n, ast.Name) and n.id == name]
        if any(isinstance(n.ctx, ast.Load) for n in names) or (isinstance(statement, ast.AugAssign) and names):
            return True
        if names and isinstance(statement, (ast.Assign, ast.AnnAssign)):
            return False
        if names:
            return True
    return False


def _make_mutable(body: Body, name: str) -> None:
    """The last `let` of `name` becomes `let mut`, or a new one is written if there is none of its own."""
    value = body.env[name]
    if isinstance(value, (Tile, Number)) and isinstance(value.expr, Word):
        for block in reversed(body.blocks):
            for index, statement in reversed(list(enumerate(block))):
                if isinstance(statement, Let) and statement.names == (value.expr.text,):
                    type_ = value.type if isinstance(value, Tile) else value.dtype
                    literal = isinstance(value, Number) and value.literal is not None
                    if not literal and not _is_shared_literal(body, value.expr):
                        block[index] = Let(statement.names, statement.value, type_, mutable=True)
                        return
    if isinstance(value, Number) and value.literal is not None:
        value = dataclasses.replace(value, literal=None, name=None)
    body.env.pop(name)
    body.bind(name, value, mutable=True)


def _is_shared_literal(body: Body, name: Word) -> bool:
    return any(name in table.values() for table in body.literals)


def _carry_on(body: Body, name: str, value: Value) -> None:
    """A loop's variable gets its value for the next round."""
    old = body.env[name]
    if isinstance(value, Product):
        raise Untranslatable(f"{name}, a product that is merged into a sum of the next round")
    match old, value:
        case Tile(), Tile() if old.type == value.type:
            body.emit(rust.Assign(old.expr.flat, value.expr))
        case Number(), Number():
            body.emit(rust.Assign(old.expr.flat, as_scalar(body, value, old.dtype).expr))
        case _:
            raise Untranslatable(f"{name}, which changes its type in a loop")
