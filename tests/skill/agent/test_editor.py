"""The text editor: what its four commands do, and that no path leads out of the work tree."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tileport_skill.agent.editor import EditError, Editor


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    root.mkdir()
    (tmp_path / "secret").write_text("secret")
    return root


def test_view_numbers_lines_and_takes_a_range(root: Path) -> None:
    (root / "a.rs").write_text("one\ntwo\nthree\n")
    editor = Editor(root)
    assert editor.view("a.rs") == "     1\tone\n     2\ttwo\n     3\tthree"
    assert editor.view(str(root / "a.rs"), (2, -1)) == "     2\ttwo\n     3\tthree"
    with pytest.raises(EditError, match="view_range"):
        editor.view("a.rs", (3, 9))


def test_view_of_a_folder_goes_two_levels_deep_and_leaves_hidden_names_out(root: Path) -> None:
    (root / "a" / "b" / "c").mkdir(parents=True)
    (root / "a" / "b" / "deep.rs").write_text("")
    (root / ".git").mkdir()
    assert Editor(root).view(".") == "a/\na/b/"


def test_create_makes_folders_and_replaces(root: Path) -> None:
    editor = Editor(root)
    assert editor.create("x/y.rs", "a") == "Created x/y.rs."
    assert editor.create("x/y.rs", "b") == "Replaced x/y.rs."
    assert (root / "x" / "y.rs").read_text() == "b"


def test_str_replace_changes_the_one_place_and_keeps_line_endings(root: Path) -> None:
    (root / "a.rs").write_bytes(b"one\r\ntwo\r\n")
    assert "2\tTWO" in Editor(root).str_replace("a.rs", "two", "TWO")
    assert (root / "a.rs").read_bytes() == b"one\r\nTWO\r\n"


@pytest.mark.parametrize(
    ("old", "says"), [("no", "does not occur"), ("a", "occurs 2 times in f, at lines 1, 3"), ("", "empty")]
)
def test_str_replace_refuses_what_is_not_one_place(root: Path, old: str, says: str) -> None:
    (root / "f").write_text("a\nb\na\n")
    with pytest.raises(EditError, match=says):
        Editor(root).str_replace("f", old, "z")
    assert (root / "f").read_text() == "a\nb\na\n"


@pytest.mark.parametrize(("line", "after"), [(0, "new\n1\n2"), (1, "1\nnew\n2"), (2, "1\n2\nnew\n")])
def test_insert_puts_text_after_a_line(root: Path, line: int, after: str) -> None:
    (root / "f").write_text("1\n2")
    Editor(root).insert("f", line, "new")
    assert (root / "f").read_text() == after
    with pytest.raises(EditError, match="insert_line 9"):
        Editor(root).insert("f", 9, "new")


@pytest.mark.parametrize("path", ["../secret", "/etc/passwd", "link", "dir/../../secret", "folder/secret", "loop"])
def test_no_path_leads_out_of_the_work_tree(root: Path, path: str) -> None:
    (root / "link").symlink_to("../secret")
    (root / "folder").symlink_to("..")
    (root / "loop").symlink_to("loop")
    editor = Editor(root)
    for act in (
        lambda: editor.view(path),
        lambda: editor.create(path, "x"),
        lambda: editor.str_replace(path, "s", "x"),
    ):
        with pytest.raises(EditError, match=r"outside the work tree|cannot be resolved"):
            act()
    assert (root.parent / "secret").read_text() == "secret"


def test_what_is_no_text_file_is_refused(root: Path) -> None:
    os.mkfifo(root / "pipe")
    (root / "binary").write_bytes(b"\xff\xfe")
    (root / "big").write_bytes(b"a" * 8_000_001)
    editor = Editor(root)
    for path, says in (
        ("pipe", "not a regular file"),
        ("binary", "not UTF-8"),
        ("big", "too many"),
        ("none", "No such"),
    ):
        with pytest.raises(EditError, match=says):
            editor.view(path)
    with pytest.raises(EditError, match="not a regular file"):
        editor.create("pipe", "x")
    with pytest.raises(EditError, match="is a folder"):
        editor.create(".", "x")


def test_a_long_file_is_shown_up_to_the_cap(root: Path) -> None:
    (root / "long").write_text("word\n" * 100_000)
    shown = Editor(root, cap=1000).view("long")
    assert len(shown) < 1100
    assert "left out" in shown
