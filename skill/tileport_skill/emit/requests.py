"""What to emit for a capture: launches that compile to one kernel on both sides are asked for once."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from tileport_skill.capture.records import Capture, Launch
from tileport_skill.emit.entries import KernelModule
from tileport_skill.emit.mapping import Request, Unmapped, choose_entry, request_for


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One kernel to emit, or the reason why there is no entry for it."""

    launch: Launch
    """The first of the launches."""
    request: Request | None
    reason: str
    count: int


def requests_for(captured: Capture, modules: tuple[KernelModule, ...]) -> list[Asked]:
    """In the order of the first launch of each."""
    known = {s.id: s for s in captured.specialisations}
    entries = [(module, entry) for module in modules for entry in module.entries]
    found: dict[object, Asked] = {}
    for launch in captured.launches:
        specialisation = known[launch.specialisation]
        request, reason = None, ""
        try:
            module, entry = choose_entry(entries, launch, specialisation)
            request = request_for(entry, launch, specialisation, captured.arch, captured.symbol)
            request = dataclasses.replace(request, module=module.name)
        except Unmapped as unmapped:
            reason = str(unmapped)
        key = (specialisation.id, request)
        if key in found:
            found[key] = dataclasses.replace(found[key], count=found[key].count + 1)
        else:
            found[key] = Asked(launch=launch, request=request, reason=reason, count=1)
    return list(found.values())
