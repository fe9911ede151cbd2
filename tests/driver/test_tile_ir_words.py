"""What the Tile IR gate makes of a comparison's rows."""

from __future__ import annotations

from dataclasses import replace

from tests.driver.small_attempts import equal_row as row
from tileport_driver.tile_ir_words import equal, table_rows, unequal
from tileport_skill.tileir.verdicts import Different, Unknown, Witness

SLOWER = Witness(kind="speed", inputs="any", where="instructions for sm_90", a="408 instructions", b="411 instructions")
WRONG = Witness(kind="input", inputs="x=1", where="y[0]", a="1", b="2")


def test_one_dataflow_at_another_speed_passes_and_is_told_with_its_numbers() -> None:
    rows = (row("op"), replace(row("op"), verdict=Different(witness=SLOWER)))
    assert unequal(rows) == ()
    said = next(sentence for sentence in equal(rows) if "performance gate" in sentence)
    assert said.startswith("1 compiled kernels are the same dataflow")
    assert "408 instructions against 411 instructions" in said
    assert any("1 compiled kernels equal by" in sentence for sentence in equal(rows))


def test_another_result_and_what_is_not_known_do_not_pass() -> None:
    wrong, unknown = Different(witness=WRONG), Unknown(reasons=("The graphs differ.",))
    found = unequal((row("op"), replace(row("op"), verdict=wrong), replace(row("op"), verdict=unknown)))
    assert len(found) == 2
    assert "y[0]: 1 against 2" in found[0]


AWKWARD = replace(row("op"), test="t again 0: misaligned")


def test_what_only_awkward_calls_launch_fails_a_port_where_it_is_wrong_and_not_where_nobody_knows() -> None:
    unknown = replace(AWKWARD, verdict=Unknown(reasons=("The graphs differ.",)))
    assert unequal((row("op"), unknown)) == ()
    (said,) = unequal((row("op"), unknown, replace(AWKWARD, verdict=Different(witness=WRONG))))
    assert "first launched by t again 0: misaligned" in said


def test_what_only_awkward_calls_launch_is_counted_apart() -> None:
    absent = replace(AWKWARD, entry=None, backward_only=True, verdict=Unknown(reasons=("no backward pass",)))
    unknown = replace(AWKWARD, verdict=Unknown(reasons=("The graphs differ.",)))
    found = equal((row("op"), AWKWARD, unknown, absent))
    assert "sm_90: 1 compiled kernels equal by same cubin." in found
    assert found[-1].startswith("Strided, misaligned and odd inputs launch 2 kernels that no test does: 1 equal; 1 are")
    assert not any("backward" in sentence for sentence in found)
    assert len(table_rows((row("op"), AWKWARD, unknown))) == 1


def test_a_port_that_only_awkward_calls_reach_has_nothing_proved() -> None:
    assert "nothing that the port would have to match" in unequal((AWKWARD,))[0]
