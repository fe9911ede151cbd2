"""Is it translated, or only transcribed? Counted, not judged: names kept, lines, `unsafe`."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import ClassVar, Literal

from tileport_skill.draft import rust
from tileport_skill.draft.kernel import Entry
from tileport_skill.draft.naming import snake
from tileport_skill.draft.printer import print_function

NUMBERED = re.compile(r"^[a-z]{1,3}_?\d+$")
"""`v12`, `tmp_3`: names that only count. A name of the source may look so and is no fault."""
NAMES_KEPT, LINES_FACTOR = 0.5, 3.0
Route = Literal["Python source", "Tile IR"]
"""What a kernel was drafted from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One entry beside its Python kernel."""

    kernel: str
    entry: str
    python_lines: int
    """Lines of the kernel that hold code."""
    rust_lines: int
    """Lines of the entry that hold code; the parameters of arrays taken apart count as one line an array."""
    names: int
    names_kept: int
    """Names that a `let`, a loop or a parameter gives, and how many of them stand in the source."""
    numbered: tuple[str, ...]
    unsafe: int
    """`unsafe` in the entry: of itself, and of each access in it."""
    route: Route = "Python source"
    __pydantic_config__: ClassVar = {"extra": "forbid"}

    @property
    def translated(self) -> bool:
        kept = not self.names or self.names_kept / self.names >= NAMES_KEPT
        return kept and not self.numbered and self.rust_lines <= LINES_FACTOR * self.python_lines


def measured(entry: Entry, device: tuple[rust.Function, ...], idioms: tuple[str, ...]) -> Measured:
    text = print_function(entry.entry)
    body = text[text.index(") {") :]
    names = dict.fromkeys(re.findall(r"\blet (?:mut )?(\w+)|\bfor (\w+) in", body))
    parameters = {parameter.split(":")[0] for parameter in entry.entry.parameters}
    given = [first or second for first, second in names if first not in parameters]
    source = {snake(node.id) for node in ast.walk(entry.source.tree) if isinstance(node, ast.Name)}
    source |= {snake(argument.arg) for argument in entry.source.tree.args.args}
    kept = [name for name in given if name in source or name.rstrip("_") in source]
    return Measured(
        kernel=entry.kernel,
        entry=entry.entry.name,
        python_lines=entry.source.statement_lines,
        rust_lines=len(_code(body)) + _parameter_lines(entry.entry),
        names=len(given),
        names_kept=len(kept),
        numbered=tuple(name for name in given if NUMBERED.match(name) and name not in source),
        unsafe=len(re.findall(r"\bunsafe\b", text)),
        route="Python source" if entry.untranslated is None else "Tile IR",
    )


def _code(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip() and not line.strip().startswith("//")]


def _parameter_lines(function: rust.Function) -> int:
    pointers = sum("*mut" in parameter for parameter in function.parameters)
    tensors = sum("&Tensor" in parameter for parameter in function.parameters)
    return 1 + pointers + tensors + len([g for g in function.generics if g.startswith("const")])
