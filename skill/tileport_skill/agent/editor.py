"""The model's text editor tool: view, create, str_replace and insert, on text files inside the work tree
only."""

from __future__ import annotations

import os
import stat
from pathlib import Path

_MAX_FILE = 8_000_000
_MAX_ENTRIES = 1_000


class EditError(Exception):
    """An edit that was not made; the text goes to the model."""


class Editor:
    """Every path is resolved, links included, before it is compared with the root: a link that leads out is
    out."""

    def __init__(self, root: Path, *, cap: int = 60_000) -> None:
        self._root = root.resolve()
        self._cap = cap

    def view(self, path: str, lines: tuple[int, int] | None = None) -> str:
        """A file with line numbers, or a folder's entries two levels deep. `lines` counts from 1; -1 is the
        end."""
        target = self._inside(path)
        if target.is_dir():
            if lines is not None:
                raise EditError("view_range is for files; this is a folder.")
            return self._listing(target)
        content = self._read(target).splitlines()
        first, last = lines if lines is not None else (1, -1)
        last = len(content) if last == -1 else last
        if lines is not None and not 1 <= first <= last <= len(content):
            raise EditError(f"view_range {list(lines)} does not lie within the file's {len(content)} lines.")
        text = "\n".join(f"{n:6d}\t{line}" for n, line in enumerate(content[first - 1 : last], first))
        if len(text) > self._cap:
            text = text[: self._cap] + "\n[... the rest is left out; view it in parts with view_range ...]"
        return text or "(the file is empty)"

    def create(self, path: str, text: str) -> str:
        target = self._inside(path)
        if target.is_dir():
            raise EditError(f"{path} is a folder.")
        existed = target.exists()
        if existed and not stat.S_ISREG(target.stat().st_mode):
            raise EditError(f"{path} is not a regular file.")
        self._write(target, text)
        return f"{'Replaced' if existed else 'Created'} {path}."

    def str_replace(self, path: str, old: str, new: str) -> str:
        target = self._inside(path)
        content = self._read(target)
        if not old:
            raise EditError("old_str is empty; use insert.")
        count = content.count(old)
        if count == 0:
            raise EditError(f"old_str does not occur in {path}; it must match exactly, spaces included.")
        if count > 1:
            starts = [n for n in range(len(content)) if content.startswith(old, n)]
            where = ", ".join(str(content.count("\n", 0, n) + 1) for n in starts[:20])
            raise EditError(f"old_str occurs {count} times in {path}, at lines {where}; make it unique.")
        start = content.index(old)
        self._write(target, content.replace(old, new))
        return f"Edited {path}:\n" + _around(content.replace(old, new), content.count("\n", 0, start), new)

    def insert(self, path: str, line: int, text: str) -> str:
        """Puts `text` after line `line`; 0 is the beginning."""
        target = self._inside(path)
        content = self._read(target).splitlines(keepends=True)
        if not 0 <= line <= len(content):
            raise EditError(f"insert_line {line} does not lie within 0 and the file's {len(content)} lines.")
        if line and not content[line - 1].endswith("\n"):
            content[line - 1] += "\n"
        added = text if text.endswith("\n") else text + "\n"
        after = "".join([*content[:line], added, *content[line:]])
        self._write(target, after)
        return f"Edited {path}:\n" + _around(after, line, added)

    def _inside(self, path: str) -> Path:
        if "\0" in path:
            raise EditError("The path holds a NUL character.")
        try:
            resolved = (self._root / path).resolve()
        except (OSError, RuntimeError) as error:
            raise EditError(f"{path} cannot be resolved: {error}") from error
        if resolved != self._root and self._root not in resolved.parents:
            raise EditError(f"{path} lies outside the work tree {self._root}; only files inside it can be edited.")
        return resolved

    def _read(self, target: Path) -> str:
        try:
            # Looked at before it is opened: opening a pipe would wait for its other end.
            about = target.stat()
            if not stat.S_ISREG(about.st_mode):
                raise EditError(f"{target} is not a regular file.")
            if about.st_size > _MAX_FILE:
                raise EditError(f"{target} has {about.st_size} bytes, too many for the editor; use bash.")
            # newline="" keeps every line ending as it is, so an edit changes what it says and nothing else.
            with target.open(encoding="utf-8", newline="") as handle:
                return handle.read()
        except UnicodeDecodeError as error:
            raise EditError(f"{target} is not UTF-8 text: {error}") from error
        except OSError as error:
            raise EditError(f"{target}: {error.strerror}") from error

    def _write(self, target: Path, text: str) -> None:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("w", encoding="utf-8", newline="") as handle:
                handle.write(text)
        except UnicodeEncodeError as error:
            raise EditError(f"The text is not valid Unicode: {error.reason}.") from error
        except OSError as error:
            raise EditError(f"{target}: {error.strerror}") from error

    def _listing(self, folder: Path) -> str:
        found = []
        for where, folders, files in os.walk(folder):
            depth = len(Path(where).relative_to(folder).parts)
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            entries = [f"{name}/" for name in folders] + [name for name in files if not name.startswith(".")]
            inside = "" if where == str(self._root) else f"{os.path.relpath(where, self._root)}/"
            found += [inside + name for name in sorted(entries)]
            if depth >= 1:
                folders.clear()
            if len(found) > _MAX_ENTRIES:
                return "\n".join([*found[:_MAX_ENTRIES], "[... more left out ...]"])
        return "\n".join(found) or "(the folder is empty)"


def _around(content: str, line: int, changed: str) -> str:
    """The changed lines with four lines on either side, numbered."""
    lines = content.splitlines()
    first, last = max(0, line - 4), min(len(lines), line + changed.count("\n") + 5)
    shown = [f"{n:6d}\t{text}" for n, text in enumerate(lines[first:last], first + 1)]
    return "\n".join(shown[:60])
