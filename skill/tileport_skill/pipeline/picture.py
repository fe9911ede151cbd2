"""The routing's picture, made from the table, for the README: `python -m tileport_skill.pipeline.picture`."""

from __future__ import annotations

from tileport_skill.pipeline.machine import CAPS, ROUTES, Complete, Go, Stop
from tileport_skill.pipeline.verdicts import Role

_NODE = "    {id}[{role} x{cap}]"


def picture() -> str:
    """A Mermaid diagram: each role with its cap, each verdict with where it leads."""
    lines = ["flowchart TD"]
    lines += [_NODE.format(id=_id(role), role=role, cap=cap) for role, cap in CAPS.items()]
    labels: dict[tuple[str, str], list[str]] = {}
    for (role, verdict), route in ROUTES.items():
        for target, when in _targets(route):
            labels.setdefault((_id(role), target), []).append(f"{verdict}{when}")
    lines += [f"    {source} -->|{', '.join(words)}| {target}" for (source, target), words in labels.items()]
    return "\n".join(lines)


def _targets(route: Go | Stop | Complete) -> list[tuple[str, str]]:
    match route:
        case Stop():
            return [("stop", "")]
        case Complete(outcome):
            return [(f"complete_{outcome.replace(' ', '_')}", "")]
        case Go(role, otherwise):
            end = _targets(otherwise or Stop(""))[0][0]
            return [(_id(role), ""), (end, " at the cap")]


def _id(role: Role) -> str:
    return role.replace("-", "_")


if __name__ == "__main__":
    print(picture())
