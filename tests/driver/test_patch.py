"""Capturing what an agent left, from trees as hostile as they come, and the policy."""

from __future__ import annotations

import base64
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.driver.ported import kernel_text
from tileport_driver.broker.pieces import pieces_of, remember, remembered
from tileport_driver.checkout import clean_tree, prepare
from tileport_driver.git import open_trusted, resolve_commit
from tileport_driver.patch import apply, capture, mask_secrets, violations
from tileport_driver.records import AgentCheckout, Change, Patch
from tileport_skill.errors import MachineryError

KERNEL = "src/tilegym/ops/cutile_rs/scale_kernel/kernel.rs"


class Attempt:
    """A prepared agent's tree, and capturing it."""

    def __init__(self, target: Path, tmp_path: Path) -> None:
        self.folder = tmp_path
        self.tree = tmp_path / "agent"
        self.record: AgentCheckout = prepare(
            target, resolve_commit(target), "scale", tmp_path / "trusted.git", self.tree
        )

    def write(self, path: str, data: bytes) -> None:
        (self.tree / path).parent.mkdir(parents=True, exist_ok=True)
        (self.tree / path).write_bytes(data)

    def capture(self) -> tuple[Patch, bytes]:
        return capture(self.record, self.folder / "trusted.git", self.tree, self.folder / "aside")

    def rejected(self) -> str:
        patch, _ = self.capture()
        return "\n".join(violations(patch, self.record.allowed))


@pytest.fixture
def attempt(target: Path, tmp_path: Path) -> Attempt:
    return Attempt(target, tmp_path)


def test_a_patch_of_allowed_files_applies_to_the_clean_tree_byte_for_byte(attempt: Attempt) -> None:
    attempt.write(KERNEL, b"line\r\ntrailing   \n\n\xff\xfe no utf-8, no newline")
    attempt.write("src/tilegym/ops/cutile_rs/scale.py", b"x = 1\n")
    patch, diff = attempt.capture()
    assert violations(patch, attempt.record.allowed) == ()
    trusted = clean_tree(attempt.record, attempt.folder / "trusted.git", attempt.folder / "judge")
    apply(trusted, patch, diff)
    assert (attempt.folder / "judge" / KERNEL).read_bytes() == (attempt.tree / KERNEL).read_bytes()
    assert patch.files == ("src/tilegym/ops/cutile_rs/scale.py", KERNEL)


def test_a_diff_that_does_not_say_what_the_agent_did_is_our_failure(attempt: Attempt) -> None:
    attempt.write(KERNEL, b"one\n")
    patch, diff = attempt.capture()
    trusted = clean_tree(attempt.record, attempt.folder / "trusted.git", attempt.folder / "judge")
    with pytest.raises(MachineryError, match="the agent left"):
        apply(trusted, replace(patch, result_tree="0" * 40), diff)


def test_nothing_an_agent_plants_in_its_repository_runs_or_hides_an_edit(attempt: Attempt) -> None:
    canary = attempt.folder / "canary"
    trap = f"touch {canary}"
    git = ["git", "-c", "safe.directory=*", "-C", str(attempt.tree)]
    subprocess.run([*git, "update-index", "--skip-worktree", "tests/ops/test_scale.py"], check=True)
    for key, value in {
        "core.fsmonitor": trap,
        "filter.z.clean": trap,
        "diff.external": trap,
        "core.hooksPath": str(attempt.tree / ".git/hooks"),
        "core.excludesFile": str(attempt.tree / ".git/planted"),
    }.items():
        subprocess.run([*git, "config", key, value], check=True)
    attempt.write(".git/planted", b"*\n")
    attempt.write(".git/hooks/pre-commit", f"#!/bin/sh\n{trap}\n".encode())
    attempt.write(".gitattributes", b"* filter=z diff=z\n*.rs text eol=crlf\n")
    attempt.write("tests/ops/test_scale.py", b"# hidden edit\n")
    attempt.write(KERNEL, b"kept\r\n")
    patch, diff = attempt.capture()
    assert not canary.exists()
    assert set(patch.files) == {".gitattributes", "tests/ops/test_scale.py", KERNEL}
    assert b"# hidden edit" in diff
    assert "not one of the six files" in "\n".join(violations(patch, attempt.record.allowed))


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("src/tilegym/ops/cutile_rs/extra.py", "not one of the six files"),
        ("src/tilegym/ops/cutile_rs/Scale.py", "in case only"),
        (".github/workflows/ci.yml", "not one of the six files"),
        ("sp ace\té\n.txt", "not one of the six files"),
    ],
)
def test_a_path_outside_the_six_is_refused_by_name(attempt: Attempt, path: str, rule: str) -> None:
    attempt.write(path, b"x\n")
    assert rule in attempt.rejected()


