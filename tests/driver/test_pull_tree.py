"""A pull request is data: what it may hold is decided from git's listing, before a file of it is written."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tileport_driver import pull_tree
from tileport_driver.pull_tree import changed_paths, open_pull
from tileport_skill.errors import RequestError


class Repository:
    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()
        self.git("init", "-q", "-b", "main")
        self.base = self.commit({"a.py": "a\n", "old.rs": "fn a() {}\n"})

    def git(self, *words: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(self.path), "-c", "user.name=t", "-c", "user.email=t@example.org", *words],
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()

    def commit(self, files: dict[str, str | None]) -> str:
        for name, text in files.items():
            path = self.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text) if text is not None else path.unlink()
        self.git("add", "-A")
        self.git("commit", "-qm", "x")
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repository")


def test_what_the_pull_request_changes_is_told_from_where_it_began(repository: Repository) -> None:
    repository.git("checkout", "-qb", "idea")
    head = repository.commit({"old.rs": None, "nëw file\n.rs": "fn a() {}\n"})
    repository.git("checkout", "-q", "main")
    main = repository.commit({"a.py": "meanwhile\n"})
    assert sorted(changed_paths(repository.path, main, head)) == ["nëw file\n.rs", "old.rs"]


def test_the_tree_holds_the_heads_files_as_they_are_stored(repository: Repository, tmp_path: Path) -> None:
    head = repository.commit({"b.rs": "a\nb\n", ".gitattributes": "*.rs text eol=crlf filter=evil\n"})
    repository.git("config", "filter.evil.smudge", f"touch {tmp_path}/ran")
    tree = open_pull(repository.path, repository.base, head, tmp_path / "tree")
    assert (tree.path / "b.rs").read_bytes() == b"a\nb\n"
    assert not (tmp_path / "ran").exists()
    assert (
        subprocess.run(["git", "-C", tree.path, "rev-parse", "HEAD"], capture_output=True).stdout.decode().strip()
        == head
    )


def test_a_link_is_refused_before_anything_is_written(repository: Repository, tmp_path: Path) -> None:
    (repository.path / "link").symlink_to("/etc/passwd")
    head = repository.commit({})
    with pytest.raises(RequestError, match="'link' is a symbolic link"):
        open_pull(repository.path, repository.base, head, tmp_path / "tree")
    assert not (tmp_path / "tree").exists()


def test_a_link_that_was_there_before_is_no_ones_trick(repository: Repository) -> None:
    (repository.path / "link").symlink_to("a.py")
    base = repository.commit({})
    assert changed_paths(repository.path, base, repository.commit({"c": "c"})) == ("c",)


def test_a_nested_repository_is_refused(repository: Repository) -> None:
    Repository(repository.path / "inner")
    repository.git("add", "-A")
    repository.git("commit", "-qm", "x")
    with pytest.raises(RequestError, match="'inner' is a nested repository"):
        changed_paths(repository.path, repository.base, repository.git("rev-parse", "HEAD"))


@pytest.mark.parametrize(("limit", "value", "said"), [("MAX_FILES", 1, "2 files"), ("MAX_BYTES", 3, "4 bytes")])
def test_what_is_too_big_is_refused(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, limit: str, value: int, said: str
) -> None:
    monkeypatch.setattr(pull_tree, limit, value)
    head = repository.commit({"x": "x\n", "y": "y\n"})
    with pytest.raises(RequestError, match=said):
        changed_paths(repository.path, repository.base, head)


def test_without_a_common_history_everything_that_differs_counts(repository: Repository) -> None:
    repository.git("checkout", "-q", "--orphan", "other")
    head = repository.commit({"z": "z"})
    assert changed_paths(repository.path, repository.base, head) == ("z",)
    assert os.path.exists(repository.path / "a.py")  # noqa: PTH110
