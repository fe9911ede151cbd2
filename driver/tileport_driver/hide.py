"""What must go from the agent's tree: the operator's existing port, computed from the checkout itself.

Pure but for reading: `plan_hiding` says what goes, `apply_hiding` takes it out. Leaving a trace is an error of
ours, not of the agent: a test file that still mentions the backend afterwards stops the attempt, and so does
whatever the leak scan (`leaks/`) finds.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Literal

from tileport_driver.hide_lines import emptied, library_lines, registration_lines, test_lines
from tileport_driver.hide_passages import SUFFIXES, Names, about_backend, comment_lines, passage_lines
from tileport_driver.leaks.fingerprints import Fingerprints, digests, fingerprints, shared, without_comments, words_of
from tileport_driver.records import Hidden
from tileport_skill.errors import MachineryError
from tileport_skill.tilegym.operators import Checkout, Operator
from tileport_skill.tilegym.port_files import port_files

_LineFinder = Callable[[str, str, str], set[int]]
"""(text, operator, path) -> the numbers of the lines that go, from 1."""
_PRODUCT = re.compile(
    r"\.(so|pyc|pyo|cubin|rlib|rmeta|whl|egg)$|(^|/)(Cargo\.lock|\.build\.lock)$|(^|/)(__pycache__|\.pytest_cache)/"
    r"|cutile_kernels/target/|(^|/)tilegym-[^/]*\.(tar\.gz|zip)$"
)
_LARGEST_DOCUMENT = 4_000_000


@dataclass(frozen=True, slots=True)
class Edit:
    """One file's new text (`None`: the file goes), and the record of why."""

    hidden: Hidden
    text: str | None


def plan_hiding(checkout: Checkout, operator: Operator, also: tuple[Operator, ...] = ()) -> tuple[Edit, ...]:
    """Every removal that hides the port of `operator`, and of the near twins `also`, sorted by path."""
    return _Plan(checkout).of((operator, *also))


def apply_hiding(root: Path, edits: tuple[Edit, ...]) -> tuple[Hidden, ...]:
    """Takes everything planned out of the tree at `root`, and empty folders with it."""
    for edit in edits:
        path = root / edit.hidden.path
        if edit.text is None:
            path.unlink()
            _remove_empty_parents(path.parent, root)
        else:
            path.write_bytes(edit.text.encode("utf-8", errors="surrogateescape"))
    return tuple(edit.hidden for edit in edits)


def port_prints(checkout: Checkout, operator: Operator, edits: tuple[Edit, ...]) -> Fingerprints:
    """Fingerprints of what the plan takes out, to be made before it is applied.

    What the other ports, what they share, the reference and its tests have of their own is nobody's secret.
    """
    gone = {edit.hidden.path for edit in edits if edit.text is None}
    removed = {path: (checkout.root / path).read_bytes() for path in sorted(gone)}
    sources = {path: text for path, text in removed.items() if not _PRODUCT.search(path)}
    paths = tuple(_files(checkout.root))
    public = _public_names(checkout, paths, gone) if sources else frozenset()
    prints = fingerprints(operator.name, sources, _known(checkout, operator, paths, gone), public)
    return replace(prints, digests=prints.digests | digests(removed.values()))


