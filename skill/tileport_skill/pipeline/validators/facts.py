"""What several validators need: the reference's captures, made once by us, and the rules' findings by owner."""

from __future__ import annotations

import hashlib
from pathlib import Path

from pydantic import TypeAdapter

from tileport_skill.capture.analysis import Analysis, analyse
from tileport_skill.capture.records import Capture
from tileport_skill.capture.session import capture, read_capture
from tileport_skill.lint.ports import port_of
from tileport_skill.lint.records import Part
from tileport_skill.lint.run import findings
from tileport_skill.pipeline.records import Problem
from tileport_skill.pipeline.verdicts import Verdict
from tileport_skill.pipeline.work import Work
from tileport_skill.tilegym.port_files import port_files


def captures(work: Work) -> tuple[Capture, ...]:
    """The reference's launches for each architecture; captured again only if reference or tests have changed."""
    checkout, operator = work.place()
    archs = work.task().archs
    folder = work.root / "facts"
    sources = [checkout.root / path for path in (operator.reference, *operator.tests)]
    key = hashlib.sha256(b"\0".join(path.read_bytes() for path in sources) + repr(archs).encode()).hexdigest()
    marker = folder / "key"
    if not (marker.is_file() and marker.read_text() == key):
        found = capture(checkout, [operator], archs, folder)
        analysis = TypeAdapter(Analysis).dump_json(analyse(checkout, operator, found), indent=1)
        (folder / "analysis.json").write_bytes(analysis + b"\n")
        marker.write_text(key)
        return found
    return tuple(read_capture(path) for path in sorted(folder.glob("*/capture.json")))


def once_for_hints(captured: Capture) -> Capture:
    """Of kernels that differ in hints alone, as a tuner's configurations do, the first: pure.

    Hints are the launcher's to hand over; what `kernel.rs` says is the same for all of them.
    """
    first: dict[object, str] = {}
    for one in captured.specialisations:
        first.setdefault((one.key, one.parameters, one.calling_convention, one.refused), one.id)
    return captured.only(frozenset(first.values()))


def broken_rules(work: Work, owner: Verdict, *parts: Part) -> list[Problem]:
    """Errors, not warnings, of the rules in these parts of the port."""
    checkout, operator = work.place()
    port = port_of(Path(checkout.root / port_files(checkout, operator).kernel).parent)
    paths = {source.path for part, source in port.parts.items() if part in parts}
    return [
        Problem(owner=owner, text=f"{Path(one.path).name}:{one.line}: {one.message} [{one.rule}]")
        for one in findings([port])
        if one.severity == "error" and one.path in paths
    ]
