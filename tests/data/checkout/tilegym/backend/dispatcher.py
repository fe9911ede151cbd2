"""Which implementation a call goes to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_chosen = "cutile"
_REGISTRY: dict[str, dict[str, Callable[..., Any]]] = {}


def register_impl(name: str, backend: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        _REGISTRY.setdefault(name, {})[backend] = function
        return function

    return register


def dispatch(name: str) -> Callable[..., Any]:
    return lambda *args, **kwargs: _REGISTRY[name][_chosen](*args, **kwargs)


def set_backend(backend: str) -> None:
    global _chosen
    _chosen = backend