class _Plan:
    """One tree's plan as it grows: whole files by path, and lines by path, each with the first reason found."""

    def __init__(self, checkout: Checkout) -> None:
        self.checkout = checkout
        self.files: dict[str, Hidden] = {}
        self.lines: dict[str, dict[int, str]] = {}
        self.paths = tuple(_files(checkout.root))

    def of(self, operators: tuple[Operator, ...]) -> tuple[Edit, ...]:
        for operator in operators:
            self._port(operator)
        for path in self.paths:
            if _PRODUCT.search(path) and path not in self.files:
                self._file(path, "embeds or describes compiled ports", "build product")
        for operator in operators:
            self._documents(operator)
        edits = [Edit(hidden, None) for hidden in self.files.values()]
        edits += [self._edit(path, drop) for path, drop in self.lines.items() if path not in self.files]
        return tuple(sorted(edits, key=lambda edit: edit.hidden.path))

    def _port(self, operator: Operator) -> None:
        files = port_files(self.checkout, operator)
        for path in self.paths:
            why = _why_whole(path, operator, files.new)
            if why is not None:
                self._file(path, why)
        finders: list[tuple[str, str, _LineFinder]] = [
            (files.library, "the library's module of the port", library_lines),
            (files.registration, "the port's registration", registration_lines),
        ]
        finders += [(path, "the port's test parameters and skips", test_lines) for path in operator.tests]
        finders += [(path, "the port's benchmark parameters", test_lines) for path in operator.benchmarks]
        for path, why, finder in finders:
            text = self._text(path)
            if text is not None:
                self._drop(path, why, finder(text, operator.name, path))

    def _documents(self, operator: Operator) -> None:
        """Passages by name, and whatever of other documents repeats the text of the files that go."""
        names = Names.of(operator.name, *operator.aliases)
        prints = self._prints(operator)
        six = set(port_files(self.checkout, operator).edited)
        for path in self.paths:
            if path in self.files or path in six:
                continue
            text = self._text(path) if PurePosixPath(path).suffix in SUFFIXES or about_backend(path) else None
            if text is None:
                continue
            if path.endswith(SUFFIXES):
                drop = passage_lines(text, path, names, lambda passage: shared(_bytes(passage), prints) > 0)
                self._drop(path, "a passage about the port", drop)
            else:
                self._drop(path, "a comment about the port", comment_lines(text, path, names))

    def _prints(self, operator: Operator) -> Fingerprints:
        gone = {path for path in self.files if not _PRODUCT.search(path)}
        removed = {path: (self.checkout.root / path).read_bytes() for path in sorted(gone)}
        return fingerprints(operator.name, removed, _known(self.checkout, operator, self.paths, set(self.files)))

    def _file(self, path: str, why: str, what: Literal["file", "build product"] = "file") -> None:
        self.files[path] = Hidden(path=path, what=what, why=why)

    def _drop(self, path: str, why: str, numbers: set[int]) -> None:
        reasons = self.lines.setdefault(path, {}) if numbers else {}
        for number in numbers:
            reasons.setdefault(number, why)

    def _text(self, path: str) -> str | None:
        file = self.checkout.root / path
        if path in self.files or not file.is_file() or file.stat().st_size > _LARGEST_DOCUMENT:
            return None
        return file.read_bytes().decode("utf-8", errors="surrogateescape")

    def _edit(self, path: str, drop: dict[int, str]) -> Edit:
        text = self._text(path) or ""
        lines = text.splitlines(keepends=True)
        instead = emptied(text, set(drop), path) if path.endswith(".py") else {}
        kept = "".join(
            f"{instead[number]}\n" if number in instead else line
            for number, line in enumerate(lines, 1)
            if number not in drop or number in instead
        )
        removed = tuple(_printable(lines[number - 1].rstrip("\r\n")) for number in sorted(drop))
        if path.endswith(".py"):
            _must_parse(kept, path)
        why = "; ".join(dict.fromkeys(drop[number] for number in sorted(drop)))
        return Edit(Hidden(path=path, what="lines", why=why, removed=removed), kept)


def _why_whole(path: str, operator: Operator, new: tuple[str, ...]) -> str | None:
    """Why a whole file goes: one of the port's own, something kept beside them, a copy of them, a worked example."""
    if path in new:
        return "the existing port"
    parts = PurePosixPath(path).parts
    own_folder = f"{operator.name}_kernel"
    if "cutile_rs" in parts and (own_folder in parts or parts[-2:] == ("cutile_rs", f"{operator.name}.py")):
        return "kept with the port" if path.startswith(new[0].rpartition("/")[0]) else "a copy of the port"
    if about_backend("/".join(parts[:-1])) and operator.name in parts[:-1]:
        return "a worked example of the port"
    return None


def _known(checkout: Checkout, operator: Operator, paths: tuple[str, ...], gone: set[str]) -> dict[str, bytes]:
    """Texts that stay and are meant to: reference, its tests and benchmarks, and every other source of the backend."""
    known = {operator.reference, *operator.tests, *operator.benchmarks}
    for path in paths:
        if path.endswith((".rs", ".py")) and about_backend(path):
            known.add(path)
    return {path: (checkout.root / path).read_bytes() for path in sorted(known - gone)}


def _public_names(checkout: Checkout, paths: tuple[str, ...], gone: set[str]) -> frozenset[bytes]:
    """Words that code of any kind uses: another backend may call its kernel as the port does."""
    sources = [path for path in paths if path.endswith((".py", ".rs", ".cuh", ".cu", ".h", ".jl")) and path not in gone]
    code = (without_comments(path, (checkout.root / path).read_bytes()) for path in sources)
    return frozenset(word for text in code for word in words_of(text))


def _files(root: Path) -> Iterator[str]:
    """Plain files below `root`, sorted, without git's own."""
    for path in sorted(root.rglob("*")):
        relative = path.relative_to(root)
        if relative.parts[0] != ".git" and path.is_file() and not path.is_symlink():
            yield relative.as_posix()


def _must_parse(text: str, path: str) -> None:
    try:
        ast.parse(text)
    except SyntaxError as error:
        raise MachineryError(
            f"{path}:{error.lineno} would not parse with the port's lines taken out; hide it by hand in a commit "
            "and give that commit with --base."
        ) from error


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", errors="surrogateescape")


def _printable(line: str) -> str:
    """Records are UTF-8, whatever the file was."""
    return line.encode("utf-8", errors="surrogateescape").decode("utf-8", errors="replace")


def _remove_empty_parents(folder: Path, root: Path) -> None:
    while folder != root and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent
