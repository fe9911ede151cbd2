"""All rules over ports: pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tileport_skill.lint.records import Finding, Port, Rule
from tileport_skill.lint.registry import RULES


def findings(ports: Iterable[Port], rules: Sequence[Rule] = RULES) -> list[Finding]:
    """What is broken, in the order of paths and lines, each once."""
    found = {
        Finding(
            rule=rule.id,
            severity=rule.severity,
            path=port.parts[hit.part].path,
            line=hit.line,
            message=f"{hit.what}. {rule.says}",
        )
        for port in ports
        for rule in rules
        for hit in rule.check(port)
    }
    return sorted(found, key=lambda one: (one.path, one.line, one.rule, one.message))
