"""The picture and the text bars of the same results."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.skill.timing.raw_samples import OPERATOR, Made

from tileport_skill.timing import picture
from tileport_skill.timing.judging import judge
from tileport_skill.timing.records import Timing


@pytest.fixture
def timing(tmp_path: Path) -> Timing:
    return judge(Made().write(tmp_path), OPERATOR)


def test_equal_steps_of_ratio_are_equal_steps_of_length() -> None:
    scale = picture.Scale(0.5, 2.0, 100.0)
    assert scale.at(0.5) == 0.0
    assert scale.at(1.0) == pytest.approx(50.0)
    assert scale.at(9.0) == 100.0


def test_the_picture_is_one_svg_without_anything_from_elsewhere(timing: Timing) -> None:
    drawn = picture.svg((timing,))
    root = ElementTree.fromstring(drawn)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert re.findall(r"(?:href|src|url)\b", drawn) == []
    assert "16x512" in drawn
    assert 'class="interval good"' in drawn


def test_its_style_touches_nothing_else_on_the_page_it_stands_in(timing: Timing) -> None:
    style = picture.svg((timing,)).split("<style>")[1].split("</style>")[0]
    selectors = re.findall(r"([^{}]+)\{[^{}]*\}", style.replace("@media (prefers-color-scheme: dark) {", ""))
    assert selectors
    assert all(selector.strip().startswith(".ratios") for selector in selectors)


def test_names_that_look_like_markup_stay_names(timing: Timing) -> None:
    row = dataclasses.replace(timing.rows[0], row="<script>alert(1)</script>")
    assert "<script" not in picture.svg((dataclasses.replace(timing, rows=(row,)),))


def test_a_row_without_samples_is_shown_without_marks(timing: Timing) -> None:
    row = dataclasses.replace(timing.rows[0], cold=None, warm=None, null=None)
    bare = dataclasses.replace(timing, rows=(row,))
    assert "<circle" not in picture.svg((bare,))
    assert "- passed" in picture.text(bare)


def test_text_bars_put_the_ratio_right_of_the_rule(timing: Timing) -> None:
    line = picture.text(timing)
    assert line.index("|") < line.index("o")
    assert line.endswith("passed")
