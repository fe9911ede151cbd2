"""Our sample events have GitHub's shape, and every example GitHub publishes is read without a stumble.

GitHub's schemas and examples are npm packages; they are fetched into a cache outside the repository.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.bot.conftest import EVENTS, event
from tests.bot.fakegithub.packages import fetch_packages

from tileport_bot.code_events import PullChanged, Pushed, read_code_event
from tileport_bot.events import Commented, Ignored, Labeled, Unlabeled, read_event

pytestmark = pytest.mark.soak


@pytest.fixture(scope="session")
def node_folder() -> Path:
    return fetch_packages().modules


def check(folder: Path, events: dict[str, Any]) -> dict[str, list[str]]:
    done = subprocess.run(
        ["node", Path(__file__).with_name("check_events.mjs"), folder],
        input=json.dumps({"events": events}),
        capture_output=True,
        text=True,
        check=True,
    )
    answers = json.loads(done.stdout)
    assert isinstance(answers, dict)
    return answers


def test_our_samples_have_githubs_names_and_types(node_folder: Path) -> None:
    samples = {path.stem: event(path.stem) for path in sorted(EVENTS.glob("*.json"))}
    assert check(node_folder, samples) == {name: [] for name in samples}


def test_a_misspelt_field_or_a_wrong_type_would_be_found(node_folder: Path) -> None:
    wrong = event("issues.labeled")
    wrong["sendr"] = wrong["sender"]
    wrong["issue"]["number"] = "12"
    found = check(node_folder, {"issues.labeled": wrong, "issues.x": {"action": "labelled"}})
    text = "\n".join(found["issues.labeled"])
    assert "sendr" in text
    assert "/issue/number must be integer" in text
    assert found["issues.x"] == ["GitHub has no event issues$labelled"]


def test_every_example_of_github_is_read(node_folder: Path) -> None:
    examples = json.loads(
        (node_folder / "node_modules/@octokit/webhooks-examples/api.github.com/index.json").read_text("utf-8")
    )
    kinds: dict[str, int] = {}
    for group in examples:
        for payload in group["examples"]:
            read = read_code_event(group["name"], payload) or read_event(group["name"], payload)
            kinds[type(read).__name__] = kinds.get(type(read).__name__, 0) + 1
    expected = (Labeled, Unlabeled, Commented, Ignored, PullChanged, Pushed)
    assert set(kinds) == {kind.__name__ for kind in expected}
