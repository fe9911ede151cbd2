"""Element types as NumPy sees them: storage, reading constants, rounding and flushing."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

STORAGE: dict[str, np.dtype[Any]] = {
    "i1": np.dtype(np.bool_),
    "i8": np.dtype(np.int8),
    "i16": np.dtype(np.int16),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
    "tf32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "f8E4M3FN": np.dtype(ml_dtypes.float8_e4m3fn),
    "f8E5M2": np.dtype(ml_dtypes.float8_e5m2),
    "f8E8M0FNU": np.dtype(ml_dtypes.float8_e8m0fnu),
}

_NUMBER = re.compile(r"0x[0-9A-Fa-f]+|-?\d[\d.]*(?:[eE][+-]?\d+)?|true|false")


def is_float(element: str) -> bool:
    return element[0] in "fbt"


def bits_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The unsigned integer type as wide as `dtype`."""
    return np.dtype(f"u{dtype.itemsize}")


def read_constant(text: str, element: str, shape: tuple[int, ...]) -> Array:
    """The value of a `constant`: one number for all elements, or nested lists of them."""
    dtype = STORAGE[element]
    numbers = [_number(word, element, dtype) for word in _NUMBER.findall(text)]
    if text.startswith("["):
        return np.array(numbers, dtype=dtype).reshape(shape)
    return np.broadcast_to(np.array(numbers[0], dtype=dtype), shape)


def canonical(text: str, element: str) -> str:
    """One spelling for each value: a floating constant may be printed with more digits than tell it apart."""
    if not is_float(element) or text.startswith("["):
        return text
    value = float(read_constant(text, element, ()))
    return repr(value) if np.isfinite(value) else text


def _number(word: str, element: str, dtype: np.dtype[Any]) -> Any:
    if word in ("true", "false"):
        return dtype.type(word == "true")
    if word.startswith("0x") and is_float(element):
        width = 4 if element == "tf32" else dtype.itemsize
        return np.array(int(word, 16), dtype=f"u{width}").view(dtype)[()]
    if is_float(element):
        return np.float64(word).astype(dtype)
    value = int(word, 0)
    if element == "i1":
        return np.bool_(value & 1)
    return np.array(value & ((1 << 8 * dtype.itemsize) - 1), dtype=bits_of(dtype)).view(dtype)[()]


def narrow(exact: Array, element: str, mode: str = "nearest_even", error: Array | None = None) -> Array:
    """`exact`, wider than `element`, rounded to it; `error` is what `exact` lacks of the true result."""
    dtype = STORAGE[element]
    if element == "tf32":
        return _to_tf32(exact.astype(np.float32))
    rounded = exact.astype(dtype)
    if mode == "nearest_even" or mode in ("approx", "full"):
        return rounded
    return _directed(exact, rounded, dtype, mode, error)


def _directed(exact: Array, rounded: Array, dtype: np.dtype[Any], mode: str, error: Array | None) -> Array:
    back = rounded.astype(np.float64)
    miss = exact.astype(np.float64) - back  # positive: the true result lies above
    if error is not None:
        miss = np.where(miss == 0, error, miss)
    below, above = miss < 0, miss > 0
    down = np.nextafter(rounded, dtype.type(-np.inf))
    up = np.nextafter(rounded, dtype.type(np.inf))
    if mode == "zero":
        towards = np.where((rounded > 0) & below, down, np.where((rounded < 0) & above, up, rounded))
    elif mode == "negative_inf":
        towards = np.where(below, down, rounded)
    else:
        towards = np.where(above, up, rounded)
    return towards.astype(dtype)


def _to_tf32(value: Array) -> Array:
    """Ten explicit mantissa bits, ties to even, kept as f32."""
    bits = value.view(np.uint32)
    kept = (bits + np.uint32(0xFFF) + ((bits >> np.uint32(13)) & np.uint32(1))) & np.uint32(0xFFFFE000)
    return np.where(np.isfinite(value), kept.view(np.float32), value)


def flush(value: Array) -> Array:
    """Denormal f32 numbers become zeros of their sign."""
    small = (np.abs(value) < np.float32(2.0**-126)) & (value != 0)
    return np.where(small, np.copysign(value.dtype.type(0), value), value)
