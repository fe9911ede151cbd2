"""Every row runs on TileGym's own reference, under fake tensors: no row asks for what an operator does not take."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from tests.skill.capture.measure import wheel_checkout

from tileport_skill.capture.child import Limits, Session, run
from tileport_skill.capture.profiles import profile_of
from tileport_skill.capture.session import read_capture
from tileport_skill.tilegym.operators import read_operators

_TEST = """
import pytest
from tilegym.backend import set_backend
from tileport_skill.timing.inside.calls import call_of, outputs_of
from tileport_skill.timing.rows import all_rows

ROWS = [(kept.operator, row.id, row.arguments) for kept in all_rows().values() for row in kept.rows]


@pytest.mark.parametrize("backend", ["cutile"])
@pytest.mark.parametrize(("operator", "row", "arguments"), ROWS, ids=[f"{operator}:{row}" for operator, row, _ in ROWS])
def test_row(operator, row, arguments, backend):
    set_backend(backend)
    call = call_of(operator, arguments, 1)
    assert outputs_of(call, call.run())
"""


@pytest.mark.soak
def test_every_row_runs_on_the_reference(tmp_path: Path) -> None:
    checkout = wheel_checkout(tmp_path)
    tests = checkout.root / "tests" / "ops"
    tests.mkdir(parents=True)
    for folder in (tests, tests.parent):
        (folder / "__init__.py").touch()
    (tests / "test_rows.py").write_text(_TEST, encoding="utf-8")
    operator = dataclasses.replace(read_operators(checkout)[0], tests=("tests/ops/test_rows.py",))
    session = Session(
        checkout=checkout,
        operators=[operator],
        profile=profile_of("sm_90"),
        symbol="kernel_entry",
        answer=tmp_path / "capture.json",
        limits=Limits(seconds=1800),
        tuning=False,
    )
    run(session)
    log = (tmp_path / "pytest.log").read_text(encoding="utf-8")
    assert len(read_capture(session.answer).tests) > 200
    assert " failed" not in log.splitlines()[-1], log[-3000:]
