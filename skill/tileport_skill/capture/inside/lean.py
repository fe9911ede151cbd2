"""A fast start of the child: compiled packages are cached, and torch's compiler stays out until something asks for it.

`FakeTensorMode` imports `torch._dynamo.config`, a file of settings, and with it all of `torch._dynamo`. Here the
settings are loaded alone, and `disable` does what it does outside compiled code, nothing; any other use loads the
real package first.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.machinery import SourceFileLoader
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


def install(uncached: tuple[str, ...]) -> None:
    """To be called before the first fake tensor; `uncached` are the folders whose modules may change at any moment."""
    _cache_packages_only(uncached)
    _keep_compiler_out()


def _cache_packages_only(uncached: tuple[str, ...]) -> None:
    """Of a checkout's compiled file only time and size would be checked, and two trees may have the same of both."""
    write = SourceFileLoader._cache_bytecode  # type: ignore[attr-defined]

    def write_if_package(self: Any, source_path: str, *args: Any) -> None:
        if not source_path.startswith(uncached):
            write(self, source_path, *args)

    SourceFileLoader._cache_bytecode = write_if_package  # type: ignore[attr-defined]


def _keep_compiler_out() -> None:
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
        found = importlib.import_module(PACKAGE)
        torch._dynamo = found
    return found
