"""GitHub's JSON becomes typed events, and nothing in it can make the bot stumble."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tileport_bot.events import Commented, Dispatched, Event, Ignored, Labeled, Unlabeled, read_event
from tileport_skill.errors import RequestError

EVENTS = Path(__file__).parents[1] / "data" / "events"


def read(name: str, **changes: Any) -> Event:
    document = json.loads((EVENTS / f"{name}.json").read_text(encoding="utf-8"))
    return read_event(name.partition(".")[0], {**document, **changes})


def test_a_label_is_read_with_who_set_it_and_where() -> None:
    event = read("issues.labeled")
    assert isinstance(event, Labeled)
    assert event.label == "port: silu_and_mul"
    place = event.place
    assert (place.repository, place.issue, place.sender, place.sender_is_bot) == (
        "example/TileGym",
        12,
        "alice",
        False,
    )


def test_the_label_of_the_event_counts_and_not_the_others_of_the_issue() -> None:
    event = read("issues.labeled.other-label")
    assert isinstance(event, Labeled)
    assert event.label == "bug"


def test_a_label_taken_off_is_its_own_event() -> None:
    event = read("issues.unlabeled")
    assert isinstance(event, Unlabeled)
    assert event.label == "port: silu_and_mul"


def test_a_comment_is_read_with_its_number_and_words() -> None:
    event = read("issue_comment.created")
    assert isinstance(event, Commented)
    assert (event.comment, event.body) == (4001, "Let's have it.\n\n/port silu-and-mul\n")


def test_the_same_act_has_the_same_trigger_and_another_act_another() -> None:
    first, again, off = read("issues.labeled"), read("issues.labeled"), read("issues.unlabeled")
    assert isinstance(first, Labeled)
    assert isinstance(again, Labeled)
    assert isinstance(off, Unlabeled)
    assert first.place.trigger == again.place.trigger != off.place.trigger


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("issues.labeled.label-deleted", "deleted"),
        ("issues.transferred", "transferred"),
        ("issues.opened", "nothing is done on issues (opened)"),
        ("issue_comment.edited", "edited comment"),
    ],
)
def test_what_asks_nothing_is_ignored_with_a_reason(name: str, why: str) -> None:
    event = read(name)
    assert isinstance(event, Ignored)
    assert why in event.why


def test_an_event_that_github_may_invent_is_ignored() -> None:
    assert read_event("star", {"action": "created"}) == Ignored(why="nothing is done on star (created)")
    assert read_event("ping", {}) == Ignored(why="nothing is done on ping")


def test_an_issue_without_a_body_and_a_comment_without_words_are_read() -> None:
    assert isinstance(read("issues.labeled.null-body"), Labeled)
    event = read("issue_comment.created", comment={"id": 1, "body": None})
    assert isinstance(event, Commented)
    assert event.body == ""


def test_bots_are_known_by_type_and_by_name() -> None:
    for sender in ({"login": "helpful", "type": "Bot"}, {"login": "evil[bot]", "type": "User"}):
        event = read("issues.labeled", sender=sender)
        assert isinstance(event, Labeled)
        assert event.place.sender_is_bot


def test_a_workflow_started_by_hand_is_read_with_what_was_typed() -> None:
    labelled = json.loads((EVENTS / "issues.labeled.json").read_text(encoding="utf-8"))
    payload = {"repository": labelled["repository"], "sender": labelled["sender"], "ref": "refs/heads/main"}
    event = read_event("workflow_dispatch", {**payload, "inputs": {"operators": "all"}})
    assert isinstance(event, Dispatched)
    assert (event.operators, event.place.issue, event.place.sender) == ("all", 0, "alice")
    for inputs in (None, {}, {"operators": " "}):
        assert isinstance(read_event("workflow_dispatch", {**payload, "inputs": inputs}), Ignored)


@pytest.mark.parametrize(
    ("payload", "named"),
    [
        ([], "the document"),
        ("labeled", "the document"),
        ({"action": "labeled"}, "repository"),
        ({"action": "labeled", "repository": {"full_name": "../../etc"}}, "repository.full_name"),
        (
            {"action": "labeled", "repository": {"full_name": "a/b"}, "issue": {"number": "twelve"}},
            "issue.number",
        ),
        ({"action": 3}, "action"),
    ],
)
def test_what_is_no_event_is_refused_naming_the_field(payload: object, named: str) -> None:
    with pytest.raises(RequestError, match=named):
        read_event("issues", payload)
