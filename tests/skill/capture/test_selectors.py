"""Which predicate separates calls: the simplest that does, and none where the calls say too little."""

from __future__ import annotations

import pytest

from tileport_skill.capture.selectors import Call, separating


def calls(*values: object, name: str = "x") -> list[Call]:
    return [{name: str(value), "y": "1"} for value in values]


def grid(rule: object) -> tuple[list[Call], list[Call]]:
    """Sixteen calls over a flag and a size, split by `rule`."""
    assert callable(rule)
    both = [(flag, size) for flag in ("a", "b", "c", "d") for size in (1, 3, 8, 64)]
    made = [({"flag": flag, "n": str(size)}, rule(flag, size)) for flag, size in both]
    return [call for call, holds in made if holds], [call for call, holds in made if not holds]


@pytest.mark.parametrize(
    ("having", "lacking", "predicate"),
    [
        (calls("float32"), [], "always"),
        (calls("float32"), calls("bfloat16", "float16"), "x == float32"),
        (calls("float32", "float16"), calls("bfloat16"), "x != bfloat16"),
        (calls(8, 64), calls(512, 4096), "x <= 64"),
        (calls(512), calls(8, 64), "x >= 512"),
        (calls(8, 64, 4096), calls(100, 3000), "is_power_of_two(x)"),
        (calls("float32"), calls("float32"), None),
    ],
)
def test_one_comparison_is_tried_first(having: list[Call], lacking: list[Call], predicate: str | None) -> None:
    assert separating(having, lacking) == predicate


@pytest.mark.parametrize(
    ("rule", "predicate"),
    [
        (lambda flag, n: flag == "a" and n > 3, "flag == a and n >= 8"),
        (lambda flag, n: flag == "a" or n <= 3, "flag == a or n <= 3"),
        (lambda flag, n: flag == "a" or (flag == "b" and n > 3), "flag == a or (flag == b and n >= 8)"),
        (lambda flag, n: (flag in "ab") == (n > 3), None),
    ],
)
def test_then_two_or_three(rule: object, predicate: str | None) -> None:
    assert separating(*grid(rule)) == predicate


def test_few_calls_teach_no_combination() -> None:
    having = [{"flag": "a", "n": "8"}]
    lacking = [{"flag": "a", "n": "1"}, {"flag": "b", "n": "8"}]
    assert separating(having, lacking) is None


def test_a_feature_that_some_calls_lack_is_not_compared() -> None:
    assert separating([{"x": "1", "mode": "a"}], [{"x": "1"}]) is None
