"""How an operator was called: its implementation's arguments, which is what can select one kernel or another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Any

import torch

from tileport_skill.capture import records

LONGEST = 60
PLAIN = (bool, int, float, str, type(None), torch.dtype)


def entry_of(frames: Sequence[Any], package: str) -> records.Entry | None:
    """The outermost of `frames` that lies among the reference implementations, with what it was given.

    Read at its first operation or launch, so an argument that it has changed until then counts as changed.
    """
    for frame in reversed(frames):
        code = frame.f_code
        if "cutile" not in PurePath(code.co_filename.removeprefix(package)).parts or code.co_name.startswith("<"):
            continue
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        if not names:  # a wrapper around the implementation
            continue
        values = {name: frame.f_locals[name] for name in names if name in frame.f_locals}
        return records.Entry(function=code.co_qualname, features=tuple(_features(values)))
    return None


def _features(values: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in values.items():
        if isinstance(value, torch.Tensor):
            yield f"{name}.dtype", str(value.dtype).removeprefix("torch.")
            yield f"{name}.dim()", str(value.dim())
            for axis, size in enumerate(value.shape):
                yield f"{name}.size({axis})", str(int(size))
            yield f"{name}.is_contiguous()", str(value.is_contiguous())
            yield f"{name}.requires_grad", str(value.requires_grad)
        elif isinstance(value, PLAIN):
            yield name, repr(value)[:LONGEST]
