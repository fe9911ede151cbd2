"""What kernels are compared for: everything that can make two of them differ, and what cannot only once."""

from __future__ import annotations

from tests.skill.pipeline.conftest import Place

from tileport_skill.pipeline.submit import check
from tileport_skill.pipeline.validators.facts import captures, once_for_hints
from tileport_skill.pipeline.verdicts import Role


def test_a_tuners_configurations_that_differ_in_hints_are_one_kernel_and_nothing_else_is_dropped(
    analyzed: Place,
) -> None:
    (captured,) = captures(analyzed.work)
    kept = once_for_hints(captured)
    assert len({one.hints for one in captured.specialisations}) == 2  # the occupancies that the operator tries
    assert 1 < len(kept.specialisations) < len(captured.specialisations)
    assert {one.parameters for one in kept.specialisations} == {one.parameters for one in captured.specialisations}
    assert {one.specialisation for one in kept.launches} == {one.id for one in kept.specialisations}
    assert once_for_hints(kept) == kept


def test_a_kernel_that_differs_is_told_with_the_value_at_which_it_does(analyzed: Place) -> None:
    analyzed.write_kernel(lambda text: text.replace("tile * factor", "tile + factor"))
    problems = check(analyzed.work, Role.KERNEL_WRITER, analyzed.work.root).problems
    assert problems
    assert all("the first gives" in problem.text for problem in problems)
