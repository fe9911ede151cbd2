"""What was measured of an operator, judged: rows with their intervals, classes that stand, and the table they make.

The timing's own statistics and its own reasons to trust nothing. A class's choice stands where every shape of the
class, held-out ones too, has a lower bound of at least `LEAST` against the reference's own choice.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tileport_skill.errors import RequestError
from tileport_skill.timing.clocks import factor_of
from tileport_skill.timing.judging import row_result, spoilt
from tileport_skill.timing.raw import RawFolder, read_json
from tileport_skill.timing.records import Failed, Inconclusive, Passed, RowResult, Verdict
from tileport_skill.timing.samples import RowSamples, calibrations, conditions, documents, gather, records_of, side_of
from tileport_skill.timing.statistics import geometric_mean, interval
from tileport_skill.tuning.candidates import Choice, choice_from
from tileport_skill.tuning.classes import Bound, ShapeClass
from tileport_skill.tuning.folder import TuningFolder
from tileport_skill.tuning.jobs import OPTION, WINNER, copies_of, features_in, proposed
from tileport_skill.tuning.lines import lines_of
from tileport_skill.tuning.roofline import Peaks, flops_of, fraction
from tileport_skill.tuning.table import Line, Table

LEAST = 0.98
"""Lower bound of every row, reference's own choice ÷ chosen."""
OWN, CHOSEN = "reference", "chosen"


