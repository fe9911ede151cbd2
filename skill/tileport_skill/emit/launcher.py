"""What cuTile Rust 0.2.0's generated launcher derives at run time from the arguments it is given.

Read from cutile-macro's `kernel_launcher_generator.rs` and cutile-compiler's `specialization.rs`: a divisor for every
pointer and every integer, three facts more for tensors, nothing for floats.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from tileport_skill.capture.records import TensorArgument

DTYPES = {
    "float64": "f64",
    "float32": "f32",
    "float16": "f16",
    "bfloat16": "bf16",
    "int64": "i64",
    "int32": "i32",
    "int16": "i16",
    "int8": "i8",
    "uint8": "u8",
    "bool": "bool",
    "float8_e4m3fn": "f8e4m3fn",
    "float8_e5m2": "f8e5m2",
}
"""torch's names of element types to cuTile Rust's."""
BYTES = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "i64": 8, "i32": 4, "i16": 2}
LARGEST_DIVISOR = 16
ALLOCATION_ALIGNMENT = 512
"""Torch's allocator hands out addresses with at least this alignment, so an offset alone decides a view's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorFacts:
    """What the launcher derives for a `&Tensor` parameter (`SpecializationBits`)."""

    name: str
    strides: tuple[int, ...]
    """Per dimension 1 where the stride is one, -1 (dynamic) elsewhere."""
    shape_div: tuple[int, ...]
    stride_div: tuple[int, ...]
    stride_one: tuple[bool, ...]
    base_div: int
    disjoint: bool


def divisor_of(value: int) -> int:
    """The largest power of two that divides `value`, at most 16; what `DivHint` holds. Zero is divisible by all."""
    low = value & 0xFFFF_FFFF  # the launcher looks at the low 32 bits of a pointer
    return LARGEST_DIVISOR if low == 0 else min(low & -low, LARGEST_DIVISOR)


def address_of(argument: TensorArgument, element: str) -> int:
    """An address with the alignment the tensor's real one would have."""
    return ALLOCATION_ALIGNMENT + argument.offset * BYTES.get(element, 1)


def tensor_facts(name: str, argument: TensorArgument) -> TensorFacts:
    """`compute_spec` of cutile-compiler 0.2.0, and the strides its launcher makes static."""
    pairs = sorted(zip(argument.strides, argument.shape, strict=True))
    disjoint = not pairs or pairs[0][0] > 0
    for (stride, size), (following, _) in itertools.pairwise(pairs):
        disjoint = disjoint and following > 0 and following >= stride * size
    element = DTYPES.get(argument.dtype, argument.dtype)
    return TensorFacts(
        name=name,
        strides=tuple(1 if stride == 1 else -1 for stride in argument.strides),
        shape_div=tuple(map(divisor_of, argument.shape)),
        stride_div=tuple(map(divisor_of, argument.strides)),
        stride_one=tuple(stride == 1 for stride in argument.strides),
        base_div=divisor_of(address_of(argument, element)),
        disjoint=disjoint,
    )
