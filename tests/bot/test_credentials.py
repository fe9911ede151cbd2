"""Tokens: an App's, made when needed; one that is dead."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.bot.fakegithub.server import FakeGitHub
from tests.bot.fakegithub.state import Repository
from tests.bot.test_live_github_stateful import REPOSITORY, our_commit

from tileport_bot.credentials import AppCredentials
from tileport_bot.live_github import LiveGitHub
from tileport_skill.errors import MachineryError, RequestError


@pytest.fixture
def repository(fake: FakeGitHub) -> Repository:
    return fake.add_repository(REPOSITORY)


def test_an_apps_token_is_made_when_needed_and_again_when_it_is_over(
    fake: FakeGitHub, repository: Repository, tmp_path: Path
) -> None:
    app, key = fake.add_app("tileport", on="example")
    live = LiveGitHub(AppCredentials(str(app.id), key, api=fake.address, pace=0), server=fake.address)
    issue = fake.open_issue(repository, "bob", "Port it")
    assert live.login == "tileport[bot]"
    id = live.create_comment(REPOSITORY, issue.number, "in time")
    checkout = fake.clone(repository, tmp_path / "clone")
    fake.world.advance(6 * 3600)
    live.push_branch(REPOSITORY, checkout, "port/x", our_commit(checkout, "port.rs"))
    fake.world.advance(3660)
    live.edit_comment(REPOSITORY, id, "six hours later")
    assert [comment.body for comment in live.own_comments(REPOSITORY, issue.number)] == ["six hours later"]
    assert live.starts_checks


def test_what_is_no_key_is_refused_before_anything_is_asked() -> None:
    with pytest.raises(RequestError, match="is no private key"):
        AppCredentials("1", "not a key")


def test_a_dead_token_is_a_failure_that_says_so(fake: FakeGitHub, repository: Repository) -> None:
    token = fake.token("tileport[bot]", permissions={"issues": "write"}, seconds=3600)
    live = LiveGitHub(token, login="tileport[bot]", api=fake.address, server=fake.address, pace=0)
    issue = fake.open_issue(repository, "bob", "Port it")
    live.create_comment(REPOSITORY, issue.number, "in time")
    fake.world.advance(3601)
    with pytest.raises(MachineryError, match="401 to create_comment: Bad credentials"):
        live.create_comment(REPOSITORY, issue.number, "too late")
