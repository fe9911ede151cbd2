"""Findings as SARIF 2.1.0, the format that code hosts and editors read."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any
from urllib.parse import quote

from tileport_skill.lint.records import Finding
from tileport_skill.lint.registry import RULES

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"


def sarif(findings: Sequence[Finding]) -> dict[str, Any]:
    """One run with every rule, also those that found nothing: a reader then knows what was looked for."""
    places = {rule.id: place for place, rule in enumerate(RULES)}
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": _driver()},
                "columnKind": "unicodeCodePoints",
                "results": [_result(one, places[one.rule]) for one in findings],
            }
        ],
    }


def _driver() -> dict[str, Any]:
    try:
        semantic = version("tileport")
    except PackageNotFoundError:
        semantic = "0.0.0"
    return {
        "name": "tileport-skill lint",
        "semanticVersion": semantic,
        "rules": [
            {
                "id": rule.id,
                "shortDescription": {"text": rule.says},
                "fullDescription": {"text": rule.because},
                "defaultConfiguration": {"level": rule.severity},
            }
            for rule in RULES
        ],
    }


def _result(one: Finding, place: int) -> dict[str, Any]:
    location = {"artifactLocation": {"uri": _uri(one.path)}, "region": {"startLine": one.line}}
    return {
        "ruleId": one.rule,
        "ruleIndex": place,
        "level": one.severity,
        "message": {"text": one.message},
        "locations": [{"physicalLocation": location}],
    }


def _uri(path: str) -> str:
    return f"file://{quote(path)}" if path.startswith("/") else quote(path)
