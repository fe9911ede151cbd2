"""The live adapter's side of code, on the stand-in for GitHub: a draft leaves its draft by whoever may say so."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.bot.code_room import NAME, CodeRoom
from tests.bot.fakegithub.server import FakeGitHub

from tileport_bot.github import NewPullRequest, PullRequest, Refusal
from tileport_bot.live_github import LiveGitHub


@pytest.fixture
def room(fake: FakeGitHub, tmp_path: Path) -> CodeRoom:
    return CodeRoom(fake, tmp_path)


@pytest.fixture
def draft(room: CodeRoom) -> PullRequest:
    room.fake.push_files(room.repository, "port/x", {"port.rs": "x"}, base="main")
    new = NewPullRequest(branch="port/x", base="main", title="Port x", body="b", draft=True)
    return room.host.create_pull_request(NAME, new)


def test_a_draft_is_made_ready_however_often_it_is_asked(room: CodeRoom, draft: PullRequest) -> None:
    there = room.host.pull_head(NAME, draft.number)
    sha = room.fake.head(room.repository, "port/x")
    assert (there.branch, there.head, there.link, there.draft) == ("port/x", sha, draft.link, True)
    for _ in range(2):
        room.host.mark_ready(NAME, draft.number)
    assert not room.host.pull_head(NAME, draft.number).draft


def test_who_may_not_write_pull_requests_makes_none_ready(room: CodeRoom, draft: PullRequest) -> None:
    token, address = room.fake.workflow_token(pull_requests="read"), room.fake.address
    reading = LiveGitHub(token, api=address, server=address)
    with pytest.raises(Refusal, match="not accessible"):
        reading.mark_ready(NAME, draft.number)
    assert reading.pull_head(NAME, draft.number).draft
