"""The Rust tree as text, broken into lines the way rustfmt breaks them at its default settings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tileport_skill.draft.rust import (
    ATOM,
    Assign,
    Binary,
    Blank,
    Block,
    Call,
    Comment,
    Expr,
    For,
    Function,
    If,
    Let,
    Loop,
    Method,
    Module,
    Run,
    Stmt,
    Unsafe,
    operand,
)

WIDTH = 100
ARGUMENTS = 60
"""What the arguments of a call, or a chain of methods, may take before rustfmt sets them one to a line."""
IF_ELSE = 50
INDENT = 4


def print_module(module: Module) -> str:
    """The whole file."""
    parts = ["    use cutile::core::*;\n"]
    parts += [_indented(idiom.rstrip("\n"), INDENT) + "\n" for idiom in module.idioms]
    parts += [_function(function, INDENT) + "\n" for function in module.functions]
    head = "".join(f"{line}\n" for line in module.head)
    return f"{head}#[cutile::module]\npub mod {module.name} {{\n{chr(10).join(parts)}}}\n"


def print_function(function: Function) -> str:
    """One function with its documentation, as it stands at the margin."""
    return _function(function, 0)


def print_block(block: Block) -> str:
    """The statements of one block, as they stand inside a function."""
    return "\n".join(_block(block, 0))


def _indented(text: str, indent: int) -> str:
    return "\n".join(f"{' ' * indent}{line}" if line else "" for line in text.split("\n"))


def _function(function: Function, indent: int) -> str:
    pad = " " * indent
    lines = [f"{pad}/// {line}".rstrip() for line in function.documentation]
    lines += [f"{pad}{attribute}" for attribute in function.attributes]
    lines.append(_signature(function, indent))
    lines += _block(function.body, indent + INDENT)
    return "\n".join([*lines, f"{pad}}}"])


def _signature(function: Function, indent: int) -> str:
    pad = " " * indent
    head = f"{pad}{function.qualifiers}fn {function.name}"
    generics = f"<{', '.join(function.generics)}>" if function.generics else ""
    end = f" -> {function.returns} {{" if function.returns else " {"
    flat = f"{head}{generics}({', '.join(function.parameters)}){end}"
    if len(flat) <= WIDTH:
        return flat
    if len(head) + len(generics) + 1 > WIDTH:
        inner = "".join(f"{pad}    {generic},\n" for generic in function.generics)
        generics = f"<\n{inner}{pad}>"
    inner = "".join(f"{pad}    {parameter},\n" for parameter in function.parameters)
    return f"{head}{generics}(\n{inner}{pad}){end}"


def _block(block: Block, indent: int) -> list[str]:
    lines = [line for statement in block.statements for line in _statement(statement, indent)]
    if block.value is not None:
        lines += _lines(" " * indent, block.value, indent, 0)
    return lines


def _statement(statement: Stmt, indent: int) -> list[str]:
    pad = " " * indent
    match statement:
        case Comment():
            return [f"{pad}// {statement.text}".rstrip()]
        case Blank():
            return [""]
        case Let():
            return _bound(f"{pad}{statement.head} =", statement.value, indent)
        case Assign():
            return _bound(f"{pad}{statement.name} =", statement.value, indent)
        case Run(value=If() as value):
            return _if(pad, value, indent)
        case Run():
            return _ended(_lines(pad, statement.value, indent, 1))
        case For():
            return [
                f"{pad}for {statement.name} in {_range(statement)} {{",
                *_block(statement.body, indent + 4),
                f"{pad}}}",
            ]
        case Loop():
            return [f"{pad}loop {{", *_block(statement.body, indent + 4), f"{pad}}}"]
        case _:
            raise TypeError(f"{type(statement).__name__} has no text")


def _range(loop: For) -> str:
    plain = f"{operand(loop.start, 1)}..{operand(loop.stop, 1)}"
    return plain if loop.step is None else f"({plain}).step_by({operand(loop.step, 1)} as usize)"


def _bound(head: str, value: Expr, indent: int) -> list[str]:
    """`head value;`, on the next line where that saves breaking it."""
    here = _lines(f"{head} ", value, indent, 1)
    if (len(here) == 1 and len(here[0]) < WIDTH) or isinstance(value, If):
        return _ended(here)
    below = _lines(" " * (indent + INDENT), value, indent + INDENT, 1)
    if len(below) == 1 or len(here[0]) > WIDTH:
        return [head, *_ended(below)]
    return _ended(here)


def _ended(lines: list[str]) -> list[str]:
    return [*lines[:-1], f"{lines[-1]};"]


def _lines(head: str, expr: Expr, indent: int, after: int) -> list[str]:
    """`head` and `expr`, with `after` columns kept free behind the last line."""
    if not isinstance(expr, If) or expr.flat:
        flat = f"{head}{expr.flat}"
        if len(flat) + after <= WIDTH and _may_be_flat(expr):
            return [flat]
    match expr:
        case Call():
            return _broken_call(head, expr, indent)
        case Method():
            return list(_chain(head, expr, indent))
        case Binary():
            return list(_operands(head, expr, indent))
        case Unsafe():
            inner = _lines(" " * (indent + INDENT), expr.inner, indent + INDENT, 0)
            return [f"{head}unsafe {{", *inner, f"{' ' * indent}}}"]
        case If():
            return _if(head, expr, indent)
        case _:
            return [f"{head}{expr.flat}"]


def _broken_call(head: str, expr: Call, indent: int) -> list[str]:
    """One argument to a line; the only argument, if it is a call or list itself, opens on the call's own line."""
    opened = f"{head}{expr.function}{expr.brackets[0]}"
    if len(expr.arguments) == 1 and isinstance(expr.arguments[0], Call):
        *lines, last = _broken_call(opened, expr.arguments[0], indent)
        return [*lines, f"{last}{expr.brackets[1]}"]
    return [opened, *_each(expr.arguments, indent), f"{' ' * indent}{expr.brackets[1]}"]


