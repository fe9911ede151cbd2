"""What a port's patch may not do, read without running it: pure, one sentence a rule, with path and line.

What the port's own three files may not reach is said by the skill's lint; what the three edits may add is said here.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from tileport_driver.hide_lines import library_lines, registration_lines, test_lines
from tileport_skill.errors import MachineryError
from tileport_skill.lint.rules.reach import python_reaches, rust_reaches
from tileport_skill.tilegym.licence import missing_lines
from tileport_skill.tilegym.port_files import PortFiles


def broken_rules(
    files: PortFiles, reference: str, base: Callable[[str], str | None], port: Callable[[str], str | None]
) -> list[str]:
    """Every broken rule of a port, in its files' order. `base` and `port` give a path's text before and after."""
    found = [f"{files.wrapper}:{line}: {rule}" for line, rule in python_reaches(port(files.wrapper) or "")]
    for path in (files.kernel, files.launcher):
        found += [f"{path}:{line}: {rule}" for line, rule in rust_reaches(port(path) or "")]
    for path in files.new:
        found += [f"{path}:1: it lacks `{line}`." for line in missing_lines(reference, port(path) or "")[:1]]
    edits = (
        (files.library, library_lines, "only the port's own `mod` block may be added"),
        (files.registration, registration_lines, "only the port's own import may be added"),
        (files.test, test_lines, "only the port's backend may be added, as `if is_backend_available(...)` does"),
    )
    name = files.wrapper.rsplit("/", 1)[1].removesuffix(".py")
    for path, lines_of, rule in edits:
        before, after = base(path), port(path)
        if before is not None and after is not None and not _only_added(before, after, name, path, lines_of):
            found.append(f"{path}: {rule}; other lines differ from the base.")
    return found


def _only_added(before: str, after: str, name: str, path: str, lines_of: Callable[[str, str, str], set[int]]) -> bool:
    """Whether taking out what belongs to the port gives back the base, blank lines and comments aside."""
    try:
        drop = lines_of(after, name, path)
    except (MachineryError, SyntaxError):
        return False
    left = "\n".join(line for number, line in enumerate(after.splitlines(), 1) if number not in drop)
    return _essence(left, path) == _essence(before, path)


def _essence(text: str, path: str) -> object:
    if path.endswith(".py"):
        try:
            return ast.dump(ast.parse(text))
        except SyntaxError:
            return text
    return [line.strip() for line in text.splitlines() if line.strip()]
