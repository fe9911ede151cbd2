"""The workflows are what they should be by three judges, and do what they should when act runs them for real."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.bot.code_room import NAME, RUST, CodeRoom
from tests.bot.fakegithub.server import FakeGitHub
from tests.bot.workflow_tools import tool

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted(
    path
    for path in (ROOT / ".github/workflows").glob("*.yml")
    if path.stem in ("port", "port-batch", "review", "drift")
)
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def document(path: Path) -> dict[Any, Any]:
    found = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def example(path: Path) -> str:
    """The ten lines a repository needs, as the workflow's own head tells them."""
    head = path.read_text(encoding="utf-8").partition("\nname:")[0]
    return "\n".join(line[4:] for line in head.splitlines() if line.startswith("#   ")) + "\n"


def test_all_four_are_there() -> None:
    assert [path.stem for path in WORKFLOWS] == ["drift", "port-batch", "port", "review"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_each_is_called_pins_what_it_uses_and_holds_the_least_rights(path: Path) -> None:
    found = document(path)
    assert list(found[True]) == ["workflow_call"]  # YAML 1.1 reads `on` as a truth value
    assert found["permissions"] == {}
    for name, job in found["jobs"].items():
        assert "permissions" in job, name
        assert "write-all" not in str(job["permissions"])
        assert job["timeout-minutes"] <= 360
        for step in job["steps"]:
            if "uses" in step:
                assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", step["uses"])
            if "checkout" in step.get("uses", ""):
                assert step["with"]["persist-credentials"] is False
            assert "${{" not in step.get("run", ""), f"{name}: an expression inside run"


def test_the_job_that_looks_at_foreign_code_holds_no_token_while_it_does() -> None:
    found = document(ROOT / ".github/workflows/review.yml")
    look = found["jobs"]["look"]
    assert look["permissions"] == {"contents": "read"}
    assert "env" not in look
    (step,) = [step for step in look["steps"] if "tileport-bot review" in step.get("run", "")]
    assert "env" not in step
    assert "secrets" not in str(look)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actionlint_finds_nothing_in_it_nor_in_its_example(path: Path, tmp_path: Path) -> None:
    caller = tmp_path / "caller.yml"
    caller.write_text(example(path).replace("COMMIT", COMMIT))
    assert len(example(path).splitlines()) <= 10
    done = subprocess.run([tool("actionlint"), "-no-color", path, caller], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("", 0)


def test_zizmor_finds_nothing(tmp_path: Path) -> None:
    done = _zizmor(*WORKFLOWS)
    assert done.returncode == 0, done.stdout
    bad = tmp_path / "bad.yml"
    bad.write_text((ROOT / ".github/workflows/drift.yml").read_text().replace("push ]", "${{ github.event.ref }} ]"))
    bad.write_text(bad.read_text().replace('"$GITHUB_EVENT_NAME" = push', '"${{ github.event.ref }}" = push'))
    assert "template-injection" in _zizmor(bad).stdout


def _zizmor(*paths: Path) -> subprocess.CompletedProcess[str]:
    command = [tool("zizmor"), "--offline", "--persona=pedantic", "--no-progress", "--color=never", *paths]
    return subprocess.run(command, capture_output=True, text=True, check=False)


class Acts:
    """A repository that calls our workflows, on the fake GitHub; act runs them on this machine."""

    def __init__(self, room: CodeRoom, folder: Path) -> None:
        self.room, self.folder = room, folder
        permissions = {name: "write" for name in ("contents", "issues", "pull_requests", "checks")}
        self.token = room.fake.workflow_token(**permissions)
        self.log = folder / "acting.jsonl"
        for name, action in {"upload-artifact": UPLOAD, "download-artifact": DOWNLOAD}.items():
            (folder / name).mkdir()
            (folder / name / "action.yml").write_text(action)
            subprocess.run(["git", "init", "-q", folder / name], check=True)
        program = folder / "bin" / "tileport-bot"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -P -m tests.bot.acting "$@"\n')
        program.chmod(0o755)

    def act(self, workflow: str, event: str, payload: dict[str, Any], more: str = "") -> str:
        tree = self.room.checkout
        subprocess.run(["git", "-C", tree, "pull", "-q"], check=True)
        place = tree / ".github" / "workflows"
        place.mkdir(parents=True, exist_ok=True)
        text = example(ROOT / f".github/workflows/{workflow}.yml")
        text = re.sub(r"uses: \S+", f"uses: ./.github/workflows/{workflow}.yml", text)
        own = """runner: '["ubuntu-latest"]'"""
        text = text.replace("with: {", f"with: {{{own}, ") if "with:" in text else f"{text}    with: {{{own}}}\n"
        (place / "caller.yml").write_text(text)
        (place / f"{workflow}.yml").write_text((ROOT / f".github/workflows/{workflow}.yml").read_text())
        (self.folder / "event.json").write_text(json.dumps(payload))
        done = subprocess.run(
            [*self._command(event), "-W", str(place / "caller.yml")],
            cwd=tree,
            env=self._environment(),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def _command(self, event: str) -> list[str]:
        address = self.room.fake.address
        seen = {"GITHUB_API_URL": address, "GITHUB_SERVER_URL": address, "GITHUB_REPOSITORY": NAME}
        command = [str(tool("act")), event, "-e", str(self.folder / "event.json"), "-P", "ubuntu-latest=-self-hosted"]
        command += [word for name, value in seen.items() for word in ("--env", f"{name}={value}")]
        command += ["-s", f"GITHUB_TOKEN={self.token}"]
        for path in WORKFLOWS:
            for action, sha in re.findall(r"(actions/(?:up|down)load-artifact)@([0-9a-f]{40})", path.read_text()):
                command += ["--local-repository", f"{action}@{sha}={self.folder / action.partition('/')[2]}"]
        return command

    def _environment(self) -> dict[str, str]:
        paths = (ROOT, *(ROOT / name for name in ("bot", "driver", "skill")))
        return {
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "HOME": str(self.folder),
            "PYTHONPATH": ":".join(map(str, paths)),
            "ACTING_LOG": str(self.log),
            "ARTIFACTS": str(self.folder / "artifacts"),
            "TILEPORT_STATE": str(self.folder / "state"),
            "TILEPORT_WRITE_SECONDS": "0.01",
        }

    def calls(self) -> list[list[Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]


UPLOAD = """name: upload
inputs: {name: {required: true}, path: {required: true}, if-no-files-found: {default: warn}}
runs:
  using: composite
  steps:
    - shell: sh
      env: {NAME: "${{ inputs.name }}", FROM: "${{ inputs.path }}"}
      run: |
        mkdir -p "$ARTIFACTS/$NAME"
        if [ -d "$FROM" ]; then cp -r "$FROM"/. "$ARTIFACTS/$NAME"; fi
"""
DOWNLOAD = """name: download
inputs: {name: {default: ""}, pattern: {default: ""}, path: {required: true}}
runs:
  using: composite
  steps:
    - shell: sh
      env: {NAME: "${{ inputs.name }}", PATTERN: "${{ inputs.pattern }}", TO: "${{ inputs.path }}"}
      run: |
        mkdir -p "$TO"
        if [ "$NAME" ]; then cp -r "$ARTIFACTS/$NAME"/. "$TO"; else cp -r "$ARTIFACTS"/$PATTERN "$TO"; fi
"""


@pytest.fixture
def acts(fake: FakeGitHub, tmp_path: Path) -> Acts:
    return Acts(CodeRoom(fake, tmp_path), tmp_path)


def test_act_reviews_a_forks_pull_request_without_a_token_beside_its_code(acts: Acts) -> None:
    room = acts.room
    pull = room.pull({f"{RUST}/scale_kernel/kernel.rs": "// wrong\n"})
    payload = room.fake.payloads.pull_request(room.repository, pull, room.fake.user("carol"), action="opened")
    acts.act("review", "pull_request_target", payload)
    assert acts.calls() == [["review", []], ["publish-review", ["GITHUB_TOKEN"]]]
    (run,) = room.repository.check_runs.values()
    assert pull.pull is not None
    assert (run.head_sha, run.conclusion) == (pull.pull.head_sha, "failure")
    assert len(room.comments(pull.number)) == 1


def test_act_ports_from_a_label_to_a_draft(acts: Acts) -> None:
    room = acts.room
    issue = room.fake.open_issue(room.repository, "bob", "Port it")
    room.fake.label(room.repository, issue, "port: rms_norm", "alice")
    acts.act(
        "port", "issues", room.fake.payloads.labeled(room.repository, issue, "port: rms_norm", room.fake.user("alice"))
    )
    (pull,) = [one for one in room.repository.issues.values() if one.pull]
    assert pull.pull is not None
    assert (pull.pull.head_branch, pull.pull.draft) == ("port/rms_norm", True)
    assert any("not yet proved" in body for body in room.comments(issue.number))


def test_act_leaves_a_bots_label_alone(acts: Acts) -> None:
    room = acts.room
    issue = room.fake.open_issue(room.repository, "bob", "Port it")
    room.fake.label(room.repository, issue, "port: rms_norm", "helpful[bot]")
    payload = room.fake.payloads.labeled(room.repository, issue, "port: rms_norm", room.fake.user("helpful[bot]"))
    acts.act("port", "issues", payload)
    assert not acts.log.exists()


def test_act_watches_a_push(acts: Acts) -> None:
    room = acts.room
    before = room.fake.head(room.repository, "main") or ""
    room.fake.push_files(room.repository, "main", {f"{RUST}/scale_kernel/kernel.rs": "// wrong\n"})
    acts.act("drift", "push", room.fake.payloads.push(room.repository, "main", before, room.fake.user("alice")))
    (issue,) = room.repository.issues.values()
    assert issue.labels == ["port: scale"]


@pytest.mark.soak
def test_act_ports_a_batch_and_sums_it_up(acts: Acts) -> None:
    room = acts.room
    payload = {
        "inputs": {"operators": "RMSNorm scale"},
        "ref": "refs/heads/main",
        "repository": room.fake.say.repository(room.repository),
        "sender": room.fake.say.user(room.fake.user("alice")),
    }
    said = acts.act("port-batch", "workflow_dispatch", payload)
    assert "| `rms_norm` | unproved: rms_norm |" in said
    branches = sorted(one.pull.head_branch for one in room.repository.issues.values() if one.pull)
    assert branches == ["port/rms_norm", "port/scale"]
    assert [words for words, _ in acts.calls()][-1] == "batch-table"
    lines = sorted(path.read_text().strip() for path in (acts.folder / "artifacts").rglob("line.txt"))
    assert lines == ["rms_norm\tunproved: rms_norm", "scale\tunproved: scale"]
