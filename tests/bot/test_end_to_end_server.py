"""A signed delivery enters the running server; the agent runs in Docker; GitHub holds what came of it.

The stand-in for GitHub, its git and the server's processes are real, only the model is scripted. One server makes two
attempts, the port of the demo and its failing twin.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest
import yaml
from tests.bot.fakegithub.contract import Contract
from tests.bot.fakegithub.server import FakeGitHub
from tests.bot.fakegithub.state import Issue, Repository
from tests.bot.fakegithub.webhooks import deliver

from tileport_bot.demo import demo_script, make_target
from tileport_bot.status import Record, Stage, read_record
from tileport_driver.host.engine import docker_engine

pytestmark = pytest.mark.docker

NAME, SECRET = "example/TileGym", "a-secret-of-the-tests"
ROOT = Path(__file__).parents[2]


class Scene:
    """The repository at the stand-in, and the server."""

    def __init__(self, fake: FakeGitHub, repository: Repository, url: str) -> None:
        self.fake = fake
        self.repository = repository
        self.url = url

    def label(self, operator: str) -> Issue:
        """An issue whose label is set by alice, and the delivery of that; answered 202."""
        issue = self.fake.open_issue(self.repository, "bob", f"A Rust port of {operator}")
        self.fake.label(self.repository, issue, f"port: {operator}", "alice")
        alice = self.fake.user("alice")
        payload = self.fake.payloads.labeled(self.repository, issue, f"port: {operator}", alice)
        assert deliver(f"{self.url}/webhook", "issues", payload, secret=SECRET).status_code == 202
        return issue

    def comment(self, issue: Issue) -> str:
        found = [c.body for c in self.repository.comments.values() if c.issue == issue.number]
        return found[0] if found else ""

    def record(self, issue: Issue) -> Record | None:
        return read_record(self.comment(issue))

    def ended(self, issue: Issue) -> bool:
        record = self.record(issue)
        return record is not None and record.stage.is_end


@pytest.fixture(scope="module")
def scene(contract: Contract, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    folder = tmp_path_factory.mktemp("server")
    with docker_engine(), FakeGitHub(folder / "github", contract) as fake:
        target = make_target(folder / "target")
        repository = fake.add_repository(NAME, target, roles={"alice": "write"})
        rights = {"contents": "write", "issues": "write", "pull_requests": "write", "metadata": "read"}
        environment = {
            **os.environ,
            "TILEPORT_STATE": str(folder / "state"),
            "TILEPORT_WEBHOOK_SECRET": SECRET,
            "TILEPORT_WRITE_SECONDS": "0",
            "GITHUB_TOKEN": fake.token("tileport[bot]", permissions=rights),
            "GITHUB_API_URL": fake.address,
            "GITHUB_SERVER_URL": fake.address,
        }
        with serving(scripts(folder / "scripts"), environment, folder / "log") as url:
            yield Scene(fake, repository, url)


def scripts(folder: Path) -> Path:
    """The demo's conversation for silu_and_mul; for relu, one in which the first role gives the port up."""
    shutil.copytree(demo_script(), folder / "silu_and_mul")
    report = "mkdir -p ../port/reports; printf 'It cannot be.\\n\\nverdict: fail\\n' > ../port/reports/analyzer-1.md"
    turns = [{"reply": [{"tool": "bash", "input": {"command": report}}]}, {"reply": [{"text": "done"}]}]
    (folder / "relu").mkdir()
    (folder / "relu" / "script.yaml").write_text(yaml.safe_dump(turns))
    return folder


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class serving:
    """`tileport-bot serve` as a process, until the block ends."""

    def __init__(self, script: Path, environment: dict[str, str], log: Path) -> None:
        self.url = f"http://127.0.0.1:{free_port()}"
        command = [sys.executable, "-m", "tileport_bot", "serve", "--port", self.url.rpartition(":")[2]]
        command += ["--repository", NAME, "--script", str(script), "--login", "tileport[bot]"]
        self._log = log.open("w")
        self._process = subprocess.Popen(
            command, env=environment, cwd=ROOT, stdout=self._log, stderr=subprocess.STDOUT, start_new_session=True
        )

    def __enter__(self) -> str:
        def answers() -> bool:
            assert self._process.poll() is None, Path(self._log.name).read_text()
            try:
                return httpx2.get(f"{self.url}/healthz").status_code == 200
            except httpx2.TransportError:
                return False

        wait_for(answers, 120)
        return self.url

    def __exit__(self, *_: object) -> None:
        self._process.send_signal(signal.SIGTERM)
        assert self._process.wait(120) == 0, Path(self._log.name).read_text()
        self._log.close()


def wait_for(holds: Callable[[], object], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.2)


@pytest.fixture(scope="module")
def ported(scene: Scene) -> Issue:
    issue = scene.label("silu_and_mul")
    wait_for(lambda: scene.ended(issue), 1800)
    return issue


@pytest.fixture(scope="module")
def rejected(scene: Scene, ported: Issue) -> Issue:
    issue = scene.label("relu")
    wait_for(lambda: scene.ended(issue), 1800)
    return issue


def test_the_draft_pull_request_stands_with_its_commit(scene: Scene, ported: Issue) -> None:
    (pull,) = [issue for issue in scene.repository.issues.values() if issue.pull]
    assert pull.pull is not None
    assert (pull.pull.draft, pull.pull.head_branch, pull.pull.base_branch) == (True, "port/silu_and_mul", "main")
    assert pull.pull.head_sha == scene.fake.head(scene.repository, "port/silu_and_mul")
    body = pull.body or ""
    assert "| tile-ir | **passed** |" in body
    assert "same cubin" in body
    assert 'test: ["ops"]' in body
    assert "tileport judge patch.diff" in body
    assert "Signed-off-by: " in body


def test_the_status_comment_reads_done_and_there_is_one(scene: Scene, ported: Issue) -> None:
    record = scene.record(ported)
    assert record is not None
    assert record.stage is Stage.DONE
    assert "holds the port, as a draft until what is missing was run" in scene.comment(ported)
    assert len([c for c in scene.repository.comments.values() if c.issue == ported.number]) == 1
    assert [reaction.content for reaction in ported.reactions] == ["eyes"]


def test_the_failing_twin_ends_in_a_diagnosis_that_names_the_role(scene: Scene, rejected: Issue) -> None:
    record = scene.record(rejected)
    assert record is not None
    assert (record.stage, record.spent) == (Stage.FAILED, 1)
    comment = scene.comment(rejected)
    assert "The roles gave the port up before any gate." in comment
    assert "analyzer: fail" in comment
    assert "**Whose it is:**" in comment
    assert len([issue for issue in scene.repository.issues.values() if issue.pull]) == 1


def test_the_status_page_shows_both_with_their_gates(scene: Scene, rejected: Issue) -> None:
    page = httpx2.get(scene.url).text
    assert "0 active, 2 ended" in page
    assert "silu_<wbr>and_<wbr>mul" in page
    detail = httpx2.get(f"{scene.url}/requests/1").text
    assert "publishing" in detail
    assert "32 of 32" in detail or "compiled kernels equal" in detail
    assert httpx2.get(f"{scene.url}/requests/1/report").status_code == 200
