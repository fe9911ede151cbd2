"""What a person sees of a verification: groups, worst first, with reasons and differences, and nothing unescaped."""

from __future__ import annotations

from dataclasses import replace

from tileport_skill.capture.records import Hints
from tileport_skill.tileir.verdicts import Difference, Different, Equal, Line, Proof, Unknown, Verdict, Witness
from tileport_skill.verify import Row
from tileport_skill.verify_page import grouped, page, why

PROOF = Proof(rung="named rules", text="", rules=("x + 0",), over_reals=True, while_true=("no size reaches 2^31",))
SLOW = Difference(kind="hint", severity="slow", text="latency <3>", a=Line(number=7, text="%x = load"))
DIFFERENT = Different(
    witness=Witness(kind="input", inputs="seed=0", where="%arg1, element 0", a="1", b="2"), differences=(SLOW,)
)


def row(verdict: Verdict, kernel: str = "_k", *, backward_only: bool = False) -> Row:
    return Row(
        arch="sm_90",
        kernel=kernel,
        specialisation="0",
        dtypes="float32",
        constants="TILE=16",
        hints=Hints(occupancy=2),
        entry=None if backward_only else "k",
        backward_only=backward_only,
        launches=1,
        test="t",
        verdict=verdict,
        same_assumptions=True,
        lost_hints=(),
    )


def test_rows_that_say_the_same_are_one_group_and_the_worst_come_first() -> None:
    unknown = Unknown(reasons=("The graphs differ.", "3 inputs gave the same results."), tested=3)
    other = replace(unknown, reasons=("The graphs differ.", "5 inputs gave the same results."), tested=5)
    groups = grouped([row(Equal(proof=PROOF)), row(unknown), row(other), row(DIFFERENT)])
    assert [(group.verdict, len(group.rows)) for group in groups] == [("different", 1), ("unknown", 2), ("equal", 1)]


def test_a_proof_says_what_it_leans_on() -> None:
    said = why(row(Equal(proof=PROOF)))
    assert said == (
        "By named rules; rules: x + 0; over the real numbers, so results may differ by rounding; "
        "while no size reaches 2^31."
    )


def test_what_does_not_count_says_so() -> None:
    assert why(row(Unknown(reasons=("no entry",)), backward_only=True)).startswith("Launched by the backward pass only")


def test_the_page_holds_verdicts_reasons_and_both_lines_escaped() -> None:
    html = page("scale", [row(DIFFERENT), row(Equal(proof=PROOF))])
    assert "different" in html
    assert "the first gives 1, the second 2" in html
    assert "latency &lt;3&gt;" in html
    assert "7: %x = load" in html
    assert "occupancy 2" in html
    assert "<script" not in html
