"""A port of an operator of our own, verified from capture to verdict without a GPU."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tileport_skill.emit.cli import built_emitter
from tileport_skill.emit.program import Emitter
from tileport_skill.errors import RequestError
from tileport_skill.tilegym.operators import Checkout, find_operator, open_checkout, read_operators
from tileport_skill.tileir.search import Budget
from tileport_skill.verify import Row, exit_status, verify

CHECKOUT = Path(__file__).parents[1] / "data" / "checkout"
KERNEL = "tilegym/ops/cutile_rs/scale_kernel/kernel.rs"


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    shutil.copytree(CHECKOUT, tmp_path / "repository")
    return open_checkout(tmp_path / "repository")


def rows_of(checkout: Checkout, operator: str = "scale") -> tuple[Row, ...]:
    found = find_operator(read_operators(checkout), operator)
    return verify(checkout, found, ["sm_90"], checkout.root.parent / "out", Emitter(built_emitter()))


def edit(checkout: Checkout, old: str, new: str) -> None:
    kernel = checkout.root / KERNEL
    text = kernel.read_text(encoding="utf-8")
    assert text.count(old) == 1
    kernel.write_text(text.replace(old, new), encoding="utf-8")


def test_a_faithful_port_is_equal_in_every_compiled_kernel(checkout: Checkout) -> None:
    rows = rows_of(checkout)
    assert {row.verdict.verdict for row in rows} == {"equal"}, [row.verdict for row in rows]
    assert exit_status(rows) == 0
    assert {row.dtypes for row in rows} == {"float32", "bfloat16"}
    assert {row.hints.occupancy for row in rows} == {1, 2}
    assert {row.entry for row in rows} == {"scale"}
    launches = 7 + 4  # of the tests and of the rows of the benchmark, each after two configurations
    assert sum(row.launches for row in rows) == 3 * launches


def test_a_port_that_computes_something_else_is_never_equal(checkout: Checkout) -> None:
    edit(checkout, "tile * factor", "tile + factor")
    rows = rows_of(checkout)
    assert not {row.verdict.verdict for row in rows} & {"equal"}
    assert exit_status(rows) in (10, 11)


def test_a_port_that_does_not_compile_says_why_in_its_rows(checkout: Checkout) -> None:
    edit(checkout, "tile * factor", "tile * no_such_value")
    rows = rows_of(checkout)
    assert exit_status(rows) == 11
    reasons = {reason for row in rows for reason in getattr(row.verdict, "reasons", ())}
    assert all("the port's kernel does not compile" in reason for reason in reasons)


def test_a_sample_leaves_the_other_kernels_unknown_and_says_so(checkout: Checkout) -> None:
    found = find_operator(read_operators(checkout), "scale")
    rows = verify(checkout, found, ["sm_90"], checkout.root.parent / "out", Emitter(built_emitter()), sample=1)
    left_out = [row for row in rows if "outside the sample" in getattr(row.verdict, "reasons", ("",))[0]]
    assert len(rows) - len(left_out) == 1
    assert exit_status(rows) == 11


def test_a_pair_is_given_up_when_its_time_is_over_and_says_what_could_not_be_done(checkout: Checkout) -> None:
    edit(checkout, "tile * factor", "tile + factor")
    found = find_operator(read_operators(checkout), "scale")
    budget = Budget(seconds=1e-6, assembling=1e-3)
    program = Emitter(built_emitter())
    rows = verify(checkout, found, ["sm_90"], checkout.root.parent / "out", program, sample=1, budget=budget)
    (verdict,) = {row.verdict for row in rows if "sample" not in row.verdict.reasons[0]}
    assert verdict.verdict == "unknown"
    assert "tileiras gave no cubin" in verdict.reasons[0]
    assert "The graphs differ." in verdict.reasons


def test_awkward_calls_add_kernels_and_take_none_from_the_tests(checkout: Checkout) -> None:
    found, program = find_operator(read_operators(checkout), "scale"), Emitter(built_emitter())
    out = checkout.root.parent / "out"
    plain = verify(checkout, found, ["sm_90"], out, program, tuning=False)
    more = verify(checkout, found, ["sm_90"], out, program, tuning=False, again=True)
    assert {row.specialisation for row in plain} == {row.specialisation for row in more if not row.awkward}
    awkward = [row for row in more if row.awkward]
    assert awkward
    assert {row.verdict.verdict for row in awkward} == {"equal"}


def test_an_operator_without_a_port_is_a_bad_request(checkout: Checkout) -> None:
    with pytest.raises(RequestError, match="rows has no port here"):
        rows_of(checkout, "rows")


def test_nothing_to_compare_is_not_success() -> None:
    assert exit_status(()) == 11
