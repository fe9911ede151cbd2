"""A fork's pull request judged in earnest: TileGym's wheel, the acceptance container, GitHub the stand-in."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.bot.fakegithub.server import FakeGitHub

from tileport_bot.code import about_code
from tileport_bot.code_events import read_code_event
from tileport_bot.demo import make_target
from tileport_bot.live_github import LiveGitHub
from tileport_bot.reviewer import judge_here
from tileport_driver.host.engine import docker_engine
from tileport_driver.progress import Progress
from tileport_skill.tilegym.licence import with_licence

pytestmark = [pytest.mark.soak, pytest.mark.docker]

PORT = Path(__file__).parents[1] / "scripts" / "silu_and_mul" / "port"
RUST = "tilegym/ops/cutile_rs"


def test_an_equal_port_succeeds_and_a_spoilt_one_is_shown_its_line(
    fake: FakeGitHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILEPORT_STATE", str(tmp_path / "state"))
    repository = fake.add_repository("example/TileGym", make_target(tmp_path / "target"))
    fork = fake.fork(repository, "carol")
    name = f"{RUST}/silu_and_mul_kernel/kernel.rs"
    texts = {
        name: (PORT / "kernel.rs").read_text(),
        f"{RUST}/silu_and_mul_kernel/ffi.rs": (PORT / "ffi.rs").read_text(),
        f"{RUST}/silu_and_mul.py": (PORT / "silu_and_mul.py").read_text(),
    }
    reference = (tmp_path / "target/tilegym/ops/cutile/silu_and_mul.py").read_text()
    port = {path: with_licence(reference, path, text) for path, text in texts.items()}
    kernel = port[name]
    app, _ = fake.add_app("tileport", on="example")
    granted = {"metadata": "read", "contents": "read", "issues": "write", "pull_requests": "write", "checks": "write"}
    token = fake.token("tileport[bot]", permissions=granted, app=app)
    host = LiveGitHub(token, login="tileport[bot]", api=fake.address, server=fake.address, pace=0)
    checkout = fake.clone(repository, tmp_path / "clone")

    def pushed(files: dict[str, str], action: str) -> str:
        fake.push_files(fork, "idea", files, base="main")
        pulls = [issue for issue in repository.issues.values() if issue.pull]
        pull = pulls[0] if pulls else fake.open_pull(repository, "carol", branch="idea", head=fork)
        payload = fake.payloads.pull_request(repository, pull, fake.user("carol"), action=action)
        event = read_code_event("pull_request", payload)
        assert event is not None
        return about_code(host, judge_here(Progress(), lambda: False), checkout, event, print)

    spoilt = kernel.replace("gate * sigmoid * value", "gate * sigmoid + value", 1)
    assert spoilt != kernel
    with docker_engine():
        assert pushed(port, "opened").endswith("success"), _said(fake)
        assert pushed({name: spoilt}, "reopened").endswith("failure")
    good, bad = repository.check_runs.values()
    assert (good.conclusion, bad.conclusion) == ("success", "failure")
    assert any(one["path"] == name and one["annotation_level"] == "failure" for one in bad.annotations)


def _said(fake: FakeGitHub) -> str:
    return "\n".join(comment.body for comment in fake.world.repositories["example/tilegym"].comments.values())
