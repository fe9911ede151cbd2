"""The task file's two parts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tileport_skill.agent.task import Task, parse_task, read_task
from tileport_skill.errors import RequestError


def test_the_first_heading_of_each_kind_divides_the_file() -> None:
    assert parse_task("# System\nYou port.\n\n# Task\nDo:\n# Task\nit\n") == Task(
        system="You port.", message="Do:\n# Task\nit"
    )


@pytest.mark.parametrize(
    "text", ["", "# Task\nx\n", "# System\nx\n", "# System\n\n# Task\nx", "# System\nx\n# Task\n \n"]
)
def test_a_file_without_both_parts_is_refused(text: str) -> None:
    with pytest.raises(RequestError, match="# Task"):
        parse_task(text)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="cannot be read"):
        read_task(tmp_path / "none.md")
