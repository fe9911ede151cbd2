"""The kernels that a tuning table has a port launch, captured again: so that they are drafted, and proved, too."""

from __future__ import annotations

import shutil
from pathlib import Path

from tileport_skill.capture.records import Capture, Launch
from tileport_skill.capture.session import capture
from tileport_skill.tilegym.operators import Checkout, Operator
from tileport_skill.tuning.candidates import Candidate, read_spelling
from tileport_skill.tuning.copies import without_copies
from tileport_skill.tuning.explored import CASES
from tileport_skill.tuning.space import MOST
from tileport_skill.tuning.table import Table

_LEFT_BEHIND = shutil.ignore_patterns("target", "__pycache__", "*.so", ".git")


def used(checkout: Checkout, operator: Operator, table: Table, folder: Path, *, for_ports: bool) -> tuple[Capture, ...]:
    """One capture with what the table's lines choose on the shapes that were tuned; none for an empty table."""
    if not table.lines:
        return ()
    (captured,) = capture(checkout, [operator], [table.arch], folder, for_ports=for_ports, files=(CASES,), widen=MOST)
    ids = {launch.specialisation for launch in captured.launches if _is_used(launch, table)}
    return (captured.only(ids),)


def _is_used(launch: Launch, table: Table) -> bool:
    """Options make other kernels be launched as they are; configurations and hints are candidates."""
    if launch.purpose == "launch":
        return True
    lines = [line for line in table.lines if line.of == launch.kernel]
    candidate = read_spelling(launch.configuration or "")
    return any(
        candidate == Candidate(fields=tuple(line.fields.items()), hints=tuple(line.hints.items())) for line in lines
    )


def bare_checkout(checkout: Checkout, operator: Operator, root: Path) -> Checkout:
    """A copy whose reference makes no copies of its inputs: what a port without them is drafted from."""
    for name in (checkout.package, "tests"):
        if (checkout.root / name).is_dir():
            shutil.copytree(checkout.root / name, root / name, ignore=_LEFT_BEHIND)
    text = (checkout.root / operator.reference).read_text(encoding="utf-8")
    (root / operator.reference).write_text(without_copies(text), encoding="utf-8")
    return Checkout(root, checkout.package)
