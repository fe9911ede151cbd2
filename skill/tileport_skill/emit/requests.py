"""What to emit for a capture: launches that compile to one kernel on both sides are asked for once."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tileport_skill.capture.records import Capture, Launch, Specialisation
from tileport_skill.emit.bindings import Binding, bound_request
from tileport_skill.emit.entries import Entry, KernelModule
from tileport_skill.emit.mapping import Request, Unmapped, choose_entry, request_for


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One kernel to emit, or the reason why there is no entry for it."""

    launch: Launch
    """The first of the launches."""
    request: Request | None
    reason: str
    count: int


def requests_for(
    captured: Capture,
    modules: tuple[KernelModule, ...],
    bindings: Sequence[Binding] = (),
    *,
    chosen: Mapping[str, str] | None = None,
) -> list[Asked]:
    """In the order of the first launch of each. Kernels without a binding are bound by position and name.

    `chosen` has the entry of a specialisation, by its id, where the host code chooses between several that would bind.
    """
    known = {s.id: s for s in captured.specialisations}
    entries = [(module, entry) for module in modules for entry in module.entries]
    found: dict[object, Asked] = {}
    for launch in captured.launches:
        specialisation = known[launch.specialisation]
        request, reason = None, ""
        try:
            name = (chosen or {}).get(specialisation.id)
            able = [both for both in entries if name in (None, both[1].name)]
            request = _request(able, bindings, launch, specialisation, captured)
        except Unmapped as unmapped:
            reason = str(unmapped)
        key = (specialisation.id, request)
        if key in found:
            found[key] = dataclasses.replace(found[key], count=found[key].count + 1)
        else:
            found[key] = Asked(launch=launch, request=request, reason=reason, count=1)
    return list(found.values())


def _request(
    entries: Sequence[tuple[KernelModule, Entry]],
    bindings: Sequence[Binding],
    launch: Launch,
    specialisation: Specialisation,
    captured: Capture,
) -> Request:
    for binding in bindings:
        for module, entry in entries:
            if (binding.kernel, binding.entry) == (specialisation.kernel, entry.name):
                bound = bound_request(binding, entry, launch, specialisation, captured.arch, captured.symbol)
                return dataclasses.replace(bound, module=module.name)
    module, entry = choose_entry(entries, launch, specialisation)
    request = request_for(entry, launch, specialisation, captured.arch, captured.symbol)
    return dataclasses.replace(request, module=module.name)
