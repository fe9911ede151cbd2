"""Optimisation hints: what is said to the compiler for one architecture."""

from __future__ import annotations

import re

_PER_ARCH = re.compile(r"(\w+) = \{([^{}]*)\}")


def hints_for(text: str | None, arch: str) -> dict[str, str]:
    """The hints in `default = {…}, sm_90 = {…}` that hold for `arch`; its own go before the default's."""
    per_arch = per_architecture(text)
    return {**per_arch.get("default", {}), **per_arch.get(arch, {})}


def per_architecture(text: str | None) -> dict[str, dict[str, str]]:
    """All hints of a text, by the architecture they are for or `default`."""
    return {name: _pairs(inside) for name, inside in _PER_ARCH.findall(text or "")}


def _pairs(text: str) -> dict[str, str]:
    pairs = (item.split(" = ") for item in text.split(", ") if item)
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}
