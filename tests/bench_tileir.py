"""`make bench` for Tile IR: how fast it is read, what memory that takes, and how long a pair takes to decide.

Pairs are real: each reference of some operators of TileGym as cuTile compiles it, against the same under what a
port's launcher assumes; and mutants of our own kernels.
"""

from __future__ import annotations

import importlib
import random
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from tests.skill.capture.measure import wheel_checkout
from tileport_skill.capture.cache import read_bytecode
from tileport_skill.capture.records import Capture
from tileport_skill.capture.session import capture
from tileport_skill.launch_shapes import shapes_of
from tileport_skill.tilegym.operators import find_operator, read_operators
from tileport_skill.tileir.assemble import assemble, disassemble
from tileport_skill.tileir.ladder import compare
from tileport_skill.tileir.launch import LaunchShape
from tileport_skill.tileir.parse import parse
from tileport_skill.tileir.search import Budget

OPERATORS = ("silu_and_mul", "softmax", "rms_norm", "layer_norm", "attention", "rope", "swiglu", "matmul")
ARCH = "sm_90"
MUTANTS = 60


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="tileport-bench-") as folder:
        checkout = wheel_checkout(Path(folder))
        operators = [find_operator(read_operators(checkout), name) for name in OPERATORS]
        (captured,) = capture(checkout, operators, [ARCH], Path(folder) / "out", tuning=False)
    for name, value in {**reading(texts_of(captured)), **deciding(captured), **mutants()}.items():
        print(f"{name:<66} {value}")


def texts_of(captured: Capture) -> list[str]:
    hashes = sorted({s.ir.sha256 for s in captured.specialisations if s.ir is not None})
    return [text for sha in hashes if isinstance(text := disassemble(read_bytecode(sha)), str)]


def reading(texts: list[str]) -> dict[str, str]:
    """Lines a second, and how memory grows from half the texts to all of them."""
    lines = sum(text.count("\n") for text in texts)
    began = time.process_time()
    for text in texts:
        parse(text)
    seconds = time.process_time() - began
    half, whole = (_memory(texts[: len(texts) // n]) for n in (2, 1))
    return {
        "texts and lines of real references": f"{len(texts)}, {lines}",
        "lines read a second on one core (goal: 20,000)": f"{lines / seconds:,.0f}",
        "bytes of records a line, half of the texts and all (goal: equal)": f"{half:.0f}, {whole:.0f}",
    }


def _memory(texts: list[str]) -> float:
    tracemalloc.start()
    kept = [parse(text) for text in texts]
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept
    return used / sum(text.count("\n") for text in texts)


def deciding(captured: Capture) -> dict[str, str]:
    """Each different pair of a reference with itself as a port's launcher would have it compiled."""
    known = {s.id: s for s in captured.specialisations}
    found = {}
    for launch in captured.launches:
        specialisation = known[launch.specialisation]
        if specialisation.ir is not None and launch.port_ir is not None:
            shapes = shapes_of(specialisation, captured.launches)
            found[specialisation.ir.sha256, launch.port_ir.sha256] = shapes
    pairs = random.Random(1).sample(sorted(found), min(60, len(found)))
    sides = [(read_bytecode(a), read_bytecode(b), found[a, b]) for a, b in pairs]
    return _quick("real pairs", sides) | _timed(
        "real pairs", [partial(_decide, *side) for side in sides], [side[:2] for side in sides]
    )


def _decide(a: bytes, b: bytes, launches: Sequence[LaunchShape] = (), quick: bool = False) -> str:
    return compare(a, b, ARCH, Budget(any_speed=quick), launches).verdict


def mutants() -> dict[str, str]:
    sys.path.insert(0, str(Path(__file__).parent / "soak"))
    made = importlib.import_module("tileir_mutants")
    pairs = [(a.bytecode, b.bytecode) for _, _, _, a, b in made.pairs(MUTANTS, 3, True)]
    return _timed("mutants", [partial(_decide, a, b) for a, b in pairs], pairs)


def _quick(what: str, sides: Iterable[tuple[bytes, bytes, Sequence[LaunchShape]]]) -> dict[str, str]:
    """Seconds with `--quick`, everything in them that it runs, `tileiras` where graphs do not suffice."""
    seconds, verdicts = [], []
    for a, b, launches in sides:
        assemble.cache_clear()
        began = time.perf_counter()
        verdicts.append(_decide(a, b, launches, quick=True))
        seconds.append(time.perf_counter() - began)
    counts = ", ".join(f"{verdicts.count(name)} {name}" for name in sorted(set(verdicts)))
    return {
        f"{what}, --quick: pairs and verdicts": f"{len(seconds)}: {counts}",
        f"{what}, --quick: s to decide, all in, median, 90th, worst (goal: 1, 10)": _spread(seconds),
    }


def _timed(what: str, calls: Iterable[Callable[[], str]], sides: Iterable[Iterable[bytes | None]]) -> dict[str, str]:
    """Seconds of the ladder alone, `tileiras` having run before, and of both."""
    ours, both, verdicts = [], [], []
    for call, bytecodes in zip(calls, sides, strict=True):
        assemble.cache_clear()
        began = time.perf_counter()
        for bytecode in bytecodes:
            if bytecode is not None:
                assemble(bytecode, ARCH, Budget().assembling)
        assembling = time.perf_counter() - began
        began = time.perf_counter()
        verdicts.append(call())
        ours.append(time.perf_counter() - began)
        both.append(ours[-1] + assembling)
    counts = ", ".join(f"{verdicts.count(name)} {name}" for name in sorted(set(verdicts)))
    return {
        f"{what}: pairs and verdicts": f"{len(ours)}: {counts}",
        f"{what}: s to decide, median, 90th percentile, worst (goal: 1, 10)": _spread(ours),
        f"{what}: the same with tileiras": _spread(both),
    }


def _spread(seconds: list[float]) -> str:
    ordered = sorted(seconds)
    return ", ".join(f"{ordered[at]:.2f}" for at in (len(ordered) // 2, len(ordered) * 9 // 10, len(ordered) - 1))


if __name__ == "__main__":
    main()
