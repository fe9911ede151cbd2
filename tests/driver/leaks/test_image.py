"""A leak in a layer of the agent's image, with a real engine."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from tests.driver.ported import kernel_text
from tileport_driver.host.engine import docker_engine
from tileport_driver.host.paths import containers_dir
from tileport_driver.leaks.fingerprints import fingerprints
from tileport_driver.leaks.image import ADDED, image_layers
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


@pytest.mark.docker
def test_once_the_base_is_known_clean_only_what_a_role_adds_is_looked_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prints = fingerprints("silu_and_mul", {"kernel.rs": kernel_text().encode()}, {})
    base, role = TAG.replace(":layers", ":base"), TAG.replace(":layers", ":role")
    with docker_engine() as client:
        monkeypatch.setenv("TILEPORT_CACHE", str(tmp_path / "cache"))
        monkeypatch.setenv("TILEPORT_STATE", str(tmp_path / "state"))
        data = layer({"etc/motd": "hello"})
        client.api.import_image_from_data(data, repository=base.partition(":")[0], tag="base")
        (tmp_path / "skill").mkdir()
        (tmp_path / "skill" / "notes.py").write_text(kernel_text())
        (tmp_path / "Dockerfile").write_text(f'FROM {base}\nCOPY skill/ {ADDED}/\nENTRYPOINT ["x"]\n')
        try:
            client.images.build(path=str(tmp_path), tag=role, rm=True)
            with image_layers(client, base, prints) as places:
                assert scan(places, prints).leaks == ()
            with image_layers(client, role, prints, base) as places:
                found = scan(places, prints)
        finally:
            for tag in (role, base):
                client.images.remove(tag, force=True)
    assert [place.known_clean for place in found.places] == [True, False]
    assert [leak.path for leak in found.leaks] == ["tileport/notes.py"]


@pytest.mark.parametrize("role", ["agent", "acceptance"])
def test_a_roles_dockerfile_adds_to_that_one_folder_alone(role: str) -> None:
    lines = (containers_dir() / f"{role}.Dockerfile").read_text().splitlines()
    words = [line.split() for line in lines if line.strip() and not line.startswith("#")]
    assert [line[0] for line in words] == ["ARG", "FROM", "COPY", "ENTRYPOINT"]
    assert words[2][-1] == f"{ADDED}/"
