"""Each step on a few lines: what it shortens, and what it must leave."""

from __future__ import annotations

from tileport_skill.draft.from_ir import folds
from tileport_skill.draft.printer import print_block
from tileport_skill.draft.rust import Assign, Binary, Block, For, Let, Run, Stmt, call, word

F = "Tile<f32, { [N] }>"


def text(*statements: Stmt) -> str:
    return print_block(Block(statements))


def folded(step: folds.Fold, *statements: Stmt) -> str:
    return print_block(step(Block(statements), {"named"}))


def test_arithmetic_at_its_defaults_becomes_an_operator_and_else_stays() -> None:
    exact = call("addf", "a", "b", "rounding::NearestEven", "ftz::Disabled")
    other = call("addf", "a", "b", "rounding::Zero", "ftz::Disabled")
    assert folded(folds.as_operators, Let(("c",), exact, F)) == f"let c: {F} = a + b;"
    assert "addf(" in folded(folds.as_operators, Let(("c",), other, F))


def test_what_nothing_reads_goes_but_a_store_stays() -> None:
    store = Let(("done",), call("store_ptr_tko", "p", "kept"), "Token")
    found = folded(folds.without_the_unused, Let(("lost",), word("a"), F), Let(("kept",), word("b"), F), store)
    assert "lost" not in found
    assert "let _done: Token = store_ptr_tko(p, kept);" in found


def test_an_unnamed_step_stands_in_the_next_statement_and_a_named_one_stays() -> None:
    step, named = (Let((name,), Binary("*", word("a"), word("b")), F) for name in ("step", "named"))
    assert (
        folded(folds.inlined, step, Let(("c",), Binary("+", word("step"), word("d")), F)) == f"let c: {F} = a * b + d;"
    )
    assert "let named" in folded(folds.inlined, named, Let(("c",), Binary("+", word("named"), word("d")), F))


def test_nothing_moves_over_another_statement_or_into_a_loop() -> None:
    step = Let(("step",), Binary("*", word("a"), word("b")), F)
    use = Let(("c",), Binary("+", word("step"), word("d")), F)
    between = Run(call("print", "a"))
    assert "let step" in folded(folds.inlined, step, between, use)
    assert "let step" in folded(folds.inlined, step, For("i", word("0"), word("n"), None, Block((use,))))


def test_a_value_that_is_only_handed_on_is_assigned_at_once_unless_the_old_one_is_still_read() -> None:
    made = Let(("new",), Binary("+", word("total"), word("x")), F)
    late = Let(("y",), word("total"), F)
    assert folded(folds.assigned_directly, made, Assign("total", word("new"))) == "total = total + x;"
    assert "let new" in folded(folds.assigned_directly, made, late, Assign("total", word("new")))
