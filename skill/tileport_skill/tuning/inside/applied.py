"""The reference called another way: with options that its caller left open, or without its copies of its inputs."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from tilegym.backend import dispatcher

from tileport_skill.tuning.candidates import Value

REFERENCES = "tilegym.ops.cutile."


@contextmanager
def called(backend: str, options: Mapping[str, Value], copies: bool) -> Iterator[None]:
    """Calls made inside go so. An operator called by another keeps its own way."""
    with _with_options(backend, options), _without_copies() if not copies else _unchanged():
        yield


@contextmanager
def _unchanged() -> Iterator[None]:
    yield


@contextmanager
def _with_options(backend: str, options: Mapping[str, Value]) -> Iterator[None]:
    if not options:
        yield
        return
    kept = {name: found[backend] for name, found in dispatcher._REGISTRY.items() if backend in found}
    for name, function in kept.items():
        dispatcher._REGISTRY[name][backend] = _filled(function, options)
    try:
        yield
    finally:
        for name, function in kept.items():
            dispatcher._REGISTRY[name][backend] = function


def _filled(function: Callable[..., Any], options: Mapping[str, Value]) -> Callable[..., Any]:
    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        # A caller who has given any of them has chosen; None leaves the choice open.
        chosen = any(kwargs.get(name) is not None for name in options)
        return function(*args, **kwargs) if chosen else function(*args, **{**kwargs, **options})

    return run


@contextmanager
def _without_copies() -> Iterator[None]:
    """`x.contiguous()` in a reference's own module is `x`, whatever its strides."""
    contiguous = torch.Tensor.contiguous

    def run(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        asking = sys._getframe(1).f_globals.get("__name__", "")
        return tensor if asking.startswith(REFERENCES) else contiguous(tensor, *args, **kwargs)

    torch.Tensor.contiguous = run  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        torch.Tensor.contiguous = contiguous  # type: ignore[method-assign]
