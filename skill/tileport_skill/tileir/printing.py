"""Writes a module back as text, byte for byte as `tileirdisasm` does."""

from __future__ import annotations

from itertools import groupby

from tileport_skill.tileir.formats import FOLDS, Field, Part, parts
from tileport_skill.tileir.records import Entry, Module, Op, Region, Value


def print_module(module: Module) -> str:
    """The text of `module`, ending as `tileirdisasm` ends it."""
    out: list[str] = []
    for item in module.items:
        if isinstance(item, Entry):
            arguments = ", ".join(f"{a.name}: {a.type}" for a in item.arguments)
            hints = "" if item.hints is None else f" optimization_hints=<{item.hints}>"
            out.append(f"entry @{item.name}({arguments}){hints} {{")
            _print_region(item.body, 1, out)
            out.append("}")
        else:
            out.append(item.text)
    return "\n".join(out) + "\n"


def print_op(op: Op) -> str:
    """The first line of `op`, without indentation."""
    name = "loop without values" if op.name == "loop" and op.results and not op.operands else op.name
    left = f"{_names(op.results)} = " if op.results else ""
    return f"{left}{op.name}{''.join(_render(part, op) or '' for part in parts(name))}"


def _print_region(region: Region, depth: int, out: list[str]) -> None:
    pad = "  " * depth
    for op in region.ops:
        out.append(pad + print_op(op))
        for index, inner in enumerate(op.regions):
            if op.name in FOLDS:
                out.append(f"{pad}({', '.join(f'{a.name}: {a.type}' for a in inner.arguments)}) {{")
            elif index > 0:
                out.append(pad + "} else {")
            _print_region(inner, depth + 1, out)
        if op.regions:
            out.append(pad + "}")


def _names(results: tuple[Value, ...]) -> str:
    spelled = []
    for base, group in groupby(results, key=lambda value: value.name.partition("#")[0]):
        members = list(group)
        spelled.append(f"{base}:{len(members)}" if "#" in members[0].name else base)
    return ", ".join(spelled)


def _render(part: Part, op: Op) -> str | None:
    """The text of one part; None if its field is absent."""
    if isinstance(part, str):
        return part
    if isinstance(part, Field):
        return _operand(part, op) if part.sort == "$" else _type(part, op)
    texts = [_render(inner, op) for inner in part]
    first = next((t for t, inner in zip(texts, part, strict=True) if not isinstance(inner, str)), None)
    return None if first is None else "".join(text or "" for text in texts)


def _operand(field: Field, op: Op) -> str | None:
    if field.kind in ("", "*"):
        values = op.operands.get(field.name)
        return ", ".join(value.name for value in values) if values else None
    if field.kind == "+":
        word = "unsigned" if field.name == "unsignedCmp" else field.name
        return word if field.name in op.attributes else None
    if field.kind == "%":
        return op.regions[0].arguments[0].name
    if field.kind == "=":
        values = op.operands.get(field.name, ())
        new = op.regions[0].arguments[len(op.regions[0].arguments) - len(values) :]
        pairs = zip(new, values, strict=True)
        return ", ".join(f"{inner.name} = {outer.name}" for inner, outer in pairs) or None
    if field.kind == "~":
        return _dimensions(field, op)
    return op.attributes.get(field.name)


def _dimensions(field: Field, op: Op) -> str:
    """Numbers from the attribute, operands in the places of the old ones."""
    items = op.attributes[field.name].split(", ") if op.attributes[field.name] else []
    values = iter(op.operands[field.name])
    return ", ".join(next(values).name if item.startswith("%") else item for item in items)


def _type(field: Field, op: Op) -> str | None:
    if not field.name:
        types = [str(value.type) for value in op.results]
        return ", ".join(types[:1] if field.kind == "=1" else types) or None
    if field.kind == "%":
        return str(op.regions[0].arguments[0].type)
    if field.name == "dynamic":
        values = op.operands["dynamicShape"] + op.operands["dynamicStrides"]
        return str(values[0].type) if values else None
    types = [str(value.type) for value in op.operands.get(field.name, ())]
    if field.kind == "^" and len(set(types)) == 1:
        types = types[:1]
    return ", ".join(types) or None
