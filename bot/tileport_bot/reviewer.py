"""The ports that a pull request touches, looked at on this machine: its sources read, and judged in the container."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from pydantic import TypeAdapter

from tileport_bot.review_records import Mark, PortReview, Review
from tileport_driver.progress import Progress
from tileport_driver.pull_tree import PullTree, open_pull
from tileport_driver.records import Failed
from tileport_driver.store import AttemptFolder
from tileport_driver.tile_ir_words import table_rows, untried, why
from tileport_skill.errors import MachineryError, RequestError
from tileport_skill.judge.findings import Findings
from tileport_skill.lint.ports import port_of
from tileport_skill.lint.records import Finding
from tileport_skill.lint.run import findings
from tileport_skill.tilegym.operators import Checkout, find_operator, open_checkout, read_operators
from tileport_skill.tilegym.port_files import port_files
from tileport_skill.tileir.verdicts import Equal
from tileport_skill.verify import Row

MOST_PORTS = 12
_CARGO_PLACE = re.compile(r"-->\s+(\S+?):(\d+):\d+")


class Judge(Protocol):
    """Judges one port of a commit on a CPU. Raises `RequestError` or `MachineryError`."""

    def __call__(self, tree: Path, commit: str, operator: str, *, tuning: bool = False) -> PortReview:
        """With `tuning` every configuration of the reference's tuner is compared too."""
        ...


def review_pull(repository: Path, base: str, head: str, judge: Judge, say: Callable[[str], None]) -> Review | None:
    """`repository` holds both commits. None if no port is touched."""
    with TemporaryDirectory(prefix="tileport-pull-") as folder:
        try:
            tree = open_pull(repository, base, head, Path(folder) / "tree")
            checkout = open_checkout(tree.path)
        except RequestError as error:
            return Review(head=head, refused=str(error))
        names = touched_ports(checkout, tree.changed)
        if not names:
            return None
        ports = []
        for name in names[:MOST_PORTS]:
            say(f"reviewing {name}")
            ports.append(_review_one(checkout, tree, name, judge))
        return Review(head=head, ports=tuple(ports), left_out=names[MOST_PORTS:])


def touched_ports(checkout: Checkout, changed: tuple[str, ...]) -> tuple[str, ...]:
    """Ports in the checkout that the paths belong to, or whose reference does: sorted by name."""
    ports = f"{checkout.package}/ops/cutile_rs/"
    there = {path.parent.name.removesuffix("_kernel") for path in checkout.port_dir.glob("*_kernel/kernel.rs")}
    found = set()
    for path in changed:
        own = re.fullmatch(rf"{re.escape(ports)}(?:(\w+)_kernel/[^/]+\.rs|(\w+)\.py)", path)
        reference = re.fullmatch(rf"{re.escape(checkout.package)}/ops/cutile/(?:.+/)?(\w+)\.py", path)
        found |= {name for match in (own, reference) if match for name in match.groups() if name}
    return tuple(sorted(found & there))


def _review_one(checkout: Checkout, tree: PullTree, name: str, judge: Judge) -> PortReview:
    broken: tuple[Finding, ...] = ()
    try:
        broken = lint(checkout, name)
        operator = find_operator(read_operators(checkout), name).name
        judged = judge(tree.path, tree.commit, operator)
    except (RequestError, SyntaxError, ValueError, RecursionError) as error:
        return PortReview(operator=name, findings=broken, refused=f"It cannot be read: {error}")
    except MachineryError as error:
        return PortReview(operator=name, findings=broken, broke_down=str(error))
    return PortReview(operator=name, findings=broken, gates=judged.gates, ir_rows=judged.ir_rows, marks=judged.marks)


def lint(checkout: Checkout, name: str) -> tuple[Finding, ...]:
    """The rules over one port's sources, with paths as the repository has them."""
    found = findings([port_of(checkout.port_dir / f"{name}_kernel")])
    return tuple(
        Finding(
            rule=one.rule,
            severity=one.severity,
            path=Path(one.path).relative_to(checkout.root).as_posix(),
            line=one.line,
            message=one.message,
        )
        for one in found
    )


def judge_here(progress: Progress, stop: Callable[[], bool]) -> Judge:
    """The driver's acceptance on this machine, in its container."""

    def judge(tree: Path, commit: str, operator: str, *, tuning: bool = False) -> PortReview:
        # Only here, as importing it costs seconds that other events need not pay.
        from tileport_driver.review import review_port

        acceptance, folder = review_port(tree, commit, operator, progress, stop, tuning=tuning)
        rows = _rows(folder)
        checkout = open_checkout(tree)
        kernel = port_files(checkout, find_operator(read_operators(checkout), operator)).kernel
        return PortReview(
            operator=operator,
            gates=acceptance.gates,
            ir_rows=table_rows(rows),
            marks=(*_build_marks(checkout, acceptance.gates), *_ir_marks(rows, kernel, checkout)),
            untried=untried(rows),
        )

    return judge


def _build_marks(checkout: Checkout, gates: tuple[object, ...]) -> tuple[Mark, ...]:
    """The lines rustc points at, of files that the repository has."""
    text = "\n".join(r for gate in gates if isinstance(gate, Failed) and gate.gate == "build" for r in gate.reasons)
    crate = checkout.port_dir / "cutile_kernels"
    found = []
    for place in _CARGO_PLACE.finditer(text):
        path = (crate / place[1]).resolve()
        if path.is_file() and path.is_relative_to(checkout.root.resolve()):
            message = text[: place.start()].rstrip().rpartition("\n")[2]
            where = path.relative_to(checkout.root.resolve()).as_posix()
            found.append(Mark(path=where, line=int(place[2]), message=message or "rustc points here."))
    return tuple(dict.fromkeys(found))


def _rows(folder: AttemptFolder) -> tuple[Row, ...]:
    """What the container compared; empty if it came to nothing."""
    path = folder.evidence / "findings.json"
    compared = TypeAdapter(Findings).validate_json(path.read_bytes()).tile_ir if path.is_file() else None
    return compared.rows if compared else ()


def _ir_marks(compared: tuple[Row, ...], kernel: str, checkout: Checkout) -> tuple[Mark, ...]:
    """For each entry with a compiled kernel that is not equal, the line it begins at."""
    rows = [row for row in compared if row.counts and not isinstance(row.verdict, Equal)]
    text = (checkout.root / kernel).read_text(encoding="utf-8", errors="replace")
    first = {row.entry: row for row in reversed(rows)}
    return tuple(
        Mark(
            path=kernel,
            line=line_of_entry(text, entry),
            message=f"{sum(r.entry == entry for r in rows)} compiled kernels are not known to equal the reference's; "
            f"the first, {row.kernel} {row.dtypes} on {row.arch}, is {row.verdict.verdict}: {why(row)}",
        )
        for entry, row in first.items()
    )


def line_of_entry(text: str, entry: str | None) -> int:
    """1 where the file has no such function."""
    found = re.search(rf"\bfn\s+{re.escape(entry)}\b", text) if entry else None
    return text.count("\n", 0, found.start()) + 1 if found else 1