def test_a_symbolic_link_is_refused(attempt: Attempt) -> None:
    (attempt.tree / KERNEL).parent.mkdir(parents=True, exist_ok=True)
    (attempt.tree / KERNEL).symlink_to("/etc/passwd")
    assert f"{KERNEL}: symbolic links" in attempt.rejected()


def test_a_nested_repository_is_refused(attempt: Attempt) -> None:
    nested = attempt.tree / "src/tilegym/ops/cutile_rs/scale_kernel"
    nested.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(nested)], check=True)
    (nested / "kernel.rs").write_text("x")
    git = ["git", "-C", str(nested), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-qm", "x"], check=True)
    assert "nested repositories are not allowed" in attempt.rejected()


def test_a_folder_that_became_a_link_is_refused_and_nothing_behind_it_is_read(attempt: Attempt) -> None:
    outside = attempt.folder / "outside"
    outside.mkdir()
    (outside / "kernel.rs").write_text("not the agent's")
    (attempt.tree / KERNEL).parent.symlink_to(outside, target_is_directory=True)
    patch, diff = attempt.capture()
    assert "scale_kernel: symbolic links" in "\n".join(violations(patch, attempt.record.allowed))
    assert b"not the agent's" not in diff


def test_pipes_and_sockets_are_neither_read_nor_taken(attempt: Attempt) -> None:
    attempt.write(KERNEL, b"x\n")
    os.mkfifo(attempt.tree / "src/pipe")
    patch, _ = attempt.capture()
    assert patch.files == (KERNEL,)


@pytest.mark.parametrize("disguise", ["file", "link"])
def test_a_repository_that_lies_elsewhere_is_never_asked(attempt: Attempt, disguise: str) -> None:
    attempt.write(KERNEL, b"x\n")
    elsewhere, dot_git = attempt.folder / "elsewhere", attempt.tree / ".git"
    dot_git.rename(elsewhere)
    canary = attempt.folder / "canary"
    (elsewhere / "config").write_text(f"[core]\n\tfsmonitor = touch {canary}\n")
    if disguise == "file":
        dot_git.write_text(f"gitdir: {elsewhere}\n")
    else:
        dot_git.symlink_to(elsewhere)
    patch, _ = attempt.capture()
    assert patch.files == (KERNEL,)
    assert not canary.exists()


def test_another_name_of_a_file_is_a_file_of_its_own(attempt: Attempt) -> None:
    attempt.write(KERNEL, b"x\n")
    os.link(attempt.tree / KERNEL, attempt.tree / "src/again.rs")
    assert "src/again.rs: not one of the six files" in attempt.rejected()


def test_what_the_agent_shut_away_is_read_all_the_same(attempt: Attempt) -> None:
    attempt.write(KERNEL, b"x\n")
    attempt.write("src/shut/file", b"y\n")
    (attempt.tree / KERNEL).chmod(0o000)
    (attempt.tree / "src/shut").chmod(0o000)
    patch, _ = attempt.capture()
    assert set(patch.files) == {KERNEL, "src/shut/file"}
    assert (attempt.tree / KERNEL).stat().st_mode & 0o777 == 0o400
    assert (attempt.tree / "src/shut").stat().st_mode & 0o777 == 0o700


def test_trailing_blank_lines_and_a_missing_last_line_end_survive(attempt: Attempt) -> None:
    for data in (b"a\n\n\n\n", b"a   \n\t\n", b"no end", b"", b"\r\n\r\n", bytes(range(256))):
        attempt.write(KERNEL, data)
        patch, diff = attempt.capture()
        trusted = clean_tree(attempt.record, attempt.folder / "trusted.git", attempt.folder / "judge")
        apply(trusted, patch, diff)
        assert (attempt.folder / "judge" / KERNEL).read_bytes() == data


KEY = "sk-ant-canary-7Jq0vX3mPz81LtYbWc5d"


@pytest.mark.parametrize(
    "data",
    [
        f'let key = "{KEY}";\n'.encode(),
        b"// " + base64.b64encode(b"x" + KEY.encode() * 4) + b"\n",
        base64.encodebytes(b"ab" + KEY.encode() * 4),
        KEY.encode().hex().encode() + b"\n",
        b"\0\1\2" + KEY.encode() + b"\0",
    ],
    ids=["plain", "base64", "wrapped base64", "hexadecimal", "binary"],
)
def test_a_patch_that_carries_a_secret_is_refused_and_not_shown(attempt: Attempt, data: bytes) -> None:
    attempt.write(KERNEL, data)
    patch, diff = attempt.capture()
    trusted = open_trusted(attempt.folder / "trusted.git", attempt.tree)
    masked, shown = mask_secrets(trusted, patch, diff, (KEY, ""))
    assert "carries a secret" in "\n".join(violations(masked, attempt.record.allowed))
    assert shown != diff
    assert KEY.encode() not in shown
    assert mask_secrets(trusted, patch, diff, ("another-secret-entirely",)) == (patch, diff)


IN_PIECES = {
    "joined again": f'let key = concat!("{KEY[:12]}", "{KEY[12:24]}", "{KEY[24:]}");\n',
    "backwards": f"// {KEY[::-1]}\n",
    "a comment a line": "".join(f"// {KEY[at : at + 5]}\n" for at in range(0, len(KEY), 5)),
    "base64 a comment a line": "".join(
        f"// {base64.b64encode(KEY.encode()).decode()[at : at + 8]}\n" for at in range(0, 48, 8)
    ),
    "hexadecimal a comment a line": "".join(f"// {KEY.encode().hex()[at : at + 8]}\n" for at in range(0, 68, 8)),
    "base64 backwards": f"// {base64.b64encode(KEY.encode()).decode()[::-1]}\n",
    "base64 of it backwards": f"// {base64.b64encode(KEY[::-1].encode()).decode()}\n",
    "its end alone": f'const SEED: &str = "{KEY[-14:]}";\n',
}


@pytest.mark.parametrize("text", IN_PIECES.values(), ids=IN_PIECES)
def test_a_patch_that_carries_a_secret_in_pieces_is_refused_and_not_shown(attempt: Attempt, text: str) -> None:
    attempt.write(KERNEL, text.encode())
    patch, diff = attempt.capture()
    trusted = open_trusted(attempt.folder / "trusted.git", attempt.tree)
    masked, shown = mask_secrets(trusted, patch, diff, (KEY,))
    assert masked.secret
    assert shown.startswith(b"The diff is withheld")


IN_PATHS = {
    "plain": f"notes/{KEY}.txt",
    "in folders": f"notes/{KEY[:11]}/{KEY[11:22]}/{KEY[22:]}.txt",
    "base64": f"notes/{base64.urlsafe_b64encode(KEY.encode()).decode()}",
}


@pytest.mark.parametrize("size", [10, 3_000_000], ids=["small", "too large to look through"])
@pytest.mark.parametrize("path", IN_PATHS.values(), ids=IN_PATHS)
def test_a_secret_in_a_path_is_told_nowhere(attempt: Attempt, path: str, size: int) -> None:
    attempt.write(KERNEL, os.urandom(size))
    attempt.write(path, b"x\n")
    patch, diff = attempt.capture()
    trusted = open_trusted(attempt.folder / "trusted.git", attempt.tree)
    masked, shown = mask_secrets(trusted, patch, diff, (KEY,))
    told = "\n".join((repr(masked), *violations(masked, attempt.record.allowed), shown.decode("latin-1")))
    assert not pieces_of((KEY,)).in_text(told)
    assert "[masked]" in told
    assert masked.secret


def test_a_secret_in_the_path_of_what_git_ignores_is_told_nowhere_and_is_no_part_of_the_patch(attempt: Attempt) -> None:
    attempt.write(KERNEL, b"x\n")
    patch, diff = attempt.capture()
    trusted = open_trusted(attempt.folder / "trusted.git", attempt.tree)
    named = replace(patch, ignored=("lib.so", f"left/{KEY}"))
    masked, shown = mask_secrets(trusted, named, diff, (KEY,))
    assert (masked.ignored, masked.secret, shown) == (("lib.so", "[masked]"), False, diff)


def test_whoever_goes_on_with_another_key_or_none_does_not_make_the_first_forgotten(attempt: Attempt) -> None:
    path = attempt.folder / "pieces.json"
    for secrets in ((KEY,), ("sk-ant-another-Zq8Yh2LmNc74TtRr0pXw",), ("",)):
        remember(path, secrets)
    known = remembered(path)
    assert known is not None
    assert known.in_text(KEY)
    assert known.in_text("sk-ant-another-Zq8Yh2LmNc74TtRr0pXw")
    before = path.read_text()
    remember(path, (KEY,))
    assert path.read_text() == before, "it does not grow with each time"


def test_a_worker_that_never_had_the_key_refuses_it_too(attempt: Attempt) -> None:
    remember(attempt.folder / "pieces.json", (KEY, ""))
    kept = (attempt.folder / "pieces.json").read_text()
    assert KEY not in kept
    known = remembered(attempt.folder / "pieces.json")
    attempt.write(KERNEL, f'let key = "{KEY}";\n'.encode())
    patch, diff = attempt.capture()
    trusted = open_trusted(attempt.folder / "trusted.git", attempt.tree)
    assert mask_secrets(trusted, patch, diff, ("",), known)[0].secret
    assert remembered(attempt.folder / "none.json") is None


def test_an_ordinary_port_is_not_taken_for_one_that_carries_a_secret(attempt: Attempt) -> None:
    attempt.write(KERNEL, kernel_text().encode() * 8)
    patch, diff = attempt.capture()
    trusted = open_trusted(attempt.folder / "trusted.git", attempt.tree)
    assert mask_secrets(trusted, patch, diff, (KEY,), pieces_of(("another" * 9,))) == (patch, diff)


@pytest.mark.soak
def test_a_patch_of_200_mb_is_refused_by_its_size(attempt: Attempt) -> None:
    attempt.write(KERNEL, os.urandom(150_000_000))
    patch, diff = attempt.capture()
    kept = mask_secrets(open_trusted(attempt.folder / "trusted.git", attempt.tree), patch, diff, (KEY,))
    assert "the rule is at most 2,000,000" in "\n".join(violations(kept[0], attempt.record.allowed))
    assert kept[1].startswith(b"The diff is withheld")


def test_an_executable_file_is_refused(attempt: Attempt) -> None:
    attempt.write(KERNEL, b"x\n")
    (attempt.tree / KERNEL).chmod(0o755)
    assert "file mode 100755" in attempt.rejected()


def test_deleting_an_allowed_file_is_refused(attempt: Attempt) -> None:
    (attempt.tree / "tests/ops/test_scale.py").unlink()
    assert "may not delete" in attempt.rejected()


def test_an_empty_patch_is_refused(attempt: Attempt) -> None:
    assert "changed nothing" in attempt.rejected()


def test_a_huge_patch_is_refused_by_its_size(attempt: Attempt) -> None:
    attempt.write(KERNEL, os.urandom(3_000_000))
    assert "the rule is at most 2,000,000" in attempt.rejected()


def test_a_path_that_leaves_the_repository_is_refused() -> None:
    change = Change(path="a/../../etc/passwd", old_mode="000000", new_mode="100644", status="A")
    patch = Patch(base_tree="", result_tree="", changes=(change,), bytes=1, sha256="", ignored=())
    assert violations(patch, ("a/../../etc/passwd",)) == ("a/../../etc/passwd: the path leaves the repository.",)


def test_ignored_files_are_named_and_left_out(attempt: Attempt) -> None:
    attempt.write(KERNEL, b"x\n")
    attempt.write("src/tilegym/ops/cutile_rs/cutile_kernels/target/release/lib.so", b"x")
    patch, _ = attempt.capture()
    assert patch.files == (KERNEL,)
    assert patch.ignored == ("src/tilegym/ops/cutile_rs/cutile_kernels/target/",)


def test_capturing_twice_gives_the_same(attempt: Attempt) -> None:
    attempt.write(KERNEL, b"x\n")
    assert attempt.capture() == attempt.capture()
