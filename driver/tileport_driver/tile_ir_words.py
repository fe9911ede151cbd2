"""The rows of a Tile IR comparison as sentences and as table rows. Pure."""

from __future__ import annotations

from collections import Counter

from tileport_driver.report import IrRow
from tileport_skill.tileir.verdicts import Different, Equal
from tileport_skill.verify import Row, answered_for

MOST_REASONS = 10


def unequal(rows: tuple[Row, ...]) -> tuple[str, ...]:
    """Why the rows do not pass, worst first, at most ten and a count; empty if all that count compute the same."""
    counted = answered_for(rows)
    if not any(not row.awkward for row in counted):
        return ("The reference's tests launch nothing that the port would have to match.",)
    bad = sorted((row for row in counted if not computes_the_same(row)), key=lambda row: row.verdict.verdict)
    sentences = [f"{_title(row)}: {row.verdict.verdict}. {why(row)}" for row in bad[:MOST_REASONS]]
    if len(bad) > MOST_REASONS:
        sentences.append(f"... and {len(bad) - MOST_REASONS} more of {len(counted)}.")
    return tuple(sentences)


def equal(rows: tuple[Row, ...]) -> tuple[str, ...]:
    """What was shown, for rows that all compute the same."""
    counted = [row for row in answered_for(rows) if not row.awkward]
    kinds = Counter((row.arch, why_equal(row)) for row in counted if isinstance(row.verdict, Equal))
    sentences = [f"{arch}: {count} compiled kernels equal by {rung}." for (arch, rung), count in sorted(kinds.items())]
    sentences += _of_other_speed([row for row in counted if not isinstance(row.verdict, Equal)])
    conditions = sorted({c for row in counted if isinstance(row.verdict, Equal) for c in row.verdict.proof.while_true})
    sentences += [f"Proved while {condition}." for condition in conditions]
    dtypes = sorted({row.dtypes for row in counted})
    sentences.append(f"Element types: {', '.join(dtypes)}.")
    sentences.append(
        "The port's Tile IR is what its own launcher handed to the assembler in the operator's tests, untuned; the "
        "tuner's other configurations differ in hints alone (`tileport-skill verify` compares them too)."
    )
    lost = sorted({hint for row in counted for hint in row.lost_hints})
    if lost:
        sentences.append(
            f"Hints of the reference that cuTile Rust cannot express, so speed may differ: {', '.join(lost)}."
        )
    inexact = sum(not row.same_assumptions for row in counted)
    if inexact:
        sentences.append(
            f"{inexact} of {len(counted)} were compared under what the port's launcher assumes of its arguments, which "
            "is true but not what cuTile assumes: equal behaviour, not necessarily equal speed."
        )
    untried = sum(row.untried for row in rows)
    if untried:
        sentences.append(f"{untried} configurations of the reference's tuner are none of the port's.")
    aside = sum(not row.counts and not row.untried and not row.awkward for row in rows)
    if aside:
        sentences.append(f"{aside} more belong to the backward pass, which the port does not claim.")
    return (*sentences, *_of_awkward_calls([row for row in rows if row.awkward and row.counts]))


def _of_awkward_calls(rows: list[Row]) -> list[str]:
    if not rows:
        return []
    same = sum(computes_the_same(row) for row in rows)
    others = len(rows) - same
    left = f"; {others} are not known to be, which a run on a GPU has to answer for" if others else ""
    return [f"Strided, misaligned and odd inputs launch {len(rows)} kernels that no test does: {same} equal{left}."]


def computes_the_same(row: Row) -> bool:
    """Equal, or one dataflow with weaker promises or hints: how fast that is, the performance gate measures."""
    verdict = row.verdict
    return isinstance(verdict, Equal) or (isinstance(verdict, Different) and verdict.witness.kind == "speed")


def _of_other_speed(rows: list[Row]) -> list[str]:
    if not rows:
        return []
    shown = [f"{_kernel(row)} {row.dtypes}, {why(row)}" for row in rows[:3]]
    more = f"; and {len(rows) - len(shown)} more" if len(rows) > len(shown) else ""
    return [
        f"{len(rows)} compiled kernels are the same dataflow, promised or hinted less. They may differ in speed, which "
        f"the performance gate measures: {'; '.join(shown)}{more}."
    ]


def table_rows(rows: tuple[Row, ...]) -> tuple[IrRow, ...]:
    """For the report: one line per compiled kernel that a test launches, and for what is wrong beyond these."""
    return tuple(
        IrRow(
            kernel=_kernel(row),
            dtype=row.dtypes,
            arch=row.arch,
            verdict=row.verdict.verdict,
            proof=why(row),
            reference_sha256=_cubin(row),
            port_sha256=_cubin(row),
        )
        for row in answered_for(rows)
        if not row.awkward or not computes_the_same(row)
    )


def untried(rows: tuple[Row, ...]) -> tuple[str, ...]:
    """Configurations of the reference's tuner that the port's leaves out, each once."""
    return tuple(sorted({f"{_kernel(row)} {row.dtypes} on {row.arch}" for row in rows if row.untried}))


def why(row: Row) -> str:
    """The proof, or what stands in its way, in a sentence."""
    verdict = row.verdict
    if isinstance(verdict, Equal):
        return f"by {why_equal(row)}"
    if verdict.verdict == "different":
        return f"{verdict.witness.where}: {verdict.witness.a} against {verdict.witness.b}"
    return " ".join(verdict.reasons)


def why_equal(row: Row) -> str:
    return row.verdict.proof.rung if isinstance(row.verdict, Equal) else row.verdict.verdict


def _title(row: Row) -> str:
    return f"{_kernel(row)} {row.dtypes} on {row.arch} (first launched by {row.test})"


def _kernel(row: Row) -> str:
    hints = {"occupancy": row.hints.occupancy, "num_ctas": row.hints.num_ctas}
    said = [f"{name}={value}" for name, value in hints.items() if value is not None]
    bound = ", ".join([row.constants, *said] if row.constants else said)
    return f"{row.kernel} [{bound}]" if bound else row.kernel


def _cubin(row: Row) -> str | None:
    """Equal by cubin means that one file stands for both sides."""
    return row.verdict.proof.cubin_sha256 if isinstance(row.verdict, Equal) else None
