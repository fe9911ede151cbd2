"""READ FIRST: a rule, the port it looks at, and what it finds.

A rule sees a whole port, since some hold between files: the C declaration and the launcher, say. What is not there is
`None`, and a rule that needs it finds nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

from tileport_skill.lint.rust_tree import RustTree, parse_rust

Part = Literal["kernel", "launcher", "wrapper", "library", "registration", "test", "manifest", "pipeline", "reference"]
"""The files of a port by what they are; `pipeline` is the Rust test of the kernel, `reference` the cuTile Python."""
Severity = Literal["error", "warning"]


@dataclass(frozen=True, kw_only=True)
class Source:
    """One file's text, parsed at most once."""

    path: str
    text: str

    @cached_property
    def rust(self) -> RustTree:
        return parse_rust(self.text)

    @cached_property
    def python(self) -> ast.Module | SyntaxError:
        try:
            return ast.parse(self.text)
        except SyntaxError as error:
            return error

    @property
    def module(self) -> ast.Module:
        """The syntax tree; an empty one where the text does not parse, of which `python-parses` tells."""
        return self.python if isinstance(self.python, ast.Module) else ast.Module(body=[], type_ignores=[])


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """The parts of one port that are at hand."""

    parts: Mapping[Part, Source]

    def part(self, name: Part) -> Source | None:
        return self.parts.get(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """Where a rule is broken, and what stands there."""

    part: Part
    line: int
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule, with its examples, which are its tests."""

    id: str
    says: str
    """One sentence, in the imperative."""
    because: str
    check: Callable[[Port], Iterator[Hit]]
    bad: Mapping[Part, str]
    good: Mapping[Part, str]
    severity: Severity = "error"
    upstream: tuple[int, ...] = ()
    """The rules of TileGym's own skill that it covers, by their numbers."""
    trap: str | None = None
    """The test in `tests/skill/emit/test_crate_traps.py` that shows the crate's fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One broken rule in one file."""

    rule: str
    severity: Severity
    path: str
    line: int
    message: str
    __pydantic_config__: ClassVar = {"extra": "forbid"}
