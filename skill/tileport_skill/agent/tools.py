"""The two tools of the SDK's current types, as this agent runs them: a `tool_use` block in, a `tool_result`
out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from tileport_skill.agent.editor import EditError, Editor
from tileport_skill.agent.shell import Shell

if TYPE_CHECKING:  # reports describe tools too, and need no SDK for it
    from anthropic.types import ToolResultBlockParam, ToolUnionParam, ToolUseBlock

BASH = "bash"
EDITOR = "str_replace_based_edit_tool"

DEFINITIONS: Sequence[ToolUnionParam] = (
    {"type": "bash_20250124", "name": "bash"},
    # The last tool carries the cache breakpoint: the list never changes within a conversation.
    {
        "type": "text_editor_20250728",
        "name": "str_replace_based_edit_tool",
        "cache_control": {"type": "ephemeral"},
    },
)


class _Input(BaseModel):
    """The API does not promise that a model's tool input fits the tool's schema, so it is checked here."""

    model_config = ConfigDict(extra="forbid", strict=True)


class _Bash(_Input):
    command: str | None = None
    restart: bool = False


class _View(_Input):
    command: Literal["view"]
    path: str
    view_range: Annotated[list[int], Field(min_length=2, max_length=2)] | None = None


class _Create(_Input):
    command: Literal["create"]
    path: str
    file_text: str


class _Replace(_Input):
    command: Literal["str_replace"]
    path: str
    old_str: str
    new_str: str = ""


class _Insert(_Input):
    command: Literal["insert"]
    path: str
    insert_line: int
    insert_text: str


_EDIT: TypeAdapter[_View | _Create | _Replace | _Insert] = TypeAdapter(
    Annotated[_View | _Create | _Replace | _Insert, Field(discriminator="command")]
)


class Toolbox:
    """Runs tool calls; whatever goes wrong inside one becomes an error result that the model reads."""

    def __init__(self, shell: Shell, editor: Editor, *, shell_seconds: float, deadline: float) -> None:
        self._shell = shell
        self._editor = editor
        self._shell_seconds = shell_seconds
        self._deadline = deadline
        """On the monotonic clock; no command runs past it."""

    def run(self, call: ToolUseBlock) -> ToolResultBlockParam:
        try:
            if call.name == BASH:
                text, failed = self._bash(_Bash.model_validate(call.input))
            elif call.name == EDITOR:
                text, failed = self._edit(call.input), False
            else:
                text, failed = f"There is no tool {call.name!r}; the tools are {BASH} and {EDITOR}.", True
        except ValidationError as error:
            text, failed = f"The input does not fit the tool, nothing was run: {_explain(error)}", True
        except (EditError, OSError) as error:
            # OSError: no more processes or no more disk, which the model may well have caused and can mend.
            text, failed = str(error), True
        # File names and outputs may hold bytes that are no text, and JSON has no place for them.
        text = text.encode("utf-8", "replace").decode()
        return {"type": "tool_result", "tool_use_id": call.id, "content": text, "is_error": failed}

    def _bash(self, asked: _Bash) -> tuple[str, bool]:
        if asked.restart:
            self._shell.restart()
            return "The shell was restarted.", False
        if not asked.command or "\0" in asked.command:
            return "`command` must be a command without NUL characters.", True
        left = max(1.0, self._deadline - time.monotonic())
        ran = self._shell.run(asked.command, seconds=min(self._shell_seconds, left))
        notes = [ran.note] if ran.note else []
        if ran.status:
            notes.append(f"exit status {ran.status}")
        parts = [ran.output.rstrip("\n"), *(f"[{note}]" for note in notes)]
        return "\n".join(part for part in parts if part) or "(no output)", ran.status != 0

    def _edit(self, given: dict[str, object]) -> str:
        match _EDIT.validate_python(given):
            case _View(path=path, view_range=None):
                return self._editor.view(path)
            case _View(path=path, view_range=[first, last]):
                return self._editor.view(path, (first, last))
            case _Create(path=path, file_text=text):
                return self._editor.create(path, text)
            case _Replace(path=path, old_str=old, new_str=new):
                return self._editor.str_replace(path, old, new)
            case _Insert(path=path, insert_line=line, insert_text=text):
                return self._editor.insert(path, line, text)
        raise AssertionError("every command of the editor is handled above")


def describe(name: str, given: dict[str, Any]) -> str:
    """One call in a few words, for progress: `bash: cargo build`, `create kernel.rs`."""
    if name == BASH:
        command = str(given.get("command") or "restart").strip()
        first = command.splitlines()[0] if command else ""
        return f"bash: {first}"[:80]
    if name == EDITOR:
        verb = {"str_replace": "edit", "insert": "edit"}.get(str(given.get("command")), str(given.get("command")))
        return f"{verb} {str(given.get('path')).rsplit('/', 1)[-1]}"[:80]
    return f"unknown tool {name}"[:80]


def _explain(error: ValidationError) -> str:
    return "; ".join(
        f"{'.'.join(str(part) for part in item['loc']) or 'input'}: {item['msg']}"
        for item in error.errors(include_url=False, include_input=False)[:5]
    )
