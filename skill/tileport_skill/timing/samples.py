"""Raw samples of one row, from all processes, as the numbers that are judged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tileport_skill.timing.clocks import Point
from tileport_skill.timing.inside.nvml_bits import DISTURBING, THROTTLE
from tileport_skill.timing.raw import FORMAT, RawFolder, read_json
from tileport_skill.timing.records import Conditions, Side, Tuned
from tileport_skill.timing.statistics import block_log_ratio, process_log_ratio

MOST_CLOCK_MOVE = 0.05
"""Within one block: its four markers' clocks, highest ÷ lowest - 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something that went wrong in one process; `side` is None if no side is to blame."""

    side: str | None
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSamples:
    """One row over all processes."""

    ratios: dict[str, tuple[float, ...]]
    """By kind of block (`cold`, `warm`, `null`): one log-ratio a process."""
    blocks: int
    set_aside: int
    problems: tuple[Problem, ...]
    output_problems: tuple[str, ...]
    inputs_changed: bool
    largest_difference: float | None
    kernels: dict[str, frozenset[tuple[str, ...]]]
    """By side: the different kernel sets of the processes; more than one is suspicious."""
    processes: int


def documents(raw: RawFolder, operator: str) -> list[dict[str, Any]]:
    """What every process wrote about `operator`."""
    paths = sorted((raw.root / "samples").glob(f"{operator}.[0-9]*.json"))
    found = [read_json(path) for path in paths]
    return [document for document in found if document["format"] == FORMAT]


def records_of(found: Iterable[dict[str, Any]], row: str) -> list[dict[str, Any]]:
    return [record for document in found for record in document["rows"] if record["row"] == row]


def calibrations(found: Iterable[dict[str, Any]]) -> list[list[Point]]:
    """The passes over all lengths of copy, one or two a process."""
    parts = [document[part] for document in found for part in ("calibration", "calibration_after") if part in document]
    return [[Point(**point) for point in part] for part in parts]


def gather(records: Sequence[dict[str, Any]]) -> RowSamples:
    problems = [Problem(**record["error"]) for record in records if "error" in record]
    measured = [record for record in records if "error" not in record]
    ratios: dict[str, list[float]] = {"cold": [], "warm": [], "null": []}
    blocks = set_aside = 0
    for record in measured:
        for kind, found in ratios.items():
            mine = [block for block in record["blocks"] if block["kind"] == kind]
            kept = [block for block in mine if is_undisturbed(block)]
            if kind != "warm":
                blocks, set_aside = blocks + len(mine), set_aside + len(mine) - len(kept)
            if kept:
                found.append(process_log_ratio([block_log_ratio(block["order"], block["ns"]) for block in kept]))
    outputs = [difference for record in measured for difference in record["outputs"]]
    sides = measured[0]["kernels"] if measured else {}
    return RowSamples(
        ratios={kind: tuple(found) for kind, found in ratios.items()},
        blocks=blocks,
        set_aside=set_aside,
        problems=tuple(problems),
        output_problems=tuple(dict.fromkeys(found["problem"] for found in outputs if found["problem"])),
        inputs_changed=any(record["inputs_changed"] for record in measured),
        largest_difference=max((found["largest"] for found in outputs), default=None),
        kernels={side: frozenset(tuple(record["kernels"][side]) for record in measured) for side in sides},
        processes=len(measured),
    )


def is_undisturbed(block: dict[str, Any]) -> bool:
    """The clock stood still over the block, and neither heat nor the power supply slowed the GPU down.

    With a warm L2 each call follows another of its own side, and a side that draws more power lowers the clock for
    itself: that belongs to it.
    """
    markers = block["marker_ns"]
    if block["kind"] != "warm" and max(markers) / min(markers) - 1 > MOST_CLOCK_MOVE:
        return False
    return not (block["throttle"] or 0) & DISTURBING


def conditions(found: Sequence[dict[str, Any]], records: Sequence[dict[str, Any]]) -> Conditions:
    states = [record[when] for record in records for when in ("before", "after") if when in record]
    clocks = [state["sm_mhz"] for state in states if state["sm_mhz"] is not None]
    heat = [state["celsius"] for state in states if state["celsius"] is not None]
    blocks = [block for record in records for block in record.get("blocks", ())]
    markers = [marker for block in blocks for marker in block["marker_ns"]]
    bits = 0
    for block in blocks:
        bits |= block["throttle"] or 0
    # While one of ours runs, one of the processes NVML counts is that; in a container it may not be counted at all.
    counts = [state["processes"] for state in states]
    others = [document["others_before"] for document in found]
    known = bool(states) and None not in counts and -1 not in others
    return Conditions(
        sm_mhz=(min(clocks), max(clocks)) if clocks else None,
        clock_spread=float(np.quantile(markers, 0.99) / np.quantile(markers, 0.01) - 1) if markers else None,
        throttle=tuple(name for bit, name in THROTTLE.items() if bits & bit and name != "idle"),
        celsius=(min(heat), max(heat)) if heat else None,
        others=max([*[max(count - 1, 0) for count in counts], *others], default=0) if known else None,
    )


def side_of(
    raw: RawFolder,
    operator: str,
    row: str,
    records: Sequence[dict[str, Any]],
    backend: str,
    letter: str,
    factor: float | None,
) -> Side:
    """Medians of one side; `letter` is `A` for the reference and `B` for the port."""
    measured = [record for record in records if "error" not in record]
    hosts = [record["host_ns"][backend] for record in measured if "host_ns" in record]  # tuning measures none
    scale = 1000 * (factor or 1.0)
    return Side(
        backend=backend,
        cold_us=_median([_time(record, "cold", letter) / scale for record in measured]),
        warm_us=_median([_time(record, "warm", letter) / scale for record in measured]),
        event_us=_median([record["event_ns"][backend] / 1000 for record in measured]),
        host_us=_median([host["returned"] / 1000 for host in hosts]),
        host_done_us=_median([host["done"] / 1000 for host in hosts]),
        kernels=tuple(measured[0]["kernels"][backend]) if measured else (),
        tuned=tuned(raw, operator, row, backend),
    )


def tuned(raw: RawFolder, operator: str, row: str, backend: str) -> Tuned:
    path = raw.searches(operator, row, backend)
    searches = read_json(path) if path.is_file() else []
    return Tuned(
        configurations=sum(len(search["space"]) for search in searches),
        chosen=tuple(search["space"][search["best"]] for search in searches if search["best"] is not None),
        dropped=tuple(
            (search["space"][int(index)], why) for search in searches for index, why in search["dropped"].items()
        ),
    )


def _time(record: dict[str, Any], kind: str, letter: str) -> float:
    times = [
        time
        for block in record["blocks"]
        if block["kind"] == kind
        for name, time in zip(block["order"], block["ns"], strict=True)
        if name == letter
    ]
    return float(np.median(times))


def _median(values: list[float]) -> float | None:
    return float(np.median(values)) if values else None
