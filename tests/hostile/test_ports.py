"""What can be known of the ports without a GPU: each is what it says, and gets through TileGym's tests if it should."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, get_args

import pytest
import torch

from tests.hostile.all_ports import HONEST, HOSTILE, NOT_APPLICABLE, PORTS
from tests.hostile.catalogue import PORT, WRAPPER, Port, edited, files_of
from tests.hostile.trial import Case, Seen, run
from tileport_skill.correctness.decide import Check

IN_PYTHON = [port for port in PORTS if not port.is_built]
HACKS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 15, 17, 19, 20, 21, 23, 25, 27, 28, 29, 30, 31, 33, 34)
"""The numbers of the list that can be done to a port."""
_OF_A_THIRD_CALL = ("leftovers", "remembered", "warmed-up")
_OF_OTHER_SHAPES = ("knows-the-shapes", "lost-values")


def named(name: str) -> Port:
    return next(port for port in PORTS if port.name == name)


@pytest.mark.parametrize("port", PORTS, ids=lambda port: port.name)
def test_every_edit_fits_and_what_it_makes_can_be_read(port: Port) -> None:
    for name, edits in files_of(port).items():
        if (PORT / name).is_file():
            text = edited((PORT / name).read_text(encoding="utf-8"), edits)
            assert text != (PORT / name).read_text(encoding="utf-8")
            if name == WRAPPER:
                compile(text, port.name, "exec")


def test_names_are_unique() -> None:
    assert [name for name, count in Counter(port.name for port in PORTS).items() if count > 1] == []


def test_every_hack_of_the_list_is_done_by_a_port_or_named_as_not_applicable() -> None:
    done = {hack for port in HOSTILE for hack in port.hacks}
    assert set(HACKS) - done == set()
    assert set(range(1, 35)) == set(HACKS) | set(NOT_APPLICABLE)


def test_every_check_has_a_port_that_it_alone_rejects() -> None:
    alone = {check for port in HOSTILE if not port.also for check in port.rejected_by if len(port.rejected_by) == 1}
    # Some deeds have two faces, whichever way they are done; what follows a run on a GPU has no check in it. A kernel
    # that reads outside its arrays is another graph first of all: compute-sanitizer is the second eye on that.
    elsewhere = {"bytecode", "memory"}
    assert set(get_args(Check)) - alone == {"entries", "gradients", "inputs"} | elsewhere
    assert {check for port in HOSTILE for check in port.rejected_by} == set(get_args(Check)) - elsewhere
    assert {port.gate for port in HOSTILE} == {"correctness", "tile-ir", "bytecode", "policy", "source"}


def test_there_are_about_as_many_honest_ports() -> None:
    assert len(HOSTILE) >= 24
    assert len(HONEST) >= 24
    assert all(not port.rejected_by and not port.also for port in HONEST)


CASES = (
    Case(),
    Case(gradient=False, tuned=True),
    Case(tuned=True, times=2),
    Case(shape=(1, 30), dtype=torch.bfloat16),
    Case(shape=(5, 3, 14), layout="padded"),
    Case(shape=(4, 6), layout="every other", gradient=False, dtype=torch.float16),
    Case(gradient=False, out="dense"),
    Case(gradient=False, out="padded"),
)


@pytest.mark.parametrize("port", HONEST, ids=lambda port: port.name)
def test_an_honest_port_computes_what_the_reference_does(port: Port, tmp_path: Path) -> None:
    forward, backward = "silu_and_mul_row_wise", "silu_and_mul_backward_row_wise"
    for case, seen in zip(CASES, run(port, CASES, tmp_path), strict=True):
        assert seen.error == "", case
        assert (seen.plain, seen.right, seen.gradient_right, seen.changed) == (True, True, True, False), case
        assert seen.launches == (forward,) * case.times + (backward,) * case.gradient, case
        assert seen.reference_launches == 0, case


def test_a_hostile_port_gets_through_the_tests_unless_tests_are_what_rejects_it(tmp_path: Path) -> None:
    for port in IN_PYTHON:
        (seen,) = run(port, [Case()], tmp_path)
        assert seen.error == "", port.name
        lies_to_tests = port.name in ("blind-comparer", "forged-report")
        if port.honest or {"tests"} & {*port.rejected_by, *port.also} or lies_to_tests:
            continue
        assert seen.right, port.name
        assert seen.gradient_right or "gradients" in port.rejected_by, port.name


def test_a_hostile_port_does_what_it_is_named_for(tmp_path: Path) -> None:
    def seen(name: str, **case: Any) -> Seen:
        return run(named(name), [Case(**case)], tmp_path)[0]

    for name in ("no-op", "constant", "zeroed-input", "blind-comparer", "forged-report"):
        assert not seen(name).right, name
    for name in _OF_A_THIRD_CALL:
        assert seen(name, times=2).right == (name != "remembered")
        assert not seen(name, times=3).right, name
    for name in _OF_OTHER_SHAPES:
        assert not seen(name, shape=(5, 3, 16)).right, name
    assert not seen("after-many-calls", times=25).right
    assert not seen("padded-result", shape=(5, 3, 16)).plain
    assert seen("padded-result", shape=(5, 3, 16)).right
    for name in ("later", "agreeable", "detached"):
        assert not seen(name).plain, name
    for name in ("zeroed-input", "gradient-over-input"):
        assert seen(name).changed, name
    for name in ("reference-behind-a-launch", "uncounted-launch", "inherits-the-reference", "switched-backend"):
        assert seen(name).reference_launches, name
    assert seen("falls-back", shape=(7, 2, 6000)).reference_launches
    for name in ("torch-does-it", "fallback-backend", "switched-backend"):
        assert "silu_and_mul_row_wise" not in seen(name).launches, name
    assert "silu_and_mul_row_wise" not in seen("deselects-a-case", shape=(7, 2, 6000)).launches
    for name, words in {"refuses-a-case": "NotImplementedError", "skips-a-case": "Skipped"}.items():
        assert seen(name, shape=(7, 2, 6000)).error.startswith(words)
    assert seen("dense-only", layout="padded").error.startswith("ValueError")
    assert seen("other-library").library_changed
