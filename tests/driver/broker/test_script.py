"""A script is checked whole when it is loaded, and tells where a conversation leaves it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tileport_driver.broker import script as script_module
from tileport_driver.broker.script import load_script, misfit
from tileport_skill.errors import RequestError

LS = {"tool": "bash", "input": {"command": "ls"}}


def _write(folder: Path, turns: Any) -> Path:
    (folder / "script.yaml").write_text(turns if isinstance(turns, str) else yaml.safe_dump(turns))
    return folder


def _request(text: str, *, is_error: bool = False, tool: str = "bash") -> dict[str, Any]:
    result = {"type": "tool_result", "tool_use_id": "t", "is_error": is_error, "content": text}
    call = {"type": "tool_use", "id": "t", "name": tool, "input": {}}
    return {
        "messages": [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result]},
        ]
    }


def test_a_tools_input_takes_a_files_contents(tmp_path: Path) -> None:
    (tmp_path / "port").mkdir()
    (tmp_path / "port" / "kernel.rs").write_text("fn kernel() {}\n")
    edit = {"command": "create", "path": "kernel.rs", "file_text": {"from_file": "port/kernel.rs"}}
    script = load_script(_write(tmp_path, [{"reply": [{"tool": "str_replace_based_edit_tool", "input": edit}]}]))
    assert script.turns[0].reply[0].input["file_text"] == "fn kernel() {}\n"  # type: ignore[union-attr]
    assert script.turns[0].stop == "tool_use"


@pytest.mark.parametrize(
    ("turns", "says"),
    [
        ("turns: 3", "must be a list of turns"),
        ("[", "cannot be read"),
        ([], "at least 1 item"),
        ([{"reply": [{"text": "a"}]}, {"expect": {}}], "turn 2, reply: Field required"),
        ([{"reply": [{"text": "a"}], "expects": {}}], "turn 1, expects: Extra inputs"),
        ([{"reply": [{"text": "a"}], "expect": {"matches": ["("]}}], "turn 1, expect.matches: .*regular expression"),
        ([{"reply": [{"text": "a"}], "expect": {"contains": "a"}}], "turn 1, expect.contains: "),
        ([{"reply": [{"tool": "bash"}]}], "turn 1, reply.1.*: Field required"),
        ([{"reply": [{"text": "a"}], "stop_reason": "tool_use"}], "turn 1: .*calls no tool"),
        ([{"reply": [{"tool": "b", "input": {"x": {"from_file": "none.rs"}}}]}], "turn 1.reply.0.input.x: .*none.rs"),
        ([{"reply": [{"tool": "b", "input": {"x": {"from_file": "../out"}}}]}], "outside the script's folder"),
    ],
)
def test_a_faulty_script_is_refused_with_turn_and_field(tmp_path: Path, turns: Any, says: str) -> None:
    with pytest.raises(RequestError, match=says):
        load_script(_write(tmp_path, turns))


def test_a_folder_without_a_script_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"script\.yaml cannot be read"):
        load_script(tmp_path)


@pytest.mark.parametrize(
    ("expect", "request_", "says"),
    [
        (
            {"contains": ["Finished"]},
            _request("error: no"),
            "turn 1 .* expected .* to contain 'Finished', but it is: error: no",
        ),
        ({"matches": ["^ok$"]}, _request("okay"), r"to match '\^ok\$'"),
        ({"is_error": False}, _request("x", is_error=True), "to be no error"),
        ({"tool": "bash"}, _request("x", tool="other"), "to come from bash, not from other"),
    ],
)
def test_a_conversation_that_does_not_fit_is_told_in_words(
    tmp_path: Path, expect: dict[str, Any], request_: dict[str, Any], says: str
) -> None:
    script = load_script(_write(tmp_path, [{"expect": expect, "reply": [LS]}]))
    told = misfit(script, 0, request_)
    assert told is not None

    assert re.search(says, told)


def test_a_conversation_that_fits_fits(tmp_path: Path) -> None:
    expect = {"contains": ["ok"], "matches": ["^ok$"], "is_error": False, "tool": "bash"}
    script = load_script(_write(tmp_path, [{"expect": expect, "reply": [LS]}]))
    assert misfit(script, 0, _request("all\nok")) is None


def test_a_long_result_is_shown_by_its_beginning_and_its_end(tmp_path: Path) -> None:
    script = load_script(_write(tmp_path, [{"expect": {"contains": ["no"]}, "reply": [LS]}]))
    told = misfit(script, 0, _request("first" + "x" * 100_000 + "last"))
    assert told is not None
    assert "first" in told
    assert told.endswith("last")
    assert len(told) < 1000


def test_the_example_in_the_modules_head_is_a_script(tmp_path: Path) -> None:
    head = script_module.__doc__ or ""
    example = "\n".join(line[4:] for line in head.splitlines() if line.startswith("    "))
    (tmp_path / "port").mkdir()
    (tmp_path / "port" / "kernel.rs").write_text("fn kernel() {}\n")
    assert [turn.stop for turn in load_script(_write(tmp_path, example)).turns] == ["tool_use", "tool_use", "end_turn"]
