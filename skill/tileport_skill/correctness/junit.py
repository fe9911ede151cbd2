"""Test results from pytest's JUnit XML, read by the process that judges."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Literal

Outcome = Literal["passed", "failed", "skipped", "error"]


def read_junit(path: Path) -> dict[str, tuple[Outcome, str]]:
    """Outcome and message by `classname::name`. Raises `ValueError` for anything but one whole report."""
    try:
        root = ElementTree.fromstring(path.read_bytes())
    except (ElementTree.ParseError, OSError) as error:
        raise ValueError(f"{path.name} is not a JUnit report: {error}") from error
    found: dict[str, tuple[Outcome, str]] = {}
    for case in root.iter("testcase"):
        key = f"{case.get('classname', '')}::{case.get('name', '')}"
        if key in found:
            raise ValueError(f"{path.name} holds {key} twice")
        found[key] = _outcome(case)
    return found


def key_of(test_id: str) -> str:
    """The report's key of a pytest node id: `tests/ops/test_x.py::Test_X::test_op[a]`."""
    path, _, rest = test_id.partition("::")
    *classes, name = _split(rest)
    return "::".join((".".join((path.removesuffix(".py").replace("/", "."), *classes)), name))


def _split(rest: str) -> list[str]:
    """Names apart, parameters (which may hold `::`) left whole."""
    plain, bracket, parameters = rest.partition("[")
    names = plain.split("::")
    names[-1] += bracket + parameters
    return names


def _outcome(case: ElementTree.Element) -> tuple[Outcome, str]:
    outcomes: tuple[tuple[str, Outcome], ...] = (("failure", "failed"), ("error", "error"), ("skipped", "skipped"))
    for tag, outcome in outcomes:
        element = case.find(tag)
        if element is not None:
            return outcome, element.get("message", "")
    return "passed", ""
