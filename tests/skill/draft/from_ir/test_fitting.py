"""Numbers that differ, in terms of constants."""

from __future__ import annotations

import pytest

from tileport_skill.draft.from_ir.fitting import fit_floats, fit_integers

COLUMNS = {"N": (1000, 1024, 77), "TILE": (128, 256, 32)}


@pytest.mark.parametrize(
    ("wanted", "python"),
    [
        ((1000, 1024, 77), "N"),
        ((64, 128, 16), "TILE // 2"),
        ((8, 4, 3), "-(-N // TILE)"),
        ((1024, 1024, 96), "-(-N // TILE) * TILE"),
        ((1024, 1024, 128), "1 << (N - 1).bit_length()"),
        ((1001, 1025, 78), "N + 1"),
    ],
)
def test_the_simplest_expression_that_is_right_everywhere_is_found(wanted: tuple[int, ...], python: str) -> None:
    fit = fit_integers(wanted, COLUMNS)
    assert fit is not None
    assert fit.python == python
    for place, value in enumerate(wanted):
        assert eval(fit.python, {name: column[place] for name, column in COLUMNS.items()}) == value


def test_what_no_expression_gives_is_not_fitted() -> None:
    assert fit_integers((3, 1, 4), COLUMNS) is None


def test_a_constant_that_never_changes_explains_nothing() -> None:
    assert fit_integers((8, 16), {"SAME": (8, 8)}) is None


def test_floats_are_compared_as_the_f32_that_they_become() -> None:
    fit = fit_floats((1.0 / 0.9, 1.0 / 0.8), {"p": (0.1, 0.2)}, {})
    assert fit is not None
    assert fit.python == "1.0 / (1.0 - p)"
    assert fit_floats((1.0, 2.0), {"p": (0.1, 0.2)}, {}) is None
