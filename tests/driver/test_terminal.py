"""What is shown where there is no terminal, and that failures of the work come out."""

from __future__ import annotations

import io
import time

import pytest
from rich.console import Console

from tileport_driver.progress import Progress, Stage
from tileport_driver.terminal import watch


def test_without_a_terminal_each_stage_and_action_is_a_line_of_its_own() -> None:
    out = io.StringIO()

    def work(progress: Progress) -> str:
        progress.enter(Stage.RUNNING)
        progress.say("bash: a command\nof two lines that is long enough to be broken by a narrow terminal", tokens=1234)
        time.sleep(1.2)
        return "result"

    assert watch(work, Console(file=out, width=40)) == "result"
    lines = out.getvalue().splitlines()
    assert any("running" in line and "1,234 tokens" in line and "of two lines" in line for line in lines)


def test_what_the_work_raises_is_raised_to_the_caller() -> None:
    def work(progress: Progress) -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        watch(work, Console(file=io.StringIO()))
