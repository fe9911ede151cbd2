"""GitHub's published descriptions: npm packages, fetched once into a cache outside the repository, never copied."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import NamedTuple

import pytest

SCHEMAS = (
    "@octokit/webhooks-schemas@7.6.1",
    "@octokit/webhooks-examples@7.6.1",
    "ajv@8.20.0",
    "@octokit/graphql-schema@15.26.1",
    "graphql@16.11.0",
)
OPENAPI = "@octokit/openapi@23.0.2"
_DESCRIPTION = "package/generated/api.github.com.json"


class Packages(NamedTuple):
    modules: Path
    """The folder above `node_modules`."""
    description: Path
    """GitHub's OpenAPI description of github.com."""


def fetch_packages() -> Packages:
    """Skips the test where there is no npm: nothing here can be judged without GitHub's own words."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed; GitHub's descriptions, which judge this test, are npm packages")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tileport"
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "github-packages.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two runs of the tests may meet here
        wanted = hashlib.sha256("\n".join(SCHEMAS).encode()).hexdigest()[:12]
        return Packages(_schemas(cache / f"github-schemas-{wanted}"), _description(cache))


def _schemas(folder: Path) -> Path:
    stamp = folder / "fetched"
    if not stamp.is_file():
        folder.mkdir(exist_ok=True)
        (folder / "package.json").write_text('{"private": true}\n', encoding="utf-8")
        subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--save-exact", *SCHEMAS], cwd=folder, check=True)
        stamp.touch()
    return folder


def _description(cache: Path) -> Path:
    """Of the package's 400 MB one file is kept."""
    version = OPENAPI.rpartition("@")[2]
    kept = cache / f"github-openapi-{version}.json"
    if kept.is_file():
        return kept
    folder = cache / "github-openapi.part"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    subprocess.run(["npm", "pack", "--silent", OPENAPI], cwd=folder, check=True, capture_output=True)
    with tarfile.open(next(folder.glob("*.tgz"))) as archive:
        member = archive.extractfile(_DESCRIPTION)
        assert member is not None
        part = folder / "description.json"
        with part.open("wb") as file:
            shutil.copyfileobj(member, file)
    part.rename(kept)
    shutil.rmtree(folder)
    return kept
