"""A trace of the hidden port, wherever the agent would see it, stops the attempt before there is an agent."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import docker
import pytest

from tests.driver.conftest import commit_all, write_files
from tests.driver.leaks.test_image import layer
from tests.driver.ported import kernel_text, ported_target
from tileport_driver import attempt as story
from tileport_driver import ledger
from tileport_driver.agent_run import container_name
from tileport_driver.container import exists
from tileport_driver.host.engine import docker_engine
from tileport_driver.progress import Progress
from tileport_driver.requests import Order, make_request
from tileport_driver.service import begin
from tileport_skill.errors import MachineryError

IMAGE = "tileport-test-leak-stops:x"
PLANTS = {
    "/work": "src/elsewhere/kept.rs",
    "/task": "told.md",
    "/toolchain/python": "lib/left.py",
    "image layer": "usr/lib/left.rs",
}


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[docker.DockerClient]:
    monkeypatch.setenv("TILEPORT_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("TILEPORT_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("TILEPORT_DATABASE_URL", raising=False)
    with docker_engine() as client:
        yield client


def prepared(client: docker.DockerClient, folder: Path, where: str, text: str) -> Any:
    """An attempt at the point where its agent would start, with `text` planted in one of the places."""
    target, mounted = ported_target(folder / "target"), folder / "mounted"
    write_files(mounted, {"lib/mine.py": "x = 1\n"} | ({PLANTS[where]: text} if where.startswith("/tool") else {}))
    if where == "/work":
        write_files(target, {PLANTS[where]: text})
        commit_all(target, "A note")
    inside = {"etc/motd": "hello"} | ({PLANTS[where]: text} if where == "image layer" else {})
    client.api.import_image_from_data(layer(inside), repository=IMAGE.partition(":")[0], tag="x")
    attempt = begin(make_request(Order(operator="silu_and_mul", repository=target, engine="anthropic")))
    if where == "/task":
        write_files(attempt.task, {PLANTS[where]: text})
    host: Any = SimpleNamespace(
        client=client,
        agent_image=IMAGE,
        base_image=IMAGE,
        toolchain=SimpleNamespace(mounts={mounted: "/toolchain/python"}),
        progress=Progress(),
    )
    try:
        story.prepare(attempt, host)
    finally:
        client.images.remove(IMAGE, force=True)
        assert not exists(client, container_name(attempt))
        assert ledger.account(attempt.request()).spent == 0
    return attempt


@pytest.mark.docker
@pytest.mark.parametrize("where", PLANTS)
def test_a_trace_stops_the_attempt_names_its_place_and_costs_nothing(
    client: docker.DockerClient, tmp_path: Path, where: str
) -> None:
    whole = kernel_text()
    half = whole[len(whole) // 3 : 2 * len(whole) // 3]
    with pytest.raises(MachineryError, match="so no agent was started") as stopped:
        prepared(client, tmp_path, where, half)
    (line,) = [line for line in str(stopped.value).splitlines() if line.startswith("  ")]
    assert line.strip().startswith(where)
    assert PLANTS[where] in line or where == "/work", "there git holds the same as an object"


@pytest.mark.docker
def test_one_in_other_clothes_does_so_too(client: docker.DockerClient, tmp_path: Path) -> None:
    with pytest.raises(MachineryError, match="in base64"):
        prepared(client, tmp_path, "/work", base64.b64encode(kernel_text().encode()).decode())


@pytest.mark.docker
def test_without_one_the_attempt_goes_on(client: docker.DockerClient, tmp_path: Path) -> None:
    attempt = prepared(client, tmp_path, "/work", "nothing of it\n")
    assert (attempt.path / "leaks.json").is_file()
