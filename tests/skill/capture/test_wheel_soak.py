"""Every operator of TileGym's wheel, captured whole: nothing may be dropped silently."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.skill.capture.measure import wheel_checkout

from tileport_skill.capture.child import Limits
from tileport_skill.capture.records import Capture
from tileport_skill.capture.session import capture
from tileport_skill.errors import RequestError
from tileport_skill.tilegym.operators import Checkout, Operator, read_operators

pytestmark = [pytest.mark.soak, pytest.mark.timeout(3600)]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    return wheel_checkout(tmp_path_factory.mktemp("wheel"))


@pytest.mark.parametrize("arch", ["sm_90", "sm_100"])
def test_every_case_of_every_operator_is_captured_and_every_kernel_launched(
    checkout: Checkout, arch: str, tmp_path: Path
) -> None:
    operators = read_operators(checkout)
    (captured,) = capture(checkout, operators, [arch], tmp_path, limits=Limits(seconds=1800))
    assert [f"{test.id}: {test.reason}" for test in captured.tests if test.status != "passed"] == []
    assert [s.refused for s in captured.specialisations if s.refused] == []
    missing = {operator.name: _unlaunched(operator, captured) for operator in operators}
    assert {name: kernels for name, kernels in missing.items() if kernels} == {}


def _unlaunched(operator: Operator, captured: Capture) -> set[str]:
    launched = {s.kernel for s in captured.specialisations if s.module.endswith(f".{operator.name}")}
    return set(operator.kernels) - launched


def test_an_operator_without_cases_is_a_clear_error(checkout: Checkout, tmp_path: Path) -> None:
    nameless = Operator(name="no_such", aliases=(), reference="", kernels=(), tests=(), ported=False)
    with pytest.raises(RequestError, match="no_such: the checkout has no tests of it"):
        capture(checkout, [nameless], ["sm_90"], tmp_path)
