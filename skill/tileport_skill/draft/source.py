"""The Python source of a kernel and of the device functions it calls: syntax trees, comments and empty lines."""

from __future__ import annotations

import ast
import functools
import io
import tokenize
from dataclasses import dataclass
from pathlib import Path

from tileport_skill.draft.oracle.records import Function
from tileport_skill.draft.values import Untranslatable


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One function of one file."""

    file: Path
    tree: ast.FunctionDef
    lines: tuple[str, ...]
    """The file's, the first at 0."""
    comments: dict[int, str]
    """Text by line, of lines that are a comment or end in one."""

    @property
    def documentation(self) -> tuple[str, ...]:
        """The comment right above the function, then its docstring."""
        first = min([self.tree.lineno, *(d.lineno for d in self.tree.decorator_list)])
        above: list[str] = []
        while self.whole_line_comment(first - 1 - len(above)):
            above.insert(0, self.comments[first - 1 - len(above)])
        return (*above, *_paragraphs(ast.get_docstring(self.tree) or ""))

    @property
    def body(self) -> list[ast.stmt]:
        """The statements behind the docstring."""
        return self.tree.body[1:] if ast.get_docstring(self.tree) is not None else self.tree.body

    @property
    def statement_lines(self) -> int:
        """Lines that hold code: no comment, docstring or empty line."""
        first, last = self.body[0].lineno, self.tree.end_lineno or 0
        head = {n for argument in self.tree.args.args for n in range(argument.lineno, argument.lineno + 1)}
        body = {n for n in range(first, last + 1) if self.lines[n - 1].strip() and not self.whole_line_comment(n)}
        return len(head | body | {self.tree.lineno})

    def whole_line_comment(self, line: int) -> bool:
        return line in self.comments and self.lines[line - 1].lstrip().startswith("#")

    def is_blank(self, line: int) -> bool:
        return 0 < line <= len(self.lines) and not self.lines[line - 1].strip()


def _paragraphs(text: str) -> tuple[str, ...]:
    return tuple(text.strip().splitlines())


def read_function(function: Function) -> Source:
    """The source of what the oracle found; raises `Untranslatable` where it is not plain to see."""
    file = Path(function.file)
    text, tree, comments = _parsed(file)
    for node in ast.walk(tree):
        first = min([n.lineno for n in getattr(node, "decorator_list", ())] + [getattr(node, "lineno", 0)])
        if isinstance(node, ast.FunctionDef) and first == function.line and node.name == function.name:
            return Source(file=file, tree=node, lines=tuple(text.splitlines()), comments=comments)
    raise Untranslatable(f"{function.name} is not a plain function at line {function.line} of {file.name}")


@functools.cache
def _parsed(file: Path) -> tuple[str, ast.Module, dict[int, str]]:
    text = file.read_text(encoding="utf-8")
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    comments = {t.start[0]: t.string.lstrip("#").strip() for t in tokens if t.type == tokenize.COMMENT}
    return text, ast.parse(text), comments
