"""The three images, built from `containers/*.Dockerfile` and named by what is in them.

A tag is the hash of its Dockerfile, its context and its base, so an image is built once and never goes stale.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import docker
from docker.errors import APIError, BuildError, DockerException, ImageNotFound, NotFound

from tileport_driver.host.paths import containers_dir, repository_root
from tileport_driver.host.versions import Versions
from tileport_skill.errors import MachineryError

Role = Literal["agent", "acceptance"]
LABEL = "org.tileport.image"
_PROXIES = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")


def ensure_base(client: docker.DockerClient, versions: Versions, say: Callable[[str], None]) -> str:
    """The tag of the image both roles share, built if it is missing."""
    distribution = _ensure_distribution(client, versions, say)
    context = {name: containers_dir() / name for name in ("cargo.toml", "tileport-skill")}
    tag = f"tileport-base:{_hash(distribution, containers_dir() / 'base.Dockerfile', *context.values())}"
    if not _exists(client, tag):
        say("building the base image")
        _build(client, tag, distribution, "base.Dockerfile", context)
    return tag


def ensure_role(client: docker.DockerClient, base: str, role: Role, say: Callable[[str], None]) -> str:
    """The tag of one role's image: the base and the skill's sources."""
    skill = repository_root() / "skill" / "tileport_skill"
    dockerfile = f"{role}.Dockerfile"
    tag = f"tileport-{role}:{_hash(base, containers_dir() / dockerfile, skill)}"
    if not _exists(client, tag):
        say(f"building the {role} image")
        _build(client, tag, base, dockerfile, {"skill/tileport_skill": skill})
    return tag


def _ensure_distribution(client: docker.DockerClient, versions: Versions, say: Callable[[str], None]) -> str:
    """Debian: pulled from a registry, or made with debootstrap where none is reachable."""
    ours = f"tileport-debian:{versions.debian_suite}"
    for tag in (ours, versions.debian_image):
        if _exists(client, tag):
            return tag
    try:
        say(f"pulling {versions.debian_image}")
        client.images.pull(versions.debian_image)
    except (DockerException, OSError):
        _bootstrap(client, ours, versions.debian_suite, say)
        return ours
    return versions.debian_image


def _bootstrap(client: docker.DockerClient, tag: str, suite: str, say: Callable[[str], None]) -> None:
    if shutil.which("debootstrap") is None or os.getuid() != 0:
        raise MachineryError(
            "No image registry is reachable, and the base image can only be made by root with debootstrap. "
            "Run as root after: apt-get install debootstrap"
        )
    say(f"no registry reachable: making Debian {suite} with debootstrap")
    with tempfile.TemporaryDirectory(prefix="tileport-debian-") as folder:
        command = ["debootstrap", "--variant=minbase", "--include=ca-certificates", suite, folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            words = "\n".join((done.stdout + done.stderr).strip().splitlines()[-5:])
            raise MachineryError(f"debootstrap failed; is a Debian mirror reachable and enough disk free?\n{words}")
        _trust_this_machines_authorities(Path(folder))
        tar = ["tar", "--one-file-system", "--numeric-owner", "-C", folder, "-c", "."]
        with subprocess.Popen(tar, stdout=subprocess.PIPE) as packed:
            assert packed.stdout is not None
            name, _, version = tag.partition(":")
            client.api.import_image_from_stream(packed.stdout, repository=name, tag=version)


def _trust_this_machines_authorities(root: Path) -> None:
    """Builds use this machine's network, and so whatever certificate authorities it trusts."""
    bundle = os.environ.get("SSL_CERT_FILE") or "/etc/ssl/certs/ca-certificates.crt"
    if Path(bundle).is_file():
        shutil.copyfile(bundle, root / "etc/ssl/certs/ca-certificates.crt")


def _exists(client: docker.DockerClient, tag: str) -> bool:
    try:
        image = client.images.get(tag)
    except (ImageNotFound, NotFound):
        return False
    made_for, here = image.attrs["Architecture"], client.version()["Arch"]
    if made_for != here:
        raise MachineryError(
            f"the image {tag} is for {made_for}, and this engine runs {here}. Remove it (docker rmi {tag}): it is made "
            "again here."
        )
    return True


def _build(client: docker.DockerClient, tag: str, base: str, dockerfile: str, context: dict[str, Path]) -> None:
    with tempfile.TemporaryDirectory(prefix="tileport-context-") as folder:
        root = Path(folder)
        shutil.copyfile(containers_dir() / dockerfile, root / dockerfile)
        for name, source in context.items():
            _copy(source, root / name)
        try:
            client.images.build(
                path=folder,
                dockerfile=dockerfile,
                tag=tag,
                network_mode="host",
                buildargs={"BASE": base, **{k: os.environ[k] for k in _PROXIES if k in os.environ}},
                labels={LABEL: dockerfile.removesuffix(".Dockerfile")},
                rm=True,
                forcerm=True,
            )
        except BuildError as error:
            lines = [
                str(part.get("stream", part.get("error", ""))) for part in error.build_log if isinstance(part, dict)
            ]
            words = "".join(lines).strip().splitlines()[-12:]
            raise MachineryError(f"the image {tag} did not build:\n" + "\n".join(words)) from error
        except APIError as error:
            raise MachineryError(f"the image {tag} did not build: {error.explanation or error}") from error


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
    else:
        shutil.copy(source, target)


def _hash(base: str, *sources: Path) -> str:
    digest = hashlib.sha256(base.encode())
    for source in sources:
        files = sorted(p for p in source.rglob("*") if p.is_file()) if source.is_dir() else [source]
        for path in files:
            if "__pycache__" not in path.parts:
                digest.update(path.relative_to(source.parent).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]
