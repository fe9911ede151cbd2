"""A sweep removes what is ours and orphaned, leaves what is ours and alive, and touches nothing else."""

from __future__ import annotations

import io
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from tileport_driver.alone import alone
from tileport_driver.container import ATTEMPT_LABEL, MAKER_LABEL, STATE_LABEL
from tileport_driver.host.engine import docker_engine
from tileport_driver.records import MachineryFailed, PortRequest
from tileport_driver.store import AttemptFolder, new_attempt, new_judgement
from tileport_driver.sweep import Seen, Standing, judge_containers, sweep

REQUEST = PortRequest(
    repository="/r", operator="scale", base_commit="0" * 40, reference_hash="a" * 64, engine="anthropic"
)


@pytest.mark.parametrize(
    ("standing", "goes"), [("unknown", True), ("ended", True), ("worked on", False), ("left", False)]
)
def test_a_container_goes_when_nobody_will_come_back_for_it(standing: Standing, goes: bool) -> None:
    seen = (Seen(name="c", attempt="a", maker="here:1:2"),)
    assert judge_containers(seen, lambda _: standing, lambda _: False) == (("c",) if goes else ())


def test_a_judgements_container_stays_while_its_judge_lives() -> None:
    seen = (Seen(name="c", attempt="a-judgement", maker="here:1:2"),)
    assert judge_containers(seen, lambda _: "unknown", lambda _: True) == ()


@pytest.mark.parametrize(
    ("maker", "lives", "goes"), [("here:5:6", True, False), ("here:5:6", False, True), ("", False, True)]
)
def test_a_container_of_no_attempt_goes_with_its_maker(maker: str, lives: bool, goes: bool) -> None:
    seen = (Seen(name="c", attempt="none", maker=maker),)
    assert judge_containers(seen, lambda _: "ended", lambda _: lives) == (("c",) if goes else ())


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[docker.DockerClient]:
    monkeypatch.setenv("TILEPORT_STATE", str(tmp_path / "state"))
    with docker_engine() as client:
        yield client


@pytest.fixture
def image(client: docker.DockerClient, tmp_path: Path) -> Iterator[str]:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tape:
        tape.addfile(tarfile.TarInfo("empty"))
    name = f"tileport-test-sweep-{tmp_path.name[-1]}"
    client.api.import_image_from_data(data.getvalue(), repository=name, tag="x")
    yield f"{name}:x"
    client.images.remove(f"{name}:x", force=True)


def ended(number: int) -> AttemptFolder:
    attempt = new_attempt(REQUEST, f"scale-20260101-000000-00000{number}")
    attempt.write("outcome", MachineryFailed(reason="x"))
    return attempt


@pytest.mark.docker
def test_with_an_engine_containers_volumes_trees_and_sockets_of_ended_attempts_go_and_nothing_else(
    client: docker.DockerClient, image: str, tmp_path: Path
) -> None:
    over, running = ended(1), new_attempt(REQUEST, "scale-20260101-000000-000002")
    left = new_attempt(REQUEST, "scale-20260101-000000-000003")
    over.work.mkdir()
    over.sockets.mkdir(parents=True)
    mine, other = str((tmp_path / "state").resolve()), str(tmp_path / "another")
    labels = {
        "over": {STATE_LABEL: mine, ATTEMPT_LABEL: over.id},
        "running": {STATE_LABEL: mine, ATTEMPT_LABEL: running.id},
        "left": {STATE_LABEL: mine, ATTEMPT_LABEL: left.id},
        "vanished": {STATE_LABEL: mine, ATTEMPT_LABEL: "scale-vanished"},
        "build": {STATE_LABEL: mine, ATTEMPT_LABEL: "none", MAKER_LABEL: "elsewhere:1:2"},
        "anothers": {STATE_LABEL: other, ATTEMPT_LABEL: over.id},
        "strangers": {},
    }
    tag = tmp_path.name[-12:].replace("_", "-")
    try:
        for name, label in labels.items():
            client.containers.create(image, ["/x"], name=f"tptest-{tag}-{name}", labels=label, network_mode="none")
            client.volumes.create(f"tptest-{tag}-{name}", labels=label)
        with alone(running):
            swept = sweep(client)
        names = {c.name.removeprefix(f"tptest-{tag}-") for c in client.containers.list(all=True) if tag in c.name}
        assert names == {"running", "left", "anothers", "strangers"}
        volumes = {v.name.removeprefix(f"tptest-{tag}-") for v in client.volumes.list() if tag in v.name}
        assert volumes == {"running", "left", "anothers", "strangers", "build"} - {"build"}
        assert not over.work.exists()
        assert not over.sockets.exists()
        assert swept.left == (left.id,)
        with alone(running):
            assert sweep(client).removed == ()
    finally:
        for name in labels:
            for kind in (client.containers, client.volumes):
                try:
                    kind.get(f"tptest-{tag}-{name}").remove(force=True)
                except docker.errors.NotFound:
                    continue
        shutil.rmtree(over.sockets, ignore_errors=True)


@pytest.mark.docker
def test_trees_of_a_judgement_go_once_its_judge_is_gone(client: docker.DockerClient) -> None:
    judgement = new_judgement(REQUEST)
    (judgement.work / "base").mkdir(parents=True)
    with alone(judgement):
        assert sweep(client).removed == ()
    assert sweep(client).removed == (f"trees of judgement {judgement.id}",)
    assert judgement.path.is_dir(), "what it found is kept"
    assert not judgement.work.exists()
