"""Which tests call the reference itself though they are given a backend."""

from __future__ import annotations

import ast

import pytest

from tileport_skill.tilegym.direct_tests import direct_calls

IMPORT = "from tilegym.ops.cutile.one import run\n\n\n"
GIVEN = '@pytest.mark.parametrize("backend", _backends)\n'


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"{GIVEN}def test_op(backend):\n    tilegym.ops.cutile.one.run(1)\n", ["test_op: tilegym.ops.cutile.one.run"]),
        (f"{IMPORT}{GIVEN}def test_op(backend):\n    check(lambda: run(1))\n", ["test_op: run"]),
        (
            f"import tilegym.ops.cutile.one as one\n{GIVEN}def test_op(backend):\n    one.run(1)\n",
            ["test_op: one.run"],
        ),
        (
            f"{IMPORT}def both(x):\n    return run(x)\n\n\n{GIVEN}def test_op(backend):\n    both(1)\n",
            ["test_op: both"],
        ),
        (
            f"{IMPORT}class Test_One:\n    def call(self):\n        run(1)\n\n"
            "    def test_perf(self, framework):\n        self.call()\n",
            ["test_perf: self.call"],
        ),
        (f"{GIVEN}def test_op(backend):\n    tilegym.ops.one(1)\n", []),
        (f"{IMPORT}def test_alone():\n    run(1)\n", []),
        (f'{IMPORT}@pytest.mark.parametrize("backend", ["cutile"])\ndef test_op(backend):\n    run(1)\n', []),
        (
            f'{IMPORT}@pytest.mark.parametrize("backend", ("cutile", "cutile-rs"))\n'
            "def test_op(backend):\n    run(1)\n",
            ["test_op: run"],
        ),
    ],
)
def test_a_test_that_may_be_given_a_port_and_calls_the_reference_is_found(text: str, found: list[str]) -> None:
    assert [f"{call.test}: {call.name}" for call in direct_calls(ast.parse(text))] == found
