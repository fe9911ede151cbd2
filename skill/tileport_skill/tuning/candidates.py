"""One way to launch a kernel that might be faster, as it is spelled in captures, on disk and in a port's table.

`namespace(TILE_M=64, TILE_N=128) with num_ctas=2`: what the host's own tuner would get as a configuration, and the
compiler hints that are set over whatever the host code asks for.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tileport_skill.errors import MachineryError

Value = int | float | bool | str | None
_WITH = " with "


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A configuration and hints of one kernel; both empty where it is left as it is."""

    fields: tuple[tuple[str, Value], ...] = ()
    """The configuration's, in its own order; empty for a kernel that its host code does not tune."""
    hints: tuple[tuple[str, int], ...] = ()
    """Compiler hints set over the host's."""

    @property
    def text(self) -> str:
        """A spelling for people, the same as captures have for configurations."""
        parts = [f"namespace({_said(self.fields)})"] if self.fields else []
        parts += [f"with {_said(self.hints)}"] if self.hints else []
        return " ".join(parts) or "as it is"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """How a call of an operator is made; by default as the reference makes it."""

    options: tuple[tuple[str, Value], ...] = ()
    """Keywords of the operator's function that the caller left open."""
    copies: bool = True
    """Whether the host's copies of its inputs are made."""
    kernels: tuple[tuple[str, Candidate], ...] = ()
    """What is chosen for kernels, by name; others are tuned as the reference tunes them."""

    @property
    def text(self) -> str:
        parts = [f"called with {_said(self.options)}"] if self.options else []
        parts += [] if self.copies else ["without copies"]
        parts += [f"{kernel} {candidate.text}" for kernel, candidate in self.kernels]
        return ", ".join(parts) or "as the reference"

    @property
    def way(self) -> Choice:
        """The same with nothing chosen for any kernel."""
        return replace(self, kernels=())

    def of(self, kernel: str) -> Candidate | None:
        return dict(self.kernels).get(kernel)


def plain(choice: Choice) -> dict[str, Any]:
    """As JSON has it."""
    return {
        "options": dict(choice.options),
        "copies": choice.copies,
        "kernels": {
            kernel: {"fields": dict(candidate.fields), "hints": dict(candidate.hints)}
            for kernel, candidate in choice.kernels
        },
    }


def choice_from(kept: Mapping[str, Any]) -> Choice:
    """What `plain` wrote."""
    return Choice(
        options=tuple(kept["options"].items()),
        copies=kept["copies"],
        kernels=tuple(
            (kernel, Candidate(fields=tuple(one["fields"].items()), hints=tuple(one["hints"].items())))
            for kernel, one in kept["kernels"].items()
        ),
    )


def spelled(configuration: object, hints: Mapping[str, int]) -> str:
    """What a capture calls the launch of `configuration` (the host's own object; None where there is none)."""
    told = "" if configuration is None else repr(configuration)
    return f"{told}{_WITH if told else _WITH.lstrip()}{_said(tuple(hints.items()))}" if hints else told


def read_spelling(text: str) -> Candidate:
    """The candidate a capture's `configuration` means. Raises `MachineryError` if it cannot be read."""
    told, _, hints = f" {text}".partition(_WITH)
    try:
        return Candidate(
            fields=_keywords(told.strip()),
            hints=tuple((name, int(str(value))) for name, value in _keywords(f"hints({hints})")),
        )
    except (SyntaxError, ValueError) as error:
        raise MachineryError(f"the configuration {text!r} cannot be read: {error}") from error


def fields_of(configuration: object) -> dict[str, Value]:
    """The plain values of a configuration; nothing for one whose text tells none."""
    try:
        return dict(_keywords(repr(configuration)))
    except (SyntaxError, ValueError):
        return {}


def _keywords(text: str) -> tuple[tuple[str, Value], ...]:
    if not text:
        return ()
    tree = ast.parse(text, mode="eval").body
    if not isinstance(tree, ast.Call) or tree.args:
        raise ValueError("it is not spelled as a call with keywords")
    return tuple((str(one.arg), ast.literal_eval(one.value)) for one in tree.keywords)


def _said(pairs: tuple[tuple[str, Value], ...] | tuple[tuple[str, int], ...]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in pairs)
