"""The doors open only with what they need, and take from the environment what they should."""

from __future__ import annotations

import pytest
import structlog
from tests.bot.fakegithub.server import FakeGitHub
from typer.testing import CliRunner

from tileport_bot.__main__ import Writer, app, local_driver
from tileport_bot.doors import github_of, memory_of, plain_log
from tileport_bot.memory import DatabaseMemory, IssueMemory
from tileport_skill.errors import RequestError


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "GITHUB_TOKEN",
        "TILEPORT_APP_ID",
        "TILEPORT_APP_KEY",
        "TILEPORT_WEBHOOK_SECRET",
        "TILEPORT_DATABASE_URL",
    ):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("environment", "more", "said"),
    [
        ({}, ["--engine", "none"], "secret is empty"),
        ({"TILEPORT_WEBHOOK_SECRET": " "}, ["--engine", "none"], "secret is empty"),
        ({"TILEPORT_WEBHOOK_SECRET": "x"}, ["--engine", "none"], "Set GITHUB_TOKEN"),
        ({"TILEPORT_WEBHOOK_SECRET": "x", "GITHUB_TOKEN": "t"}, [], "Give one of --script FOLDER, --live"),
        (
            {"TILEPORT_WEBHOOK_SECRET": "x", "TILEPORT_APP_ID": "1", "TILEPORT_APP_KEY": "no key"},
            ["--engine", "none"],
            "is no private key",
        ),
        (
            {"TILEPORT_WEBHOOK_SECRET": "x", "GITHUB_TOKEN": "t"},
            ["--engine", "none", "--public-url", "tileport.example"],
            "begins with https://",
        ),
    ],
)
def test_the_server_does_not_start_without_what_it_needs(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], more: list[str], said: str
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    result = CliRunner().invoke(app, ["serve", *more])
    assert result.exit_code == 12
    assert said in result.output


def test_an_apps_key_goes_before_a_token(fake: FakeGitHub, monkeypatch: pytest.MonkeyPatch) -> None:
    made, key = fake.add_app("tileport", on="example")
    monkeypatch.setenv("GITHUB_API_URL", fake.address)
    monkeypatch.setenv("GITHUB_TOKEN", "a-token")
    assert github_of("github-actions[bot]").login == "github-actions[bot]"
    assert not github_of("github-actions[bot]").starts_checks
    monkeypatch.setenv("TILEPORT_APP_ID", str(made.id))
    monkeypatch.setenv("TILEPORT_APP_KEY", key)
    assert github_of("github-actions[bot]").login == "tileport[bot]"


def test_the_issue_is_the_memory_where_no_database_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "a-token")
    github = github_of("github-actions[bot]")
    assert isinstance(memory_of(github), IssueMemory)
    monkeypatch.setenv("TILEPORT_DATABASE_URL", "postgresql:///x")
    assert isinstance(memory_of(github), DatabaseMemory)


def test_a_traceback_in_the_log_holds_no_variables(capsys: pytest.CaptureFixture[str]) -> None:
    plain_log()
    try:
        key = "-".join(["a", "secret", "value"])
        raise ZeroDivisionError(len(key))
    except ZeroDivisionError:
        structlog.get_logger().exception("a bug of ours")
    finally:
        structlog.reset_defaults()
    said = capsys.readouterr().out
    assert "ZeroDivisionError" in said
    assert "a-secret-value" not in said


def test_one_and_only_one_writes_the_ports_and_a_draft_may_be_let_declare() -> None:
    assert local_driver(Writer(engine="none", declare=True)).declare
    for none_or_two in (Writer(), Writer(live=True, engine="none")):
        with pytest.raises(RequestError, match="Give one of"):
            local_driver(none_or_two)
