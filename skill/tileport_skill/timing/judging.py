"""Raw samples -> a verdict for each row and for the operator. Decisions only; the numbers come from `samples.py`.

The rule: the lower end of the 95 % interval of reference ÷ port, with a cold L2, is at least 0.95. A measurement that
cannot be trusted, or is too blunt, is inconclusive. One that is sharp and still includes 0.95 fails: more of the same
would only say more exactly that the port is about 5 % slower, and a port has to be shown to be fast enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tileport_skill.errors import RequestError
from tileport_skill.timing.clocks import Factor, factor_of
from tileport_skill.timing.plan import TRITON
from tileport_skill.timing.raw import RawFolder, read_json
from tileport_skill.timing.records import Conditions, Failed, Inconclusive, Passed, RowResult, Side, Timing, Verdict
from tileport_skill.timing.samples import (
    RowSamples,
    calibrations,
    conditions,
    documents,
    gather,
    records_of,
    side_of,
)
from tileport_skill.timing.statistics import Interval, geometric_mean, interval, minimum_detectable

RULE = 0.95
FEWEST_PROCESSES = 5
SHARP = 0.02
"""The widest interval that may fail a port without lying below the rule as a whole, and the widest of a null."""
NULL_WITHIN = (0.98, 1.02)
"""Where the null's whole interval must lie. To contain 1 is no test: by chance one in twenty would not."""
MOST_SET_ASIDE = 0.2
_MOST_ERRORS = 2
"""Processes with the same row broken, after which it is not tried again."""


def judge(raw: RawFolder, operator: str) -> Timing:
    """Everything measured of one operator, judged. Raises `RequestError` if the folder's plan has no such operator."""
    plan = read_json(raw.plan)
    if operator not in plan["operators"]:
        raise RequestError(f"{raw.root} holds no samples of {operator}, only of {', '.join(plan['operators'])}.")
    found = documents(raw, operator)
    factor = factor_of(calibrations(found))
    kept = plan["operators"][operator]
    rows = tuple(_row(raw, plan, operator, row["id"], found, factor) for row in kept["rows"])
    baseline = plan["baseline"]
    return Timing(
        operator=operator,
        baseline=baseline,
        candidate=plan["candidate"],
        verdict=summary([row.verdict for row in rows], left_out=kept.get("left_out", 0)),
        rows=rows,
        geometric_mean=geometric_mean([row.cold.ratio for row in rows if row.cold is not None]),
        cupti_factor=factor.value if factor else None,
        unproven=f"no run against {TRITON} has been confirmed yet" if baseline == TRITON else None,
        machine=read_json(raw.machine) if raw.machine.is_file() else {},
        why_rows=f"{', '.join(kept['origin'])}: {kept['why']}",
    )


def summary(verdicts: Sequence[Verdict], left_out: int = 0) -> Verdict:
    """Every row must pass; one that failed outweighs any that could not be measured, or was left out of a trial."""
    failed = sum(isinstance(verdict, Failed) for verdict in verdicts)
    unsure = sum(isinstance(verdict, Inconclusive) for verdict in verdicts)
    if failed:
        return Failed(reasons=(f"{failed} of {len(verdicts)} rows failed",))
    if unsure or not verdicts:
        return Inconclusive(reasons=(f"{unsure} of {len(verdicts)} rows could not be decided",))
    if left_out:
        return Inconclusive(reasons=(f"a trial: {left_out} rows were left out",))
    return Passed()


def rows_needed(raw: RawFolder, operator: str) -> tuple[str, ...]:
    """The rows that want one more fresh process: too few so far, or not decided and budget left."""
    plan = read_json(raw.plan)
    found = documents(raw, operator)
    wanting = []
    for row in plan["operators"][operator]["rows"]:
        samples = gather(records_of(found, row["id"]))
        if len(samples.problems) >= _MOST_ERRORS:
            continue
        if samples.processes < plan["processes"] or (
            samples.processes < plan["most_processes"] and not is_decided(samples)
        ):
            wanting.append(row["id"])
    return tuple(wanting)


def is_decided(samples: RowSamples) -> bool:
    """More processes would change nothing: the interval is clear of the rule and the null holds."""
    if min(len(samples.ratios[kind]) for kind in ("cold", "null")) < FEWEST_PROCESSES:
        return False
    cold, null = (interval(samples.ratios[kind]) for kind in ("cold", "null"))
    return not cold.low < RULE <= cold.high and NULL_WITHIN[0] <= null.low <= null.high <= NULL_WITHIN[1]


def decide(
    samples: RowSamples,
    state: Conditions,
    sides: tuple[str, str],
    plan: dict[str, Any],
    factor: Factor | None,
    tuning_errors: dict[str, str],
) -> Verdict:
    """One row's verdict: what the port is to blame for first, then what spoils the measurement, then the rule."""
    baseline, candidate = sides
    faults = [f"the port could not be tuned: {tuning_errors[candidate]}"] if candidate in tuning_errors else []
    faults += [f"the port raised {problem.what}" for problem in samples.problems if problem.side == candidate]
    faults += [f"the port's output is wrong: {problem}" for problem in samples.output_problems]
    if samples.inputs_changed:
        faults.append("a call changed its inputs")
    faults += _foreign(samples.kernels.get(candidate, frozenset()), plan)
    if faults:
        if all("out of memory" in fault for fault in faults):
            return Inconclusive(reasons=tuple(dict.fromkeys(faults)))
        return Failed(reasons=tuple(dict.fromkeys(faults)))
    found = spoilt(samples, state, baseline, factor, tuning_errors)
    if baseline != TRITON and any(
        not _own(names, plan["reference_kernels"]) for names in samples.kernels.get(baseline, ())
    ):
        found.append("the reference launched none of its own kernels")
    if found:
        return Inconclusive(reasons=tuple(dict.fromkeys(found)))
    return _rule(interval(samples.ratios["cold"]), samples.processes, plan["most_processes"])


