"""Which candidates of a call are worth a GPU's time; what repeats or is hopeless is left out with the reason. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tileport_skill.capture.profiles import profile_of
from tileport_skill.tuning.candidates import Candidate
from tileport_skill.tuning.cubins import Answer, Assembled, Dropped
from tileport_skill.tuning.explored import Site, Tried, Work

MOST_SPILLS = 16
"""Instructions for spilled registers that a candidate may have, unless every other one has more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """One kernel's candidates on one call."""

    kept: tuple[Tried, ...]
    dropped: tuple[tuple[Candidate, str], ...]


def wanted(sites: Sequence[Site]) -> tuple[str, ...]:
    """All Tile IR to be assembled: what the host launches itself first, then by rank over all calls."""
    ranked: dict[str, int] = {}
    for site in sites:
        for work in site.default:
            _rank(ranked, work, -1)
        for rank, tried in enumerate(site.tried):
            for work in tried.works:
                _rank(ranked, work, -1 if tried.own else rank)
    return tuple(sorted(ranked, key=lambda ir: ranked[ir]))


def _rank(ranked: dict[str, int], work: Work, rank: int) -> None:
    if work.ir is not None:
        ranked[work.ir] = min(rank, ranked.get(work.ir, rank))


def pruned(site: Site, answers: Mapping[str, Answer], arch: str) -> Pruned:
    """The reference's own list is never shortened: its own choice has to be made from it."""
    limit = profile_of(arch).shared_memory
    fewest = min(
        (_spills(tried, answers) for tried in site.tried if _problem(tried, answers, limit) is None), default=0
    )
    kept: list[Tried] = []
    dropped: list[tuple[Candidate, str]] = []
    seen: dict[object, Candidate] = {}
    if not any(tried.own for tried in site.tried) and all(_is_made(work, answers) for work in site.default):
        seen[_identity(site.default, answers)] = Candidate()
    for tried in sorted(site.tried, key=lambda one: not one.own):
        reason = _problem(tried, answers, limit)
        if reason is None and not tried.own and (spills := _spills(tried, answers)) > max(MOST_SPILLS, fewest):
            reason = f"{spills} instructions for spilled registers"
        if reason is None:
            same = _identity(tried.works, answers)
            if same in seen:
                reason = f"the same cubin and grid as {seen[same].text}"
            else:
                seen[same] = tried.candidate
        if reason is None:
            kept.append(tried)
        else:
            dropped.append((tried.candidate, reason))
    return Pruned(kept=tuple(kept), dropped=tuple(dropped))


def _problem(tried: Tried, answers: Mapping[str, Answer], limit: int) -> str | None:
    for work in tried.works:
        if work.ir is None:
            return work.refused or "cuTile's compiler refused it"
        answer = answers.get(work.ir, Dropped(reason="it was not assembled"))
        if isinstance(answer, Dropped):
            return answer.reason
        if answer.needs.shared > limit:
            return f"{answer.needs.shared} bytes of shared memory of {limit}"
    return None


def _spills(tried: Tried, answers: Mapping[str, Answer]) -> int:
    found = [answers[work.ir] for work in tried.works if work.ir is not None and work.ir in answers]
    return max((one.needs.spills for one in found if isinstance(one, Assembled)), default=0)


def _is_made(work: Work, answers: Mapping[str, Answer]) -> bool:
    return isinstance(answers.get(work.ir or ""), Assembled)


def _identity(works: Sequence[Work], answers: Mapping[str, Answer]) -> object:
    """Equal for two that do the same in every launch."""
    found = [answers[work.ir or ""] for work in works]
    return tuple((one.sha256, w.grid) for one, w in zip(found, works, strict=True) if isinstance(one, Assembled))
