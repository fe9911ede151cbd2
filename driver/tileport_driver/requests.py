"""A person's words -> a validated `PortRequest`. Everything that can be refused is refused here, before any work."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from tileport_driver.broker.script import load_script
from tileport_driver.git import GitError, resolve_commit, run_git
from tileport_driver.near_twins import near_twins
from tileport_driver.records import EngineName, PortRequest
from tileport_skill.errors import RequestError
from tileport_skill.tilegym.operators import (
    Checkout,
    Operator,
    find_operator,
    names_without_reference,
    open_checkout,
    read_operators,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a user asked for, in the user's spelling."""

    operator: str
    repository: Path
    engine: EngineName
    script: Path | None = None
    base: str = "HEAD"
    keep: bool = False
    also_hidden: tuple[str, ...] = ()
    """Other operators whose ports are hidden too, in any spelling."""
    hide_twins: bool = False
    """Hide every port that is nearer to this one than ports are anyway."""
    roles: bool = True
    """Whether an agent works by the skill's roles; else in one conversation."""
    draft: bool = True
    """Whether an agent begins at a draft; `engine` none is nothing but one."""
    declare: bool = False
    """Whether a draft may itself declare what the crate has no word for."""


def make_request(order: Order) -> PortRequest:
    """Raises `RequestError` saying what is wrong and what would be right."""
    repository = repository_root_of(order.repository)
    checkout = open_checkout(repository)
    operator = _operator(checkout, order.operator)
    if order.script is not None:
        load_script(order.script)
    commit = commit_of(repository, order.base)
    reference = _reference_at(repository, commit, operator.reference)
    return PortRequest(
        repository=str(repository),
        operator=operator.name,
        base_commit=commit,
        reference_hash=hashlib.sha256(reference).hexdigest(),
        engine=order.engine,
        script=str(order.script.resolve()) if order.script else None,
        draft=order.draft,
        declare=order.declare,
        roles=order.roles,
        keep=order.keep,
        also_hidden=_also(checkout, operator, order),
    )


def _also(checkout: Checkout, operator: Operator, order: Order) -> tuple[str, ...]:
    named = {_operator(checkout, name).name for name in order.also_hidden}
    twins = near_twins(checkout, operator, read_operators(checkout)) if order.hide_twins else {}
    return tuple(sorted((named | twins.keys()) - {operator.name}))


def _operator(checkout: Checkout, spelling: str) -> Operator:
    try:
        return find_operator(read_operators(checkout), spelling)
    except RequestError:
        registered = names_without_reference(checkout).get(spelling)
        if registered is None:
            raise
        raise RequestError(
            f"{spelling} has no cuTile Python reference: only {registered} registers it, so there is nothing to "
            "port from and nothing to prove a port equal to."
        ) from None


def repository_root_of(path: Path) -> Path:
    """The root of the git repository `path` lies in."""
    try:
        return Path(run_git("-C", str(path), "rev-parse", "--show-toplevel").decode().strip())
    except GitError as error:
        raise RequestError(f"{path} is no git repository. Give a TileGym checkout with --repo.") from error


def commit_of(repository: Path, revision: str) -> str:
    """The commit `revision` names. Raises `RequestError` if there is none."""
    try:
        return resolve_commit(repository, revision)
    except GitError as error:
        raise RequestError(f"{repository} has no commit {revision!r}. Commit the operators first.") from error


def _reference_at(repository: Path, commit: str, path: str) -> bytes:
    try:
        return run_git("-C", str(repository), "cat-file", "blob", f"{commit}:{path}")
    except GitError as error:
        raise RequestError(f"{path} is not part of commit {commit[:12]}: commit it first, then ask again.") from error