def _rule(cold: Interval, processes: int, most: int) -> Verdict:
    if cold.low >= RULE:
        return Passed()
    text = f"{cold.ratio:.3f}, 95 % interval {cold.low:.3f} to {cold.high:.3f}"
    if cold.high < RULE:
        return Failed(reasons=(f"too slow: reference ÷ port is {text}, all of it below {RULE}",))
    if processes < most:
        more = f"{processes} of at most {most} processes measured it: run the same again"
        return Inconclusive(reasons=(f"not decided yet: reference ÷ port is {text}; {more}",))
    if cold.width <= SHARP:
        return Failed(reasons=(f"not shown to be fast enough: reference ÷ port is {text}, which includes {RULE}",))
    return Inconclusive(reasons=(f"the interval is too wide to decide: reference ÷ port is {text}",))


def spoilt(
    samples: RowSamples, state: Conditions, baseline: str, factor: Factor | None, tuning_errors: dict[str, str]
) -> list[str]:
    """Why nothing follows from a measurement; nothing where it can be trusted."""
    found = [f"the reference could not be tuned: {tuning_errors[baseline]}"] if baseline in tuning_errors else []
    found += [f"the reference raised {problem.what}" for problem in samples.problems if problem.side == baseline]
    nobody = [problem.what for problem in samples.problems if problem.side is None]
    if samples.processes < FEWEST_PROCESSES:
        found += nobody
        found.append(f"{samples.processes} fresh processes measured it; {FEWEST_PROCESSES} are the fewest")
        return found
    if factor is None or factor.problem:
        why = factor.problem if factor else "neither was calibrated"
        found.append(f"CUPTI's and CUDA events' times do not differ by a constant factor: {why}")
    if state.others is None or state.sm_mhz is None:
        found.append("NVML does not answer: other processes and throttling would go unseen")
    elif state.others:
        found.append(f"{state.others} other processes used the GPU")
    if samples.set_aside > MOST_SET_ASIDE * samples.blocks:
        found.append(f"clocks moved in {samples.set_aside} of {samples.blocks} blocks")
    if any(len(samples.ratios[kind]) < FEWEST_PROCESSES for kind in ("cold", "null")):
        found.append("too few processes have blocks in which the clocks stood still")
        return found
    if any(len(sets) > 1 for sets in samples.kernels.values()):
        found.append("the kernels launched differ between processes")
    null = interval(samples.ratios["null"])
    if not NULL_WITHIN[0] <= null.low <= null.high <= NULL_WITHIN[1]:
        text = f"{null.ratio:.3f}, 95 % interval {null.low:.3f} to {null.high:.3f}"
        found.append(f"the null failed: the reference ÷ itself is {text}")
    return found


def _own(names: Iterable[str], declared: Sequence[str]) -> list[str]:
    """Kernels that bear a declared name; both front ends add their specialisation after it."""
    return [name for name in names if name.startswith(tuple(declared))]


def _foreign(sets: frozenset[tuple[str, ...]], plan: dict[str, Any]) -> list[str]:
    """What is wrong with the port's kernels: none of its own, or one of the reference's."""
    found = []
    for names in sets:
        own = _own(names, plan["port_entries"])
        theirs = _own(set(names) - set(own), plan["reference_kernels"])
        if not own:
            found.append(f"the port launched no kernel of its own, but {', '.join(names)}")
        if theirs:
            found.append(f"the port launched kernels of the reference: {', '.join(sorted(theirs))}")
    return found


def _row(
    raw: RawFolder,
    plan: dict[str, Any],
    operator: str,
    row: str,
    found: list[dict[str, Any]],
    factor: Factor | None,
) -> RowResult:
    sides = (plan["baseline"], plan["candidate"])
    records = records_of(found, row)
    samples = gather(records)
    state = conditions(found, records)
    scale = factor.value if factor else None
    return row_result(
        operator,
        row,
        samples,
        state,
        verdict=decide(samples, state, sides, plan, factor, _tuning_errors(raw, operator, row, sides)),
        reference=side_of(raw, operator, row, records, sides[0], "A", scale),
        port=side_of(raw, operator, row, records, sides[1], "B", scale),
    )


def row_result(
    operator: str, row: str, samples: RowSamples, state: Conditions, *, verdict: Verdict, reference: Side, port: Side
) -> RowResult:
    """What was measured of one row, with the intervals of every kind of pair that there are two blocks of."""
    intervals = {kind: interval(values) if len(values) > 1 else None for kind, values in samples.ratios.items()}
    return RowResult(
        operator=operator,
        row=row,
        verdict=verdict,
        cold=intervals["cold"],
        warm=intervals["warm"],
        null=intervals["null"],
        detectable=minimum_detectable(samples.ratios["cold"]),
        processes=samples.processes,
        blocks=samples.blocks,
        set_aside=samples.set_aside,
        largest_difference=samples.largest_difference,
        reference=reference,
        port=port,
        conditions=state,
    )


def _tuning_errors(raw: RawFolder, operator: str, row: str, sides: tuple[str, str]) -> dict[str, str]:
    """Tuning that failed explains every sample that is missing afterwards."""
    paths = {side: raw.tuned(operator, row, side) for side in sides}
    errors = {side: read_json(path)["error"] for side, path in paths.items() if path.is_file()}
    return {side: error for side, error in errors.items() if error}
