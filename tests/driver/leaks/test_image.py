"""A leak in a layer of the agent's image, with a real engine."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from tests.driver.ported import kernel_text
from tileport_driver.host.engine import docker_engine
from tileport_driver.leaks.fingerprints import fingerprints
from tileport_driver.leaks.image import image_layers
from tileport_driver.leaks.scan import scan

TAG = "tileport-test-leaks:layers"


def layer(files: dict[str, str]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tape:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            tape.addfile(member, io.BytesIO(text.encode()))
    return out.getvalue()


@pytest.mark.docker
def test_a_leak_in_an_image_layer_is_found_and_a_clean_image_is_looked_through_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prints = fingerprints("silu_and_mul", {"kernel.rs": kernel_text().encode()}, {})
    with docker_engine() as client:
        monkeypatch.setenv("TILEPORT_CACHE", str(tmp_path))
        for text in ("nothing", kernel_text()):
            data = layer({"etc/motd": "hello", "usr/lib/python3/dist-packages/left.rs": text})
            client.api.import_image_from_data(data, repository=TAG.partition(":")[0], tag="layers")
            try:
                with image_layers(client, TAG, prints) as places:
                    first = scan(places, prints)
                with image_layers(client, TAG, prints) as places:
                    second = scan(places, prints)
            finally:
                client.images.remove(TAG, force=True)
            found = [leak.path for leak in first.leaks]
            assert found == ([] if text == "nothing" else ["usr/lib/python3/dist-packages/left.rs"])
            assert [place.known_clean for place in second.places] == [text == "nothing"]
    assert list(tmp_path.glob("layers-*")) == []
