"""READ FIRST. A capture: the operators' tests run in a child process per architecture, answers read back.

Nothing of the checkout is imported here; the child is bounded in time and memory and sees no GPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from tileport_skill.capture.child import Limits, Session, run
from tileport_skill.capture.profiles import profile_of
from tileport_skill.capture.records import CallRecording, Capture, PortRecording, Test
from tileport_skill.errors import MachineryError, RequestError
from tileport_skill.tilegym.operators import Checkout, Operator

SYMBOL = "kernel_entry"
"""The entry symbol of every exported reference: one for all, since it is part of the cubin."""

Answer = TypeVar("Answer", Capture, PortRecording, CallRecording)


def capture(
    checkout: Checkout,
    operators: Sequence[Operator],
    archs: Sequence[str],
    out: Path,
    *,
    symbol: str = SYMBOL,
    limits: Limits | None = None,
    tuning: bool = True,
    for_ports: bool = True,
    again: bool = False,
    files: Sequence[str] = (),
    widen: int = 0,
) -> tuple[Capture, ...]:
    """Captures `operators` once for each of `archs`; writes `out/<arch>/capture.json` and returns the same.

    A checkout without tests (a wheel) is captured with the project's own cases. With `files` these test files run
    instead of those of the operators. Without `for_ports` no launch has `port_ir`, which only a comparison with a port
    needs and which costs as much again. With `again` calls are also made with awkward arguments (`inside/again.py`),
    with `widen` so many more candidates are recorded for each launch (`inside/widen.py`).
    """
    found = []
    for profile in [profile_of(arch) for arch in archs]:
        session = Session(
            checkout=checkout,
            operators=operators,
            profile=profile,
            symbol=symbol,
            answer=out / profile.arch / "capture.json",
            limits=limits or Limits(),
            tuning=tuning,
            for_ports=for_ports,
            again=again,
            files=tuple(files),
            widen=widen,
        )
        run(session)
        captured = read_capture(session.answer)
        _check_collected(captured.tests)
        found.append(captured)
    return tuple(found)


def record_port(
    checkout: Checkout,
    operators: Sequence[Operator],
    archs: Sequence[str],
    out: Path,
    library: Path,
    *,
    limits: Limits | None = None,
    tuning: bool = True,
    again: bool = False,
) -> tuple[PortRecording, ...]:
    """Runs the same tests on the ports in `library` and records what they launch; `out/<arch>/port/port.json`."""
    if not library.is_file():
        raise RequestError(f"{library} does not exist. Build the checkout's kernels crate first.")
    found = []
    for profile in [profile_of(arch) for arch in archs]:
        session = Session(
            checkout=checkout,
            operators=operators,
            profile=profile,
            symbol="",
            answer=out / profile.arch / "port" / "port.json",
            limits=limits or Limits(),
            tuning=tuning,
            again=again,
            library=library,
        )
        run(session)
        recorded = _read(session.answer, PortRecording)
        _check_collected(recorded.tests)
        found.append(recorded)
    return tuple(found)


def record_calls(
    checkout: Checkout,
    operators: Sequence[Operator],
    archs: Sequence[str],
    out: Path,
    *,
    tuning: bool = True,
    again: bool = False,
) -> tuple[CallRecording, ...]:
    """Runs the same tests on the ports' wrappers without any library; `out/<arch>/calls/calls.json`."""
    found = []
    for profile in [profile_of(arch) for arch in archs]:
        session = Session(
            checkout=checkout,
            operators=operators,
            profile=profile,
            symbol="",
            answer=out / profile.arch / "calls" / "calls.json",
            limits=Limits(),
            tuning=tuning,
            calls=True,
            again=again,
        )
        run(session)
        recorded = _read(session.answer, CallRecording)
        _check_collected(recorded.tests)
        found.append(recorded)
    return tuple(found)


def _check_collected(tests: Sequence[Test]) -> None:
    """Raises if not one test could be collected: then the checkout, not an operator, is at fault."""
    if tests and all("::" not in test.id for test in tests):
        raise RequestError(f"The checkout's tests cannot be imported: {tests[0].id}: {tests[0].reason}")


def read_capture(path: Path) -> Capture:
    """The capture a file holds. Raises `MachineryError` if it is none."""
    return _read(path, Capture)


def _read(path: Path, kind: type[Answer]) -> Answer:
    try:
        return TypeAdapter(kind).validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise MachineryError(f"{path} does not hold what the child should have written: {error}") from error
