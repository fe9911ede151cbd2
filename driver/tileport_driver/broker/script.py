"""A scripted conversation: `script.yaml`, checked whole before it is used, and whether a request fits it.

    - reply:
        - text: I write the kernel.
        - tool: str_replace_based_edit_tool
          input: {command: create, path: port/kernel.rs, file_text: {from_file: port/kernel.rs}}
    - expect: {tool: str_replace_based_edit_tool, is_error: false}
      reply:
        - tool: bash
          input: {command: cargo build}
    - expect: {matches: ["Finished .* in"], is_error: false}
      reply: [{text: It builds.}]

Paths in tool inputs are the agent's and may be relative to its work tree; `from_file` is relative to the script.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_validator,
)

from tileport_skill.errors import RequestError

SCRIPT_FILE = "script.yaml"
_EXCERPT = 600
StopReason = Literal["end_turn", "tool_use", "max_tokens", "pause_turn", "refusal"]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Expect(_Part):
    """What the last message must be like. Text is that of its tool results and text blocks together."""

    contains: tuple[str, ...] = ()
    matches: tuple[str, ...] = ()
    """Regular expressions, searched for, `^` and `$` at every line."""
    is_error: bool | None = None
    """Of every tool result in it."""
    tool: str | None = None
    """The tool whose result it is; with several results, of one of them."""

    @field_validator("matches")
    @classmethod
    def _compiles(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in patterns:
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"{pattern!r} is no regular expression: {error}") from error
        return patterns


class Say(_Part):
    """A text block."""

    text: Annotated[str, Field(min_length=1)]


class Call(_Part):
    """A tool call. In `input`, `{from_file: path}` stands for the contents of that file of the script's
    folder."""

    tool: str
    input: dict[str, Any]


class Turn(_Part):
    """One exchange: what the request must be like, and the answer."""

    expect: Expect = Expect()
    reply: tuple[Say | Call, ...]
    stop_reason: StopReason | None = None
    """Otherwise `tool_use` with a tool call in the reply, and `end_turn` without."""

    @model_validator(mode="after")
    def _calls_stop_for_tools(self) -> Turn:
        if self.stop_reason == "tool_use" and not any(isinstance(part, Call) for part in self.reply):
            raise ValueError("stop_reason is tool_use and the reply calls no tool")
        return self

    @property
    def stop(self) -> StopReason:
        calls = any(isinstance(part, Call) for part in self.reply)
        return self.stop_reason or ("tool_use" if calls else "end_turn")


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """The turns in order, files already read."""

    name: str
    turns: tuple[Turn, ...]


_TURNS: TypeAdapter[tuple[Turn, ...]] = TypeAdapter(Annotated[tuple[Turn, ...], Field(min_length=1)])


def load_script(folder: Path) -> Script:
    """Raises `RequestError`, naming turn and field, for a script that is not right."""
    path = folder / SCRIPT_FILE
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise RequestError(f"The script {path} cannot be read: {error}") from error
    if not isinstance(raw, list):
        raise RequestError(f"{path} must be a list of turns, each with `reply` and, if wanted, `expect`.")
    filled = [_with_files(turn, folder, f"{path}: turn {number}") for number, turn in enumerate(raw, 1)]
    try:
        # Through lists to tuples: YAML has no tuples, and strictness is for scalars.
        return Script(name=folder.name, turns=_TURNS.validate_python(_as_tuples(filled)))
    except ValidationError as error:
        raise RequestError(f"{path}: {_first_fault(error)}") from error


def misfit(script: Script, position: int, request: dict[str, Any]) -> str | None:
    """Why the request is not the one that the script's turn at `position` (from 0) answers, or None."""
    if position >= len(script.turns):
        count = len(script.turns)
        return f"script {script.name} has {count} turns and the conversation went on: {_shown(request)}"
    expect = script.turns[position].expect
    text = _text(request)
    wanted = [f"to contain {part!r}" for part in expect.contains if part not in text]
    wanted += [f"to match {p!r}" for p in expect.matches if not re.search(p, text, re.MULTILINE)]
    results = [block for block in _last_blocks(request) if block["type"] == "tool_result"]
    if expect.is_error is not None and any(bool(r.get("is_error")) != expect.is_error for r in results):
        wanted.append("to be an error" if expect.is_error else "to be no error")
    if expect.tool is not None and expect.tool not in (used := _tools_used(request)):
        wanted.append(f"to come from {expect.tool}, not from {', '.join(sorted(used)) or 'no tool'}")
    if not wanted:
        return None
    where = f"turn {position + 1} of script {script.name}"
    return f"{where} expected the last message {' and '.join(wanted)}, but it is: {_shown(request)}"


def _with_files(value: Any, folder: Path, where: str) -> Any:
    if isinstance(value, list):
        return [_with_files(part, folder, f"{where}.{index}") for index, part in enumerate(value)]
    if not isinstance(value, dict):
        return value
    if set(value) != {"from_file"}:
        return {key: _with_files(part, folder, f"{where}.{key}") for key, part in value.items()}
    name = value["from_file"]
    path = (folder / str(name)).resolve()
    if folder.resolve() not in path.parents:
        raise RequestError(f"{where}: {name} lies outside the script's folder; put the file into it.")
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RequestError(f"{where}: the file {name} cannot be read: {error}") from error


def _as_tuples(turns: list[Any]) -> Any:
    """The lists of the script's own structure; those inside a tool's input stay lists."""
    if not all(isinstance(turn, dict) for turn in turns):
        return tuple(turns)
    converted = []
    for turn in turns:
        turn = dict(turn)
        if isinstance(turn.get("reply"), list):
            turn["reply"] = tuple(turn["reply"])
        if isinstance(turn.get("expect"), dict):
            turn["expect"] = {
                key: tuple(part) if isinstance(part, list) else part for key, part in turn["expect"].items()
            }
        converted.append(turn)
    return tuple(converted)


def _first_fault(error: ValidationError) -> str:
    # Of a union's errors the one of the branch that was meant has the longest way in, or is the first.
    item = error.errors(include_url=False)[0]
    place = item["loc"]
    turn = f"turn {place[0] + 1}" if place and isinstance(place[0], int) else "the script"
    inside = ".".join(str(part + 1) if isinstance(part, int) else part for part in place[1:])
    return f"{turn}{', ' + inside if inside else ''}: {item['msg']}"


def _last_blocks(request: dict[str, Any]) -> list[dict[str, Any]]:
    content = request["messages"][-1]["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _text(request: dict[str, Any]) -> str:
    parts = []
    for block in _last_blocks(request):
        inner = block.get("content") if block["type"] == "tool_result" else [block]
        pieces = [{"type": "text", "text": inner}] if isinstance(inner, str) else inner or []
        parts += [piece["text"] for piece in pieces if piece.get("type") == "text"]
    return "\n".join(parts)


def _tools_used(request: dict[str, Any]) -> set[str]:
    """The tools whose results the last message brings."""
    answered = {block["tool_use_id"] for block in _last_blocks(request) if block["type"] == "tool_result"}
    before = request["messages"][-2]["content"] if len(request["messages"]) > 1 else []
    blocks = before if isinstance(before, list) else []
    return {block["name"] for block in blocks if block["type"] == "tool_use" and block["id"] in answered}


def _shown(request: dict[str, Any]) -> str:
    text = _text(request)
    return text if len(text) <= _EXCERPT else f"{text[: _EXCERPT // 3]}\n[...]\n{text[-2 * _EXCERPT // 3 :]}"
