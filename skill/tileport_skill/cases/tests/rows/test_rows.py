"""An operator's calls as they are tuned, each in every way it may be made; see tileport_skill/tuning/shapes.py."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from tilegym.backend import set_backend

from tileport_skill.timing.inside.calls import call_of
from tileport_skill.tuning.inside.applied import called
from tileport_skill.tuning.shapes import task_of

_REQUEST = json.loads(Path(os.environ["TILEPORT_CAPTURE"]).read_text(encoding="utf-8"))
_CASES = [
    (operator, shape, way, f"{operator}:{number}:{place}")
    for operator in _REQUEST["operators"]
    for number, shape in enumerate(task_of(operator).shapes)
    for place, way in enumerate(task_of(operator).ways(shape))
]


@pytest.fixture(autouse=True)
def _searched_anew():
    """Some operators share a winner between sizes; then only the first would be searched."""
    for name, module in list(sys.modules.items()):
        if name.startswith("tilegym."):
            for attribute, value in list(vars(module).items()):
                if isinstance(value, dict) and "tune_cache" in attribute.lower():
                    value.clear()


@pytest.mark.parametrize("backend", ["cutile"])
@pytest.mark.parametrize(("operator", "shape", "way"), [case[:3] for case in _CASES], ids=[case[3] for case in _CASES])
def test_call(operator, shape, way, backend):
    set_backend(backend)
    with called(backend, dict(way.options), way.copies):
        call_of(operator, shape.row.arguments, 1).run()
