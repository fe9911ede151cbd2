"""The git side of the fake: GitHub's smart HTTP, served by git itself (`git http-backend`)."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import NamedTuple

from tests.bot.fakegithub.access import has_role, who_speaks
from tests.bot.fakegithub.call import Refuse
from tests.bot.fakegithub.git_store import branches
from tests.bot.fakegithub.state import Repository, World

ENDINGS = ("/info/refs", "/git-upload-pack", "/git-receive-pack")


class GitAnswer(NamedTuple):
    status: int
    headers: list[tuple[str, str]]
    body: bytes
    pushed: Repository | None = None
    before: dict[str, str] | None = None
    """The branches before a push."""


def is_git(path: str) -> bool:
    return path.endswith(ENDINGS)


def serve_git(world: World, method: str, path: str, query: str, headers: dict[str, str], body: bytes) -> GitAnswer:
    ending = next(ending for ending in ENDINGS if path.endswith(ending))
    name = path.removesuffix(ending).strip("/").removesuffix(".git")
    repository = world.repositories.get(world.renamed.get(name.lower(), name).lower())
    pushes = "git-receive-pack" in path or "service=git-receive-pack" in query
    refusal = _refusal(world, repository, headers.get("authorization"), pushes=pushes)
    if refusal is not None:
        return refusal
    assert repository is not None
    before = branches(repository.git)
    workflows = "yes" if _may_push_workflows(world, headers.get("authorization")) else "no"
    status, said, out = _backend(repository.git, method, ending, query, headers, body, workflows)
    pushed = repository if ending == "/git-receive-pack" else None
    return GitAnswer(status, said, out, pushed, before)


def _refusal(
    world: World, repository: Repository | None, authorization: str | None, *, pushes: bool
) -> GitAnswer | None:
    ask = [("WWW-Authenticate", 'Basic realm="GitHub"')]
    try:
        token, _ = who_speaks(world, authorization)
    except Refuse:
        return GitAnswer(401, ask, b"Invalid username or token.")
    if repository is None:
        return GitAnswer(404, [], b"Repository not found.") if token else GitAnswer(401, ask, b"")
    if token is None:
        return GitAnswer(401, ask, b"") if pushes or repository.private else None
    if token.repositories is not None and repository.full_name.lower() not in token.repositories:
        return GitAnswer(404, [], b"Repository not found.")
    if token.permissions is not None:
        allowed = token.permissions.get("contents") == "write" if pushes else "contents" in token.permissions
    else:
        allowed = has_role(world, repository, token.login, "write" if pushes else "read")
    if allowed or (not pushes and not repository.private):
        return None
    return GitAnswer(403, [], f"Permission to {repository.full_name}.git denied to {token.login}.".encode())


def _may_push_workflows(world: World, authorization: str | None) -> bool:
    """An App needs a permission of its own for them; `git_store.PRE_RECEIVE` asks."""
    try:
        token, _ = who_speaks(world, authorization)
    except Refuse:
        return False
    return token is not None and (token.permissions is None or token.permissions.get("workflows") == "write")


def _backend(
    folder: Path, method: str, ending: str, query: str, headers: dict[str, str], body: bytes, workflows: str
) -> tuple[int, list[tuple[str, str]], bytes]:
    environment = {
        **os.environ,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_PROJECT_ROOT": str(folder),
        "GIT_HTTP_EXPORT_ALL": "1",
        "PATH_INFO": ending,
        "REQUEST_METHOD": method,
        "QUERY_STRING": query,
        "CONTENT_TYPE": headers.get("content-type", ""),
        "CONTENT_LENGTH": str(len(body)),
        "REMOTE_USER": "fake",
        "FAKE_WORKFLOWS": workflows,
        "REMOTE_ADDR": "127.0.0.1",
        "HTTP_CONTENT_ENCODING": headers.get("content-encoding", ""),
        "GIT_PROTOCOL": headers.get("git-protocol", ""),
    }
    done = subprocess.run(["git", "http-backend"], input=body, env=environment, capture_output=True, check=True)
    head, _, out = done.stdout.partition(b"\r\n\r\n")
    said = [tuple(line.split(": ", 1)) for line in head.decode().splitlines()]
    status = next((int(value.split()[0]) for name, value in said if name == "Status"), 200)
    return status, [(name, value) for name, value in said if name not in ("Status", "Content-Length")], out