def _may_be_flat(expr: Expr) -> bool:
    """Whether rustfmt leaves `expr` on one line if it fits; short widths count for some parts of it."""
    match expr:
        case Call():
            width = len(", ".join(a.flat for a in expr.arguments))
            block = len(expr.arguments) == 1 and isinstance(expr.arguments[0], Unsafe)  # has a width of its own
            return (block or width <= ARGUMENTS) and all(map(_may_be_flat, expr.arguments))
        case Method():
            width = len(", ".join(a.flat for a in expr.arguments))
            long = isinstance(expr.receiver, Method) and len(expr.flat) > ARGUMENTS
            return width <= ARGUMENTS and not long and _may_be_flat(expr.receiver)
        case Binary():
            return _may_be_flat(expr.left) and _may_be_flat(expr.right)
        case Unsafe():
            return _may_be_flat(expr.inner)
        case If():
            return len(expr.flat) <= IF_ELSE
        case _:
            return True


def _each(parts: Iterable[Expr], indent: int) -> list[str]:
    inner = indent + INDENT
    lines: list[str] = []
    for part in parts:
        made = _lines(" " * inner, part, inner, 1)
        lines += [*made[:-1], f"{made[-1]},"]
    return lines


def _chain(head: str, expr: Method, indent: int) -> Iterator[str]:
    links: list[Method] = []
    first: Expr = expr
    while isinstance(first, Method):
        links.append(first)
        first = first.receiver
    start = operand(first, ATOM)
    if len(start) <= INDENT and not head.strip():  # rustfmt lets the first method stand behind a short name
        link = links.pop()
        start = f"{start}.{link.name}({', '.join(a.flat for a in link.arguments)})"
    yield f"{head}{start}"
    for link in reversed(links):
        yield f"{' ' * (indent + INDENT)}.{link.name}({', '.join(a.flat for a in link.arguments)})"


def _operands(head: str, expr: Binary, indent: int) -> Iterator[str]:
    links: list[tuple[str, Expr]] = []
    first: Expr = expr
    while isinstance(first, Binary) and first.precedence == expr.precedence:
        links.append((first.operator, first.right))
        first = first.left
    if len(first.flat) <= INDENT and _may_be_flat(
        links[-1][1]
    ):  # rustfmt lets the second operand stand behind a short first one
        operator, part = links.pop()
        yield f"{head}{first.flat} {operator} {operand(part, expr.precedence + 1)}"
    elif first.precedence > expr.precedence:
        yield from _lines(head, first, indent, 0)
    else:
        yield f"{head}({first.flat})"
    for operator, part in reversed(links):
        inner = indent + INDENT
        if part.precedence > expr.precedence:
            yield from _lines(f"{' ' * inner}{operator} ", part, inner, 1)
        else:
            yield f"{' ' * inner}{operator} ({part.flat})"


def _if(head: str, expr: If, indent: int) -> list[str]:
    pad = " " * indent
    lines = [f"{head}if {expr.condition.flat} {{", *_block(expr.then, indent + INDENT)]
    if expr.otherwise is not None:
        only = expr.otherwise.single
        if isinstance(only, If):
            return [*lines, *_if(f"{pad}}} else ", only, indent)]
        lines += [f"{pad}}} else {{", *_block(expr.otherwise, indent + INDENT)]
    return [*lines, f"{pad}}}"]
