"""An entry's parameters: an array that is only ever viewed is a `&Tensor`, any other a pointer, sizes and strides."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tileport_skill.capture import records
from tileport_skill.draft import rust
from tileport_skill.draft.from_ir.names import Names
from tileport_skill.draft.from_ir.writer import Held, Writer
from tileport_skill.draft.kernel import AXES
from tileport_skill.draft.naming import CORE, KEYWORDS, snake
from tileport_skill.draft.rust import call, word
from tileport_skill.draft.values import Untranslatable
from tileport_skill.tileir.records import Entry, Op, Value, walk

STRIDES = {1: ("stride",), 2: ("row_stride", "column_stride")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """One parameter of the Python kernel and the arguments that it is in Tile IR."""

    parameter: records.Array | records.Scalar
    arguments: tuple[Value, ...]
    views: tuple[Op, ...] = ()
    """The views of the whole array; if there are any, it is only ever viewed."""

    @property
    def sizes(self) -> tuple[Value, ...]:
        rank = (len(self.arguments) - 1) // 2
        return self.arguments[1 : 1 + rank]


def given(entry: Entry, parameters: Sequence[records.Parameter]) -> tuple[Given, ...]:
    """Every parameter that crosses to the device. Raises `Untranslatable` for lists and tuples."""
    origin = _origins(entry)
    users = _users(entry)
    left = list(entry.arguments)
    found = []
    for parameter in parameters:
        match parameter:
            case records.Constant():
                continue
            case records.Other():
                raise Untranslatable(f"the parameter {parameter.name}: {parameter.text[:60]}")
            case records.Array():
                taken = tuple(left[: 1 + 2 * parameter.ndim])
                views = _views(taken, origin, users)
                found.append(Given(parameter=parameter, arguments=taken, views=views))
            case records.Scalar():
                taken = tuple(left[:1])
                found.append(Given(parameter=parameter, arguments=taken))
        del left[: len(taken)]
    if left:
        raise Untranslatable(f"{len(left)} arguments of the kernel that are none of its parameters")
    return tuple(found)


def _origins(entry: Entry) -> dict[Value, Value]:
    """The argument behind a value that only carries assumptions about it."""
    found = {argument: argument for argument in entry.arguments}
    for op in walk(entry.body):
        if op.name == "assume" and op.operand("value") in found:
            found[op.result] = found[op.operand("value")]
    return found


def _users(entry: Entry) -> dict[Value, list[Op]]:
    """By argument, the operations that use it, under assumptions or not."""
    origin = _origins(entry)
    found: dict[Value, list[Op]] = defaultdict(list)
    for op in walk(entry.body):
        if op.name == "assume" and op.operand("value") in origin:
            continue
        for value in dict.fromkeys(op.all_operands()):
            if value in origin:
                found[origin[value]].append(op)
    return found


def _views(
    arguments: Sequence[Value], origin: Mapping[Value, Value], users: Mapping[Value, list[Op]]
) -> tuple[Op, ...]:
    """The views of a whole array, if nothing but they use its pointer and its strides; else none."""
    rank = (len(arguments) - 1) // 2
    pointer, sizes, strides = arguments[0], arguments[1 : 1 + rank], arguments[1 + rank :]
    views = users.get(pointer, [])
    for op in (*views, *(user for stride in strides for user in users.get(stride, []))):
        if op.name != "make_tensor_view" or origin.get(op.operand("base")) is not pointer:
            return ()
    for view in views:
        if [origin.get(value) for value in view.operands["dynamicShape"]] != list(sizes):
            return ()
        passed = [origin.get(value) for value in view.operands["dynamicStrides"]]
        if passed != [
            stride for stride, text in zip(strides, _stride_texts(view), strict=True) if text.startswith("%")
        ]:
            return ()
    return tuple(views)


def _stride_texts(view: Op) -> list[str]:
    text = view.attributes["dynamicStrides"]
    return text.split(", ") if text else []


def bind_parameters(writer: Writer, parameters: Sequence[Given], names: Names) -> Iterator[str]:
    """Gives every argument its name in Rust; yields the entry's parameters, `name: type`."""
    for one in parameters:
        base = snake(one.parameter.name)
        name = names.fresh(f"{base}_" if base in KEYWORDS | CORE else base)
        match one.parameter:
            case records.Scalar():
                (argument,) = one.arguments
                yield f"{name}: {writer.element(argument)}"
                writer.held[argument] = Held(word(name), scalar=word(name))
            case records.Array() if one.views:
                rank = one.parameter.ndim
                yield f"{name}: &Tensor<{writer.element(one.arguments[0])}, {{ [{', '.join(['-1'] * rank)}] }}>"
                _hold_tensor(writer, one, name)
            case records.Array() as array:
                axes = AXES.get(array.ndim, tuple(f"size_{axis}" for axis in range(array.ndim)))
                strides = STRIDES.get(array.ndim, tuple(f"stride_{axis}" for axis in range(array.ndim)))
                yield f"{name}: *mut {writer.element(one.arguments[0])}"
                writer.held[one.arguments[0]] = Held(word(name))
                for argument, what in zip(one.arguments[1:], (*axes, *strides), strict=True):
                    part = names.fresh(f"{name}_{what}")
                    yield f"{part}: i32"
                    writer.held[argument] = Held(word(part), scalar=word(part))


def _hold_tensor(writer: Writer, one: Given, name: str) -> None:
    for view in one.views:
        writer.views[view.result] = word(name)
    writer.held[one.arguments[0]] = Held(word(""))
    for argument in one.arguments[1:]:
        writer.held[argument] = Held(word(""))


def load_arguments(writer: Writer, parameters: Sequence[Given], elsewhere: Mapping[Value, int]) -> None:
    """The first statements: pointers and numbers as tiles, and the sizes of tensors that the kernel computes with.

    `elsewhere` counts, by argument, the uses that are not the views of its own array.
    """
    for one in parameters:
        if one.views:
            _load_sizes(writer, one, elsewhere)
            continue
        for argument in one.arguments:
            if not elsewhere.get(argument):
                continue
            held = writer.held[argument]
            what = "pointer_to_tile" if held.scalar is None else "scalar_to_tile"
            name = writer.names.fresh(f"{held.expr.flat}_{'pointer' if held.scalar is None else 'tile'}")
            writer.emit(rust.Let((name,), call(what, held.expr), writer.type(argument)))
            writer.held[argument] = Held(word(name), scalar=held.scalar)


def _load_sizes(writer: Writer, one: Given, elsewhere: Mapping[Value, int]) -> None:
    rank = len(one.sizes)
    tensor = writer.views[one.views[0].result].flat
    if not any(elsewhere.get(size) for size in one.sizes):
        return
    shape = writer.names.fresh(f"{tensor}_shape")
    dims = ", ".join(["-1"] * rank)
    writer.emit(rust.Let((shape,), rust.Method(word(tensor), "shape"), f"Shape<{{ [{dims}] }}>"))
    axes = AXES.get(rank, tuple(f"size_{axis}" for axis in range(rank)))
    for axis, size in enumerate(one.sizes):
        if elsewhere.get(size):
            scalar, name = (writer.names.fresh(f"{tensor}_{axes[axis]}{end}") for end in ("", "_tile"))
            writer.emit(rust.Let((scalar,), word(f"{shape}[{axis}]"), "i32"))
            writer.emit(rust.Let((name,), call("scalar_to_tile", scalar), writer.type(size)))
            writer.held[size] = Held(word(name), scalar=word(scalar))
