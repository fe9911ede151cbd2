"""The table of all operators: four of our own drafted and checked, and what a death in the middle leaves."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path

import pytest

from tileport_skill.draft.check import Line, checked_status, exit_status
from tileport_skill.draft.dispatch import Agreement
from tileport_skill.draft.row import KernelRow, OperatorRow, write_row
from tileport_skill.draft.table import Asked, _key, drafted_and_shown, make_table, markdown
from tileport_skill.tilegym.operators import open_checkout, read_operators

REPOSITORY = Path(__file__).parents[2] / "data" / "draftable"
KERNEL = KernelRow(
    kernel="_rows",
    variants=1,
    specialisations=3,
    route="Python source",
    equal={"sm_90": {"same cubin": 3}},
    different=0,
    unknown=0,
    why=(),
    unsafe=2,
    rust_lines=20,
    python_lines=9,
    refused=None,
)
AGREED = Agreement(arch="sm_90", launches=5, agree=5, wrong={}, missing={})
ROW = OperatorRow(operator="rows", key="k", kernels=(KERNEL,), dispatch=(AGREED,), seconds=12.5)


@pytest.fixture
def asked(tmp_path: Path) -> Asked:
    shutil.copytree(REPOSITORY, tmp_path / "repository", ignore=shutil.ignore_patterns("__pycache__"))
    checkout = open_checkout(tmp_path / "repository")
    return Asked(checkout=checkout, archs=("sm_90",), out=tmp_path / "table", seconds=600)


def test_four_operators_are_drafted_whole_and_every_kernel_and_launch_is_shown(asked: Asked) -> None:
    rows = make_table(asked, read_operators(asked.checkout), print)
    assert [row.operator for row in rows] == ["centred", "leaky", "product", "swapped"]
    for row in rows:
        assert row.problem is None
        assert drafted_and_shown(row), row
    launches = {row.operator: row.dispatch[0].launches for row in rows}
    assert launches == {"centred": 66, "leaky": 90, "product": 40, "swapped": 17}
    table = json.loads((asked.out / "table.json").read_text())
    assert table["totals"]["kernels whose every specialisation is equal"] == 5
    assert (asked.out / "drafts/leaky/kernel.rs").is_file()


def test_an_operator_that_takes_too_long_is_a_row_and_the_others_stay(asked: Asked) -> None:
    leaky, swapped = (one for one in read_operators(asked.checkout) if one.name in ("leaky", "swapped"))
    (asked.out / "rows").mkdir(parents=True)
    done = dataclasses.replace(ROW, operator="swapped", key=_key(asked, swapped))
    write_row(done, asked.out / "rows/swapped.json")
    rows = make_table(dataclasses.replace(asked, seconds=0.01), [leaky, swapped], print)
    assert rows[1] == done
    assert rows[0].broken
    assert rows[0].problem is not None
    assert rows[0].problem.startswith("ended with 124")
    assert "| swapped | `_rows` |" in (asked.out / "table.md").read_text()


def test_a_changed_reference_makes_its_row_anew(asked: Asked) -> None:
    (swapped,) = (one for one in read_operators(asked.checkout) if one.name == "swapped")
    before = _key(asked, swapped)
    reference = asked.checkout.root / swapped.reference
    reference.write_text(reference.read_text() + "\n", encoding="utf-8")
    assert _key(asked, swapped) != before


def test_the_page_says_by_what_each_kernel_is_equal_and_why_one_is_not_drafted() -> None:
    refused = dataclasses.replace(KERNEL, kernel="_running", equal={}, route=None, refused="line 41: cumsum | of rows")
    apart = dataclasses.replace(AGREED, agree=3, wrong={"_rows: a grid of (5, 1, 1)": 2})
    row = dataclasses.replace(ROW, kernels=(KERNEL, refused), dispatch=(apart,))
    page = markdown(("sm_90",), (row, OperatorRow(operator="none", key="k", problem="no test launches a kernel")))
    assert "| rows | `_rows` | 1 | 3 | Python source | 3 same cubin | - | 2 | 20 | 9 |" in page
    assert "| rows | yes | 3 of 5 |" in page
    assert "- **rows**: `_running`, line 41: cumsum \\| of rows" in page
    assert "- **rows**: dispatch, _rows: a grid of (5, 1, 1) (2 launches)" in page
    assert "- **none**: no test launches a kernel" in page
    assert not drafted_and_shown(row)
    assert drafted_and_shown(ROW)


@pytest.mark.parametrize(
    ("equal", "agreements", "status"),
    [
        ({"same cubin": 3}, [AGREED], 0),
        ({}, [AGREED], 11),
        ({"same cubin": 3}, [], 11),
        ({"same cubin": 3}, None, 0),
        ({"same cubin": 3}, [dataclasses.replace(AGREED, agree=4, missing={"x": 1})], 11),
        ({"same cubin": 3}, [dataclasses.replace(AGREED, agree=4, wrong={"x": 1})], 10),
    ],
)
def test_a_check_ends_with_0_only_where_kernels_and_launches_were_shown(
    equal: dict[str, int], agreements: list[Agreement] | None, status: int
) -> None:
    line = Line(kernel="_rows", equal=equal, different=0, unknown=0, why=(), measured=None, refused=None)
    assert exit_status([line]) == 0
    assert checked_status([line], agreements) == status
    assert checked_status([], agreements) != 0
