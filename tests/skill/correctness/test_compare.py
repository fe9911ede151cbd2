"""Both sides' values: what is within the tolerance passes, what is not is described, and nothing is run."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tileport_skill.correctness import compare as module
from tileport_skill.correctness.compare import compare, read_comparison

Compared = Callable[[Any, Any], list[tuple[str, bool, tuple[str, ...]]]]


def values(output: Any) -> dict[str, Any]:
    return {"outputs": [output], "gradients": []}


def test_equal_values_and_values_within_the_tolerance_have_no_problem() -> None:
    one = torch.tensor([1.0, float("nan"), float("inf"), 0.0])
    assert compare(values(one), values(one.clone()), None, "") == []
    assert compare(values(one), values(one + 5e-7), None, "") == []
    assert compare(values(one), values(one + 5e-3), (0.0, 1e-2), "") == []


@pytest.mark.parametrize(
    ("actual", "words"),
    [
        (torch.tensor([1.0, 3.0]), "1 of 2 values differ by more than"),
        (torch.tensor([1.0, float("nan")]), "1 of 2 values are not finite where the reference's are"),
        (torch.tensor([1.0, float("inf")]), "not finite"),
        (torch.tensor([1.0]), "(1,) torch.float32 instead of (2,)"),
        (torch.tensor([1.0, 2.0]).half(), "torch.float16 instead of"),
        (None, "no tensor"),
    ],
)
def test_what_differs_is_described(actual: Any, words: str) -> None:
    (problem,) = compare(values(torch.tensor([1.0, 2.0])), values(actual), (0.0, 1e-2), "")
    assert words in problem
    assert problem.startswith("outputs[0]: ")


def test_integers_must_be_equal() -> None:
    (problem,) = compare(values(torch.arange(4)), values(torch.tensor([0, 1, 2, 4])), (1.0, 1.0), "")
    assert "1 of 4 values differ" in problem


def test_a_missing_gradient_is_a_problem() -> None:
    expected = {"outputs": [], "gradients": [torch.ones(2)]}
    assert compare(expected, {"outputs": [], "gradients": []}, None, "") == ["gradients: 0 values instead of 1"]


def sides(folder: Path, expected: Any, actual: Any) -> list[Path]:
    (folder / "calls").mkdir()
    torch.save({"tolerances": None}, folder / "calls" / "000.pt")
    for side, value in (("reference", expected), ("port", actual)):
        (folder / side / "values").mkdir(parents=True)
        (folder / side / "observed.jsonl").write_text(json.dumps({"item": "call 0, ragged"}) + "\n", encoding="utf-8")
        if isinstance(value, bytes):
            (folder / side / "values" / "0000.pt").write_bytes(value)
        elif value is not None:
            torch.save(value, folder / side / "values" / "0000.pt")
    return [folder / "reference", folder / "port", folder / "calls", folder / "out.jsonl"]


@pytest.fixture
def compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Compared:
    """What the program says of both sides' values of one call."""

    def run(expected: Any, actual: Any) -> list[tuple[str, bool, tuple[str, ...]]]:
        arguments = sides(tmp_path, expected, actual)
        monkeypatch.setattr(sys, "argv", ["compare", *map(str, arguments)])
        assert module.main() == 0
        lines = arguments[-1].read_text(encoding="utf-8").splitlines()
        return [(c.item, c.identical, c.problems) for c in map(read_comparison, lines)]

    return run


def test_identical_is_said_of_equal_bytes_alone(compared: Compared) -> None:
    one = torch.tensor([1.0, 2.0])
    assert compared(values(one), values(one)) == [("call 0, ragged", True, ())]


class Boobytrap:
    """Makes a file where pickles are trusted."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self._path,))


@pytest.mark.parametrize("left", [b"garbage", b"", None], ids=["garbage", "nothing", "code"])
def test_what_cannot_be_read_speaks_against_the_port_and_does_not_stop_the_comparer(
    left: bytes | None, compared: Compared, tmp_path: Path
) -> None:
    trap = tmp_path / "sprung"
    ((item, identical, problems),) = compared(values(torch.ones(2)), Boobytrap(trap) if left is None else left)
    assert (item, identical) == ("call 0, ragged", False)
    assert "what the port returned cannot be read" in problems[0]
    assert not trap.exists()


def test_values_that_are_not_there_are_not_compared(compared: Compared) -> None:
    assert compared(values(torch.ones(2)), None) == []
