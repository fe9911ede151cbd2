"""What a proof says of a draft, and what it is checked beside."""

from __future__ import annotations

from pathlib import Path

import pytest

from tileport_skill.draft.check import Line, _reasons, _speaks_against, is_better
from tileport_skill.draft.operator import Refusal
from tileport_skill.draft.overlay import lay_out
from tileport_skill.tilegym.operators import find_operator, open_checkout, read_operators
from tileport_skill.tileir.verdicts import Difference, Different, Unknown, Witness

REPOSITORY = Path(__file__).parents[2] / "data" / "draftable"


@pytest.mark.parametrize(
    ("reason", "against"),
    [
        ("tileiras gave no cubin of the first input for sm_90: it did not end within 60 s.", False),
        ("No input could be run: more time than was allowed.", False),
        ("10 inputs gave the same results.", True),
    ],
)
def test_a_proof_that_ran_out_of_time_does_not_speak_against_a_translation(reason: str, against: bool) -> None:
    assert _speaks_against(Unknown(reasons=("The graphs differ.", reason))) is against


def test_a_kernel_that_is_only_slower_says_by_what() -> None:
    witness = Witness(kind="speed", inputs="any", where="instructions for sm_90", a="372", b="410")
    slow = Difference(kind="assume", severity="slow", text="only the first side promises: multiple of 4")
    note = Difference(kind="assume", severity="note", text="only the second side promises: at least 0")
    assert _reasons(Different(witness=witness, differences=(note, slow))) == (
        "speed, instructions for sm_90: 372 beside 410; only the first side promises: multiple of 4",
    )


def test_another_operator_whose_port_is_called_is_its_reference_where_dispatch_is_checked(tmp_path: Path) -> None:
    checkout = open_checkout(REPOSITORY)
    leaky = find_operator(read_operators(checkout), "leaky")
    wrapper = "def swapped(x):\n    from tilegym.ops.cutile_rs.swapped import swapped as ported\n"
    lay_out(checkout, leaky, wrapper, tmp_path / "copy")
    stand_in = tmp_path / "copy/tilegym/ops/cutile_rs/swapped.py"
    assert stand_in.read_text() == "from tilegym.ops.cutile.swapped import swapped  # noqa: F401\n"


def line(*, unknown: int = 0, refused: bool = False) -> Line:
    refusal = Refusal(kernel="k", reason="no", line=1) if refused else None
    return Line(kernel="k", equal={}, different=0, unknown=unknown, why=(), measured=None, refused=refusal)


def test_a_draft_with_a_part_unknown_is_better_than_none() -> None:
    assert not is_better([line(refused=True)], [line(unknown=4)])
    assert is_better([line(unknown=1)], [line(unknown=4)])
    assert not is_better([line(unknown=4)], [line(unknown=4)])
