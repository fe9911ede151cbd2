"""Our sample events have GitHub's shape, and every example GitHub publishes is read without a stumble.

GitHub's schemas and examples are npm packages; they are fetched into a cache outside the repository.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.bot.conftest import EVENTS, event

from tileport_bot.events import Commented, Ignored, Labeled, Unlabeled, read_event

pytestmark = pytest.mark.soak

PACKAGES = ("@octokit/webhooks-schemas@7.6.1", "@octokit/webhooks-examples@7.6.1", "ajv@8.20.0")


@pytest.fixture(scope="session")
def node_folder() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "tileport" / "github-webhooks"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text('{"private": true}\n', encoding="utf-8")
    subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--save-exact", *PACKAGES], cwd=folder, check=True)
    return folder


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
            kind = type(read_event(group["name"], payload)).__name__
            kinds[kind] = kinds.get(kind, 0) + 1
    assert set(kinds) == {c.__name__ for c in (Labeled, Unlabeled, Commented, Ignored)}
