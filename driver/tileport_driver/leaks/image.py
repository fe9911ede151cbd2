"""An image's layers as trees of plain files, each layer by itself: what a later one deletes is still in there."""

from __future__ import annotations

import json
import os
import tarfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import IO, cast

import docker
from docker.errors import DockerException

from tileport_driver.container import ATTEMPT_LABEL, MAKER_LABEL, STATE_LABEL
from tileport_driver.host.paths import cache_dir, state_dir
from tileport_driver.host.processes import identity
from tileport_driver.leaks.fingerprints import Fingerprints
from tileport_driver.leaks.index import index_of
from tileport_driver.leaks.scan import Place
from tileport_skill.errors import MachineryError

ADDED = "/opt/tileport"
"""All that our Dockerfiles of the roles put on top of the base; a test holds them to it."""
_Unpacked = tuple[Path, dict[str, str]]
"""A folder of numbered files, and what each is called inside."""


@contextmanager
def image_layers(
    client: docker.DockerClient, image: str, prints: Fingerprints, base: str | None = None
) -> Iterator[tuple[Place, ...]]:
    """The layers, unpacked in a temporary folder where files are numbered if any of them must be read for this port.

    `base` tells what a role adds to it: sources change often, the gigabyte below seldom, so either is unpacked alone.
    """
    cache_dir().mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="layers-", dir=cache_dir()) as folder:
        try:
            found = client.images.get(image)
            names = [f"image layer {digest}" for digest in found.attrs["RootFS"]["Layers"]]
            below = len(client.images.get(base).attrs["RootFS"]["Layers"]) if base is not None else len(names)
            ids = [*names[:below], *[f"{name}, {ADDED}" for name in names[below:]]]
            nothing: _Unpacked = (Path(folder) / "none", {})
            unpacked = [nothing] * len(names)
            if _any_to_read(ids[:below], prints):
                unpacked[:below] = _unpack(cast(Iterable[bytes], found.save()), Path(folder))[:below]
            if _any_to_read(ids[below:], prints):
                unpacked[below:] = [_unpack_added(client, image, Path(folder))] * (len(names) - below)
        except (DockerException, OSError, tarfile.TarError) as error:
            raise MachineryError(f"the image {image} could not be looked through: {error}.") from error
        yield tuple(
            Place(name=name, root=root, large=True, identity=identity, names=inside)
            for name, identity, (root, inside) in zip(names, ids, unpacked, strict=True)
        )


def _any_to_read(identities: list[str], prints: Fingerprints) -> bool:
    """Whether one was never read, or may have a trace of this port."""
    indexes = [index_of(identity) for identity in identities]
    return not prints.none and any(index is None or index.files(prints) for index in indexes)


def _unpack_added(client: docker.DockerClient, image: str, folder: Path) -> _Unpacked:
    """From a container that is made and never started."""
    labels = {STATE_LABEL: str(state_dir().resolve()), ATTEMPT_LABEL: "none", MAKER_LABEL: identity(os.getpid())}
    container = client.containers.create(image, network_mode="none", labels=labels)
    try:
        stream, _ = container.get_archive(ADDED)
        (folder / "added").mkdir()
        return folder / "added", _unpack_layer(cast(IO[bytes], _Reader(stream)), folder / "added")
    finally:
        container.remove(force=True, v=True)


def _unpack(stream: Iterable[bytes], folder: Path) -> list[_Unpacked]:
    layers: dict[str, _Unpacked] = {}
    manifest: list[dict[str, list[str]]] = []
    with tarfile.open(fileobj=cast(IO[bytes], _Reader(stream)), mode="r|") as outer:
        for member in outer:
            file = outer.extractfile(member) if member.isfile() else None
            if file is None:
                continue
            if member.name == "manifest.json":
                manifest = json.load(file)
            elif member.name.endswith("layer.tar") or member.name.startswith("blobs/"):
                root = folder / f"layer-{len(layers)}"
                root.mkdir()
                layers[member.name] = root, _unpack_layer(file, root)
    return [layers[name] for name in manifest[0]["Layers"]]


def _unpack_layer(file: IO[bytes], root: Path) -> dict[str, str]:
    """Plain files only, numbered, so that no name in a layer means anything here."""
    names: dict[str, str] = {}
    try:
        with tarfile.open(fileobj=file, mode="r|*") as layer:
            for member in layer:
                content = layer.extractfile(member) if member.isfile() else None
                if content is not None:
                    name = f"{len(names)}{PurePosixPath(member.name).suffix}"
                    names[name] = member.name
                    with (root / name).open("wb") as out:
                        while block := content.read(2**20):
                            out.write(block)
    except tarfile.ReadError:
        return names  # an image's configuration, which lies beside the layers in newer formats
    return names


class _Reader:
    """A stream of blocks as the file that `tarfile` wants."""

    def __init__(self, blocks: Iterable[bytes]) -> None:
        self._blocks = iter(blocks)
        self._left = b""

    def read(self, size: int) -> bytes:
        parts, have = [self._left], len(self._left)
        while have < size:
            block = next(self._blocks, None)
            if block is None:
                break
            parts.append(block)
            have += len(block)
        data = b"".join(parts)
        self._left = data[size:]
        return data[:size]
