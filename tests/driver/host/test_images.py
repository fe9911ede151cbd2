"""Images that are not what they should be: of another architecture, or gone between two looks."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile

import pytest

from tests.driver.leaks.test_image import layer
from tileport_driver.container import ContainerSpec, start_or_adopt
from tileport_driver.host.engine import docker_engine
from tileport_driver.host.images import _exists
from tileport_skill.errors import MachineryError

TAG = "tileport-test-foreign:x"


def foreign() -> bytes:
    """An image for another machine, as `docker save` writes one."""
    data = layer({"etc/motd": "hello"})
    tree = {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(data).hexdigest()}"]}
    config = json.dumps({"architecture": "arm64", "os": "linux", "config": {}, "rootfs": tree})
    manifest = json.dumps([{"Config": "config.json", "RepoTags": [TAG], "Layers": ["layer.tar"]}])
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tape:
        for name, text in (("layer.tar", data), ("config.json", config.encode()), ("manifest.json", manifest.encode())):
            member = tarfile.TarInfo(name)
            member.size = len(text)
            tape.addfile(member, io.BytesIO(text))
    return out.getvalue()


@pytest.mark.docker
def test_an_image_of_another_architecture_is_named_with_what_to_do() -> None:
    with docker_engine() as client:
        client.images.load(foreign())
        try:
            with pytest.raises(MachineryError, match=rf"{TAG} is for arm64.*docker rmi {TAG}"):
                _exists(client, TAG)
        finally:
            client.images.remove(TAG, force=True)


@pytest.mark.docker
def test_an_image_that_is_gone_is_our_failure_and_resuming_makes_it_again() -> None:
    spec = ContainerSpec(name="tileport-test-gone", image="tileport-test-gone:x", command=("x",), attempt="none")
    with docker_engine() as client, pytest.raises(MachineryError, match="is gone; resume the attempt"):
        start_or_adopt(client, spec)
