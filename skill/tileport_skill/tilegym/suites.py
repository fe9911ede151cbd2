"""Operators outside `ops/`: TileGym's suites, in other libraries' shapes (`liger.softmax`). Nothing ports these yet."""

from __future__ import annotations

import re
from pathlib import Path

from tileport_skill.tilegym.operators import Checkout, Operator, kernels_and_names


def read_suites(checkout: Checkout) -> tuple[Operator, ...]:
    """Every reference module of every suite, named after both, sorted."""
    found = []
    for folder in sorted((checkout.root / checkout.package / "suites").glob("*/cutile")):
        suite = folder.parent.name
        tests = sorted((checkout.root / "tests" / "suites" / suite).rglob("test_*.py"))
        for path in sorted(folder.rglob("*.py")):
            kernels, aliases = kernels_and_names(path)
            if aliases:
                found.append(
                    Operator(
                        name=f"{suite}.{path.stem}",
                        aliases=tuple(sorted(aliases)),
                        reference=path.relative_to(checkout.root).as_posix(),
                        kernels=tuple(kernels),
                        tests=_tests_of(checkout, path.stem, aliases, tests),
                        ported=False,
                    )
                )
    return tuple(found)


def _tests_of(checkout: Checkout, module: str, aliases: set[str], tests: list[Path]) -> tuple[str, ...]:
    """The suite's test files named after the module; else those that mention a name it registers."""
    names = "|".join(re.escape(alias.rpartition(".")[2]) for alias in sorted(aliases))
    exact = [path for path in tests if path.stem == f"test_{module}"]
    named = exact or [path for path in tests if path.stem.endswith(f"_{module}")]
    found = named or [path for path in tests if re.search(rf"\b(?:{names})\b", path.read_text(encoding="utf-8"))]
    return tuple(path.relative_to(checkout.root).as_posix() for path in found)
