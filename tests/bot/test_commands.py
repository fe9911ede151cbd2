"""Labels and comments become commands, or nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tileport_bot.commands import (
    Cancel,
    Check,
    Command,
    Help,
    Misspelt,
    Port,
    PortMany,
    Retry,
    Status,
    read_command,
)
from tileport_bot.events import Commented, Dispatched, Labeled, Place, Unlabeled
from tileport_bot.replies import help_text

PLACE = Place(
    repository="example/TileGym",
    default_branch="main",
    issue=12,
    sender="alice",
    sender_is_bot=False,
    trigger="t",
)


def comment(body: str) -> Command | None:
    return read_command(Commented(place=PLACE, comment=1, body=body))


def label(name: str) -> Command | None:
    return read_command(Labeled(place=PLACE, label=name))


@pytest.mark.parametrize("name", ["port: rms_norm", "port:rms_norm", "Port: rms_norm", "  port :  rms_norm "])
def test_a_port_label_asks_for_its_operator(name: str) -> None:
    assert label(name) == Port(operator="rms_norm")
    assert read_command(Unlabeled(place=PLACE, label=name)) == Cancel(operator="rms_norm")


@pytest.mark.parametrize("name", ["bug", "port", "port:", "port: ", "export: x", "ported: x", "port; rms_norm", ""])
def test_other_labels_ask_nothing(name: str) -> None:
    assert label(name) is None
    assert read_command(Unlabeled(place=PLACE, label=name)) is None


def test_a_label_in_look_alike_letters_is_told_how_it_is_meant() -> None:
    assert label("port\uff1a rms_norm") == Misspelt(wrote="port\uff1a rms_norm", meant="port: rms_norm")
    assert label("p\u043ert: rms_norm") == Misspelt(wrote="p\u043ert: rms_norm", meant="port: rms_norm")
    assert label("\uff50ort: rms_norm") == Misspelt(wrote="\uff50ort: rms_norm", meant="port: rms_norm")


@pytest.mark.parametrize(
    ("body", "command"),
    [
        ("/port softmax", Port(operator="softmax")),
        ("Please.\r\n\r\n  /PORT Soft-Max  \r\nThanks", Port(operator="Soft-Max")),
        ("/retry", Retry(operator=None)),
        ("/retry softmax", Retry(operator="softmax")),
        ("/cancel", Cancel(operator=None)),
        ("/cancel softmax", Cancel(operator="softmax")),
        ("/status", Status()),
        ("/port all", PortMany(operators=None)),
        ("/port ALL", PortMany(operators=None)),
        ("/check", Check(operator=None)),
        ("/check softmax", Check(operator="softmax")),
        ("/help\n/port softmax", Help()),
    ],
)
def test_the_first_command_of_a_comment_counts(body: str, command: Command) -> None:
    assert comment(body) == command


@pytest.mark.parametrize(
    "body",
    [
        "",
        "port softmax",
        "I would write /port softmax",
        "> /port softmax",
        "  > /port softmax",
        "```\n/port softmax\n```",
        "~~~sh\n```\n/port softmax\n~~~",
        "````\n```\n/port softmax\n````",
        "```\n/port softmax",
        "    /port softmax",
        "\t/port softmax",
        "<!-- /port softmax -->",
        "<!--\n/port softmax\n-->",
        "<!--\n/port softmax",
        "/",
        "/lgtm",
        "/usr/bin/python3 is missing",
        "/ok to test",
    ],
)
def test_what_is_quoted_code_hidden_or_not_ours_gets_no_answer(body: str) -> None:
    assert comment(body) is None


@pytest.mark.parametrize(
    ("body", "meant"),
    [
        ("/prot softmax", "/port softmax"),
        ("/port", "/port OP"),
        ("/port two words", "/port OP"),
        ("/cancle", "/cancel [OP]"),
        ("/status now", "/status"),
        ("/halp", "/help"),
        ("\uff0fport softmax", "/port softmax"),
        ("/p\u043ert softmax", "/port softmax"),
        ("/\uff50\uff4f\uff52\uff54 softmax", "/port softmax"),
        ("/chekc softmax", "/check softmax"),
    ],
)
def test_a_misspelt_command_is_asked_back(body: str, meant: str) -> None:
    assert comment(body) == Misspelt(wrote=body, meant=meant)


@pytest.mark.parametrize(
    ("typed", "operators"),
    [("all", None), (" all ", None), ("a, b", ("a", "b")), ("a b a", ("a", "b")), ("a,,b,", ("a", "b"))],
)
def test_a_workflow_started_by_hand_is_a_batch(typed: str, operators: tuple[str, ...] | None) -> None:
    assert read_command(Dispatched(place=PLACE, operators=typed)) == PortMany(operators=operators)


def test_a_huge_comment_is_read_in_part() -> None:
    assert comment("x" * 1_000_000 + "\n/port softmax") is None
    assert comment("/port softmax\n" + "`" * 1_000_000) == Port(operator="softmax")
    wrote = comment("/port " + "y " * 400_000)
    assert isinstance(wrote, Misspelt)
    assert len(wrote.wrote) <= 200


def test_the_readme_lists_the_commands_there_are() -> None:
    readme = (Path(__file__).parents[2] / "bot" / "README.md").read_text(encoding="utf-8")
    assert help_text().split("\n\n")[0] in readme
