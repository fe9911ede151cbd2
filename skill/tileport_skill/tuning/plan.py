"""What is to be measured on a GPU, as one document: calls, contenders, and the cubins they launch."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tileport_skill.capture.records import Capture
from tileport_skill.tilegym.operators import Checkout, Operator
from tileport_skill.tileir.assemble import toolchain_version
from tileport_skill.tuning.candidates import Choice, plain
from tileport_skill.tuning.classes import Features
from tileport_skill.tuning.cubins import Answer, Assembled
from tileport_skill.tuning.explored import ExploredCall, Site
from tileport_skill.tuning.folder import FORMAT
from tileport_skill.tuning.pruning import Pruned, pruned
from tileport_skill.tuning.roofline import work_of
from tileport_skill.tuning.shapes import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """One operator's part of the document, and what of it is carried."""

    document: dict[str, Any]
    keys: dict[str, str]
    """Cubins by launch key."""
    dropped: tuple[tuple[str, str, str], ...]
    """Call, candidate and reason."""

    @property
    def contenders(self) -> int:
        return sum(len(call["contenders"]) for call in self.document["calls"])


def planned(
    checkout: Checkout,
    operator: Operator,
    task: Task,
    captured: Capture,
    calls: Sequence[ExploredCall],
    answers: Mapping[str, Answer],
) -> Planned:
    """Contenders are what is left after pruning; a held-out call has none: on it nothing is chosen."""
    dropped: list[tuple[str, str, str]] = []
    documents = [_call(number, call, answers, captured.arch, dropped) for number, call in enumerate(calls)]
    irs = {one.id: one.ir.sha256 for one in captured.specialisations if one.ir is not None}
    launched = set(_launched(calls, answers, captured.arch))
    keys = {
        key: answer.sha256
        for id, key in captured.launch_keys
        if id in launched and isinstance(answer := answers.get(irs.get(id, "")), Assembled)
    }
    document = {
        "format": FORMAT,
        "operator": operator.name,
        "names": list(operator.aliases),
        "arch": captured.arch,
        "versions": {**captured.versions, "tileiras": toolchain_version()},
        "reference": operator.reference,
        "reference_sha256": hashlib.sha256((checkout.root / operator.reference).read_bytes()).hexdigest(),
        "places": _places(checkout, operator),
        "rtol": task.rtol,
        "atol": task.atol,
        "calls": documents,
    }
    return Planned(document=document, keys=keys, dropped=tuple(dropped))


def _places(checkout: Checkout, operator: Operator) -> dict[str, str]:
    """File and line of each function of the reference, for findings."""
    tree = ast.parse((checkout.root / operator.reference).read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return {node.name: f"{operator.reference}:{node.lineno}" for node in functions}


def _call(
    number: int,
    call: ExploredCall,
    answers: Mapping[str, Answer],
    arch: str,
    dropped: list[tuple[str, str, str]],
) -> dict[str, Any]:
    ways: list[Choice] = []
    contenders: list[Choice] = []
    for way in call.ways:
        if way.problem is not None:
            dropped.append((call.shape.id, way.choice.text, way.problem))
            continue
        ways.append(way.choice)
        if call.shape.held_out:
            continue
        if way.choice != Choice():
            contenders.append(way.choice)
        for site in way.sites:
            found = pruned(site, answers, arch)
            own = any(tried.own for tried in site.tried)
            for tried in found.kept:
                # The reference chooses among its own list already; another choice from it is one more candidate.
                if tried.candidate.hints or tried.candidate.fields or not own:
                    kernels = ((site.kernel, tried.candidate),)
                    contenders.append(Choice(options=way.choice.options, copies=way.choice.copies, kernels=kernels))
            dropped += [(call.shape.id, f"{site.kernel} {one.text}", why) for one, why in found.dropped]
    first = call.ways[0]
    return {
        "id": call.shape.id,
        "number": number,
        "arguments": {k: list(v) if isinstance(v, tuple) else v for k, v in call.shape.row.arguments.items()},
        "held_out": call.shape.held_out,
        "function": first.function,
        "ways": [plain(way) for way in ways],
        "contenders": [plain(one) for one in contenders],
        "features": {
            "call": spelled_features(first.features),
            "kernels": {
                site.kernel: spelled_features(site.features) for way in reversed(call.ways) for site in way.sites
            },
        },
        "work": work_of(first),
    }


def _launched(calls: Sequence[ExploredCall], answers: Mapping[str, Answer], arch: str) -> list[str]:
    """Specialisations that anything in the plan launches."""
    found: list[str] = []
    for call in calls:
        for way in call.ways:
            for site in way.sites:
                found += [work.specialisation for work in site.default]
                found += [work.specialisation for tried in _kept(site, answers, arch).kept for work in tried.works]
    return found


def _kept(site: Site, answers: Mapping[str, Answer], arch: str) -> Pruned:
    return pruned(site, answers, arch)


def spelled_features(features: Features) -> list[list[Any]]:
    """As JSON has them: a list of argument, part and value."""
    return [[argument, part, value] for (argument, part), value in features.items()]
