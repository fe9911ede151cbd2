"""Generics that the reference's constants make: read from the entry's documentation, and computed as Python would."""

from __future__ import annotations

import struct

import pytest

from tileport_skill.emit.derived import NotComputed, computed, derivations, spelled

KERNEL = """
    /// Thins.
    ///
    /// # Generics
    /// `HALF`: `TILE // 2`
    /// `SCALE_BITS`: the bits of `1.0 / (1.0 - P) if P < 1.0 else 0`
    #[cutile::entry()]
    pub unsafe fn thinned<const HALF: i32, const SCALE_BITS: i32>() {
    }

    /// `NONE`: `1`

    pub fn other() {}
"""


def test_each_entry_says_how_its_generics_are_made() -> None:
    assert derivations(KERNEL) == {
        "thinned": {"HALF": "TILE // 2", "SCALE_BITS": "1.0 / (1.0 - P) if P < 1.0 else 0"},
        "other": {},
    }


@pytest.mark.parametrize(
    "expression",
    [
        "-(-TILE // 3)",
        "1 << (TILE - 1).bit_length()",
        "float(TILE) * 1.5",
        "1.0 / (1.0 - P) if P < 1.0 else 0",
        "min(TILE, 7) % 4",
        "not TILE > 5",
        "FLAG and TILE != 8",
    ],
)
def test_an_expression_has_the_value_that_python_gives_it(expression: str) -> None:
    for values in ({"TILE": 8, "P": 0.25, "FLAG": True}, {"TILE": 5, "P": 1.0, "FLAG": False}):
        assert computed(expression, values) == eval(expression, {}, dict(values))


@pytest.mark.parametrize(
    "expression",
    ["OTHER", "1 // 0", "__import__('os')", "TILE.real", "(", "'a'", "TILE << P", "1 << -TILE", "(0.5).bit_length()"],
)
def test_anything_else_is_not_computed(expression: str) -> None:
    with pytest.raises(NotComputed):
        computed(expression, {"TILE": 8})


def test_a_number_with_a_fraction_goes_as_its_bits() -> None:
    assert spelled(1.5) == str(struct.unpack("<i", struct.pack("<f", 1.5))[0])
    assert spelled(True) == "true"
    assert spelled(12) == "12"
