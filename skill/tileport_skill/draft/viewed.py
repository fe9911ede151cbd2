"""Arrays that a kernel reads both by pointer and as tiles: the entry takes them apart, and puts a tensor together.

The tensor is made at the kernel's beginning, of the pointer, the sizes and the strides that the entry has anyway.
"""

from __future__ import annotations

from tileport_skill.draft import rust
from tileport_skill.draft.body import Body
from tileport_skill.draft.rust import Expr, Stmt, Unsafe, Word, call, word
from tileport_skill.draft.values import Array, Untranslatable


def receiver(body: Body, array: Array) -> Word:
    """What methods of the tensor are called on."""
    if not array.pointer:
        return word(array.name)
    if not body.entry:
        raise Untranslatable(f"{array.name} is read both as tiles and by pointers")
    name = f"{array.name}_tensor"
    body.shared.viewed[name] = array
    return word(name)


def passed(body: Body, array: Array) -> Expr:
    """The tensor as an argument."""
    name = receiver(body, array)
    return word(f"&{name.text}") if array.pointer else name


def tensors(body: Body) -> list[Stmt]:
    """The statements that make those which `receiver` promised."""
    sizes, shape, steps, strides, base, token = map(body.free, ("sizes", "shape", "steps", "strides", "base", "token"))
    made: list[Stmt] = []
    for name, array in body.shared.viewed.items():
        by_axis = (*array.strides[:-1], "1") if array.dense else array.strides
        made += [
            rust.Comment(f"`{array.name}` as a tensor, for the accesses by tiles"),
            *_numbers(sizes, shape, "Shape", array.sizes),
            *_numbers(steps, strides, "Array", by_axis),
            rust.Let((base,), call("pointer_to_tile", array.name), f"PointerTile<*mut {array.element}, {{ [] }}>"),
            rust.Let((token,), call("new_token_unordered"), "Token"),
            rust.Let(
                (name,), Unsafe(call("make_tensor_view", base, shape, strides, token))
            ),  # a type loses the strides
        ]
    return made


def _numbers(numbers: str, name: str, kind: str, by_axis: tuple[str, ...]) -> list[Stmt]:
    """What is known now stands in the type, the rest in a list."""
    static = ", ".join(n if n.isdigit() else "-1" for n in by_axis)
    dynamic = ", ".join(n for n in by_axis if not n.isdigit())
    literal = word(f"{kind}::<{{ [{static}] }}> {{ dims: {numbers} }}")
    return [
        rust.Let((numbers,), word(f"&[{dynamic}]"), "&[i32]"),
        rust.Let((name,), literal, f"{kind}<{{ [{static}] }}>"),
    ]