@dataclass(frozen=True, slots=True, kw_only=True)
class TunedRow:
    """One call by one choice, held against the reference's own choice on the same call."""

    call: str
    held_out: bool
    choice: Choice
    why: tuple[str, ...]
    result: RowResult
    before: float | None
    """Fraction of the roofline that the reference's own choice reaches."""
    after: float | None
    memory_only: bool
    """Whether that roofline is of memory alone, since nobody counts this operator's operations."""

    @property
    def stands(self) -> bool:
        return isinstance(self.result.verdict, Passed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """One operator on one machine."""

    operator: str
    arch: str
    rows: tuple[TunedRow, ...]
    standing: tuple[ShapeClass, ...]
    fallen: tuple[tuple[str, str], ...]
    """Classes that do not stand, by their shapes, and why."""
    unsearched: tuple[tuple[str, str], ...]
    """Calls without a result, and why."""
    table: Table
    places: Mapping[str, str]
    """File and line of the reference's functions."""
    contenders: int
    seconds: float
    """Device time of everything that was measured, by the samples kept; searching apart."""

    def row(self, call: str, choice: Choice) -> TunedRow | None:
        return next((row for row in self.rows if (row.call, row.choice) == (call, choice)), None)

    def chosen(self, call: str) -> TunedRow | None:
        """The row of what the table makes of a call; None where it leaves the reference's choice."""
        group = next((one for one in self.standing if call in one.shapes), None)
        if group is None:
            return None if self.table.copies else self.row(call, Choice(copies=False))
        return self.row(call, group.choice)

    def best_option(self, call: str) -> TunedRow | None:
        return next((row for row in self.rows if row.call == call and OPTION in row.why), None)


def judged(folder: TuningFolder, operator: str) -> Tuning:
    """Raises `RequestError` if the folder holds no such operator, or it is not searched to the end."""
    plan = read_json(folder.plan)
    if operator not in plan["operators"]:
        raise RequestError(f"{folder.root} holds no tuning of {operator}, only of {', '.join(plan['operators'])}.")
    document = plan["operators"][operator]
    if not folder.jobs(operator).is_file():
        raise RequestError(f"{operator} is not measured to the end in {folder.root}: run its campaign again.")
    numbers = [call["number"] for call in document["calls"] if not call["held_out"]]
    searches = {number: read_json(folder.search(operator, number)) for number in numbers}
    rows = _rows(folder, document, operator)
    standing, fallen = decided(proposed(document, searches), document, rows)
    machine = read_json(folder.machine) if folder.machine.is_file() else {}
    unsearched = tuple((one["call"], one["problem"]) for one in searches.values() if one["problem"] is not None)
    copies = copies_of(searches) or not all(row.stands for row in rows if row.choice == Choice(copies=False))
    if copies and any(not group.choice.copies for group in standing):
        fallen += (("all", "without copies it is not as fast on every call that was measured"),)
        standing = tuple(group for group in standing if group.choice.copies)
    return Tuning(
        operator=operator,
        arch=document["arch"],
        rows=rows,
        standing=standing,
        fallen=fallen,
        unsearched=unsearched,
        table=Table(
            operator=operator,
            arch=document["arch"],
            reference_sha256=document["reference_sha256"],
            date=_date(folder, operator),
            gpu=str(machine.get("gpu", "unknown")),
            versions={name: str(value) for name, value in document["versions"].items()},
            copies=copies,
            lines=tuple(_measured_lines(standing, document, rows)),
        ),
        places=document.get("places", {}),
        contenders=sum(len(call["contenders"]) for call in document["calls"]),
        seconds=sum(sum(block["ns"]) for one in documents(RawFolder(folder.root), operator) for block in _blocks(one))
        / 1e9,
    )


def decided(
    groups: Sequence[ShapeClass], document: Mapping[str, Any], rows: Sequence[TunedRow]
) -> tuple[tuple[ShapeClass, ...], tuple[tuple[str, str], ...]]:
    """Classes that stand, and those that fall with the reason. Of one that falls each shape stands alone if it can."""
    standing: list[ShapeClass] = []
    fallen: list[tuple[str, str]] = []
    by_shape = {(row.call, row.choice): row for row in rows}
    for group in groups:
        inside = [call["id"] for call in document["calls"] if group.holds(features_in(document, call))]
        bad = [name for name in inside if not (row := by_shape.get((name, group.choice))) or not row.stands]
        if not bad:
            standing.append(ShapeClass(rule=group.rule, choice=group.choice, shapes=tuple(inside)))
            continue
        fallen.append((", ".join(group.shapes), f"{group.choice.text} does not stand on {', '.join(bad)}"))
        for call in document["calls"]:
            if call["id"] in group.shapes and len(inside) > 1:
                standing += _alone(call, document, rows)
    return tuple(standing), tuple(fallen)


def _alone(call: Mapping[str, Any], document: Mapping[str, Any], rows: Sequence[TunedRow]) -> list[ShapeClass]:
    """A shape's own winner, for exactly this shape."""
    own = [row for row in rows if row.call == call["id"] and WINNER in row.why and row.stands]
    rule = tuple(Bound(path=path, low=v, high=v) for path, v in features_in(document, call).items())
    return [ShapeClass(rule=rule, choice=row.choice, shapes=(row.call,)) for row in own[:1]]


def _measured_lines(
    standing: Sequence[ShapeClass], document: Mapping[str, Any], rows: Sequence[TunedRow]
) -> list[Line]:
    found = []
    for group in standing:
        measured = [row.result.cold for row in rows if row.call in group.shapes and row.choice == group.choice]
        cold = [one for one in measured if one is not None]
        mean = geometric_mean([one.ratio for one in cold])
        if mean is not None:
            low, high = min(one.low for one in cold), max(one.high for one in cold)
            found += lines_of(group, document, round(mean, 4), round(low, 4), round(high, 4))
    return found


def _rows(folder: TuningFolder, document: Mapping[str, Any], operator: str) -> tuple[TunedRow, ...]:
    raw = RawFolder(folder.root)
    found = documents(raw, operator)
    factor = factor_of(calibrations(found))
    peaks = _peaks(folder)
    rows = []
    for job in read_json(folder.jobs(operator)):
        records = records_of(found, job["row"])
        samples = gather(records)
        state = conditions(found, records)
        scale = factor.value if factor else None
        reference, chosen = (
            side_of(raw, operator, job["row"], records, side, letter, scale)
            for side, letter in ((OWN, "A"), (CHOSEN, "B"))
        )
        judged = verdict(samples, spoilt(samples, state, OWN, factor, {}))
        result = row_result(operator, job["row"], samples, state, verdict=judged, reference=reference, port=chosen)
        call = document["calls"][job["call"]]
        flops = flops_of(operator, call["arguments"])
        before, after = (
            fraction(side.cold_us / 1e6, call["work"]["bytes"], flops, peaks) if peaks and side.cold_us else None
            for side in (reference, chosen)
        )
        rows.append(
            TunedRow(
                call=call["id"],
                held_out=call["held_out"],
                choice=choice_from(job["choice"]),
                why=tuple(job["why"]),
                result=result,
                before=before,
                after=after,
                memory_only=flops is None,
            )
        )
    return tuple(rows)


def _peaks(folder: TuningFolder) -> Peaks | None:
    if not folder.peaks.is_file():
        return None
    kept = read_json(folder.peaks)
    return Peaks(bytes_per_second=kept["bytes_per_second"], flops=kept["flops"])


def verdict(samples: RowSamples, problems: Sequence[str]) -> Verdict:
    """One row's: what the choice is to blame for, then what spoils the measurement, then the bound."""
    faults = [problem.what for problem in samples.problems if problem.side == CHOSEN]
    faults += [f"its output is wrong: {problem}" for problem in samples.output_problems]
    if samples.inputs_changed:
        faults.append("a call changed its inputs")
    if faults:
        return Failed(reasons=tuple(dict.fromkeys(faults)))
    if problems:
        return Inconclusive(reasons=tuple(dict.fromkeys(problems)))
    cold = interval(samples.ratios["cold"])
    if cold.low >= LEAST:
        return Passed()
    return Failed(reasons=(f"reference ÷ chosen is {cold.ratio:.3f}, 95 % {cold.low:.3f} to {cold.high:.3f}",))


def _blocks(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [block for row in document["rows"] for block in row.get("blocks", ())]


def _date(folder: TuningFolder, operator: str) -> str:
    """The day of the first sample."""
    started = [one["started"] for one in documents(RawFolder(folder.root), operator)]
    return time.strftime("%Y-%m-%d", time.gmtime(min(started))) if started else "unmeasured"
