"""Tool calls as the model makes them, right or not: each gets a result and none an exception."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from anthropic.types import ToolUseBlock

from tileport_skill.agent.editor import Editor
from tileport_skill.agent.shell import Shell
from tileport_skill.agent.tools import Toolbox, describe

EDITOR = "str_replace_based_edit_tool"


@pytest.fixture
def toolbox(tmp_path: Path) -> Iterator[Toolbox]:
    shell = Shell(tmp_path, environment={"PATH": os.environ["PATH"]})
    yield Toolbox(shell, Editor(tmp_path), shell_seconds=20, deadline=time.monotonic() + 600)
    shell.restart()


def _run(toolbox: Toolbox, name: str, given: dict[str, Any]) -> tuple[Any, Any]:
    result = toolbox.run(ToolUseBlock(type="tool_use", id="t1", name=name, input=given))
    assert (result["type"], result["tool_use_id"]) == ("tool_result", "t1")
    return result["content"], result["is_error"]  # type: ignore[typeddict-item]


def test_bash_tells_output_and_status(toolbox: Toolbox) -> None:
    assert _run(toolbox, "bash", {"command": "echo hi"}) == ("hi", False)
    assert _run(toolbox, "bash", {"command": "true"}) == ("(no output)", False)
    assert _run(toolbox, "bash", {"command": "echo no; (exit 4)"}) == ("no\n[exit status 4]", True)
    assert _run(toolbox, "bash", {"restart": True}) == ("The shell was restarted.", False)


def test_the_editor_is_reached_with_all_its_commands(toolbox: Toolbox, tmp_path: Path) -> None:
    assert not _run(toolbox, EDITOR, {"command": "create", "path": "k.rs", "file_text": "a\n"})[1]
    assert not _run(toolbox, EDITOR, {"command": "insert", "path": "k.rs", "insert_line": 1, "insert_text": "b\n"})[1]
    assert not _run(toolbox, EDITOR, {"command": "str_replace", "path": "k.rs", "old_str": "a\n"})[1]
    assert _run(toolbox, EDITOR, {"command": "view", "path": "k.rs", "view_range": [1, 1]}) == ("     1\tb", False)


@pytest.mark.parametrize(
    ("name", "given", "says"),
    [
        ("bash", {}, "`command` must be"),
        ("bash", {"command": ["ls"]}, "nothing was run: command: Input should be a valid string"),
        ("bash", {"cmd": "ls"}, "cmd: Extra inputs"),
        ("bash", {"command": "a\0b"}, "NUL"),
        (EDITOR, {}, "nothing was run"),
        (EDITOR, {"command": "undo_edit", "path": "a"}, "nothing was run"),
        (EDITOR, {"command": "create", "path": "a"}, "create.file_text: Field required"),
        (EDITOR, {"command": "view", "path": "a", "view_range": [1]}, "view_range: List should have at least 2"),
        (EDITOR, {"command": "create", "path": "../a", "file_text": ""}, "outside the work tree"),
        ("browser", {}, "There is no tool 'browser'"),
    ],
)
def test_a_call_that_does_not_fit_is_an_error_result(
    toolbox: Toolbox, name: str, given: dict[str, Any], says: str
) -> None:
    text, failed = _run(toolbox, name, given)
    assert failed
    assert says in text


def test_names_that_are_no_text_are_shown_all_the_same(toolbox: Toolbox, tmp_path: Path) -> None:
    (Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.rs"))).write_text("")
    assert _run(toolbox, EDITOR, {"command": "view", "path": "."}) == ("?.rs", False)


def test_no_command_runs_past_the_end_of_the_run(tmp_path: Path) -> None:
    shell = Shell(tmp_path, environment={"PATH": os.environ["PATH"]})
    toolbox = Toolbox(shell, Editor(tmp_path), shell_seconds=500, deadline=time.monotonic())
    text, failed = _run(toolbox, "bash", {"command": "sleep 400"})
    assert failed
    assert "stopped after 1 s" in text
    shell.restart()


def test_calls_are_described_in_a_few_words() -> None:
    assert describe("bash", {"command": "cargo build\nls"}) == "bash: cargo build"
    assert describe("bash", {"restart": True}) == "bash: restart"
    assert describe(EDITOR, {"command": "str_replace", "path": "/work/port/kernel.rs"}) == "edit kernel.rs"
    assert describe(EDITOR, {"command": "create", "path": "kernel.rs"}) == "create kernel.rs"
    assert len(describe("bash", {"command": "x" * 500})) == 80
