"""Keeps torch's compiler out of the child until something asks for it: its import takes longer than most captures.

`FakeTensorMode` imports `torch._dynamo.config`, a file of settings, and with it all of `torch._dynamo`. Here the
settings are loaded alone, and `disable` does what it does outside compiled code, nothing; any other use loads the
real package first.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import torch

PACKAGE = "torch._dynamo"
ALONE = f"{PACKAGE}.config"


class _Package(ModuleType):
    """Stands for the package while only its settings are wanted."""

    config: ModuleType
    disable: Any

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(_load(), name)


class _Finder:
    """Loads the real package before any of its modules but the settings."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        if name.startswith(f"{PACKAGE}.") and name != ALONE:
            _load()


def install() -> None:
    """To be called before the first fake tensor; does nothing if the package is loaded already."""
    spec = importlib.util.find_spec("torch")
    if PACKAGE in sys.modules or spec is None or spec.submodule_search_locations is None:
        return
    stand_in = _Package(PACKAGE)
    stand_in.__path__ = [f"{place}/_dynamo" for place in spec.submodule_search_locations]
    sys.modules[PACKAGE] = stand_in
    torch._dynamo = stand_in
    sys.meta_path.insert(0, _Finder())
    stand_in.config = importlib.import_module(ALONE)
    stand_in.disable = _undisturbed


def _undisturbed(fn: Any = None, *_args: Any, **_options: Any) -> Any:
    return fn if fn is not None else _undisturbed


def _load() -> ModuleType:
    found = sys.modules[PACKAGE]
    if isinstance(found, _Package):
        del sys.modules[PACKAGE]
        checkout_uncached, sys.dont_write_bytecode = sys.dont_write_bytecode, False
        found = importlib.import_module(PACKAGE)
        sys.dont_write_bytecode = checkout_uncached
        torch._dynamo = found
    return found
