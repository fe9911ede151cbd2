"""The persistent shell: what stays, what is capped, what is stopped, and that nothing can take its line away."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tileport_skill.agent.shell import Shell


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    shell = Shell(tmp_path, environment={"PATH": os.environ["PATH"]}, cap=2000)
    yield shell
    shell.restart()


def test_folder_variables_and_functions_stay_between_commands(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    assert shell.run("cd inner; word=kept; say() { echo $word in ${PWD##*/}; }", seconds=20).status == 0
    assert shell.run("say", seconds=20).output == "kept in inner\n"


@pytest.mark.parametrize(
    ("command", "output", "status"),
    [
        ("echo out; echo err >&2; (exit 3)", "out\nerr\n", 3),
        ("printf 'no newline'", "no newline", 0),
        ("cat", "", 0),
        ("read -r line; echo got:$line", "got:\n", 0),
        ("echo 'quo'\\''te' \"$((1+1))\"; cat <<'X'\n$raw\nX", "quo'te 2\n$raw\n", 0),
        ("true", "", 0),
        ("printf 'a\\xffb\\n'", "a\N{REPLACEMENT CHARACTER}b\n", 0),
    ],
)
def test_output_and_status_are_the_commands_own(shell: Shell, command: str, output: str, status: int) -> None:
    ran = shell.run(command, seconds=20)
    assert (ran.output, ran.status, ran.note) == (output, status, "")


def test_half_a_command_is_an_error_and_the_shell_goes_on(shell: Shell) -> None:
    ran = shell.run("if true; then (", seconds=20)
    assert ran.status not in (0, None)
    assert "syntax error" in ran.output
    assert shell.run("echo on", seconds=20).output == "on\n"


def test_a_long_output_keeps_its_beginning_and_its_end(shell: Shell) -> None:
    ran = shell.run("echo first; head -c 100000000 /dev/zero | tr '\\0' x; echo; echo last", seconds=60)
    assert ran.status == 0
    assert ran.output.startswith("first\n")
    assert ran.output.endswith("last\n")
    assert "bytes left out" in ran.output
    assert len(ran.output) < 2200


def test_a_command_over_its_time_is_stopped_with_its_children(shell: Shell, tmp_path: Path) -> None:
    ran = shell.run("echo before; (sleep 60; touch late) & echo $! > child; sleep 60", seconds=5)
    assert (ran.output, ran.status) == ("before\n", None)
    assert "stopped after 5 s" in ran.note
    child = int((tmp_path / "child").read_text())
    deadline = time.monotonic() + 30  # it was killed with its group, and dies once it has a processor to do it on
    while _lives(child):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert shell.run("echo fresh", seconds=20).output == "fresh\n"


def _lives(pid: int) -> bool:
    """Neither gone nor a zombie that nobody has collected yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_command_that_ends_the_shell_is_told_and_the_next_gets_a_fresh_one(shell: Shell) -> None:
    ran = shell.run("echo bye; exit 7", seconds=20)
    assert (ran.output, ran.status) == ("bye\n", None)
    assert "ended with status 7" in ran.note
    assert shell.run("echo fresh", seconds=20).output == "fresh\n"


def test_a_background_job_that_holds_the_output_does_not_hold_the_shell(shell: Shell) -> None:
    assert shell.run("sleep 60 & echo started", seconds=20).output == "started\n"
    ran = shell.run("exit 1", seconds=20)
    assert "ended with status 1" in ran.note


def test_an_output_that_cannot_be_read_is_a_time_out(shell: Shell) -> None:
    assert shell.run("exec >/dev/null", seconds=1).status is None
    assert shell.run("echo back", seconds=20).output == "back\n"
