"""`tileport infra`: what ports share, delivered once a repository: its own branch, its own list of allowed paths.

No agent and no port is in it, and nothing of it is needed to port: a draft made where it is merged is shorter by it.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from tileport_driver.deliver import message, place
from tileport_driver.git import GitError, TrustedRepository, check_out, fetch_commit, open_trusted, resolve_commit
from tileport_driver.records import Delivery
from tileport_driver.requests import repository_root_of
from tileport_skill.errors import MachineryError, RequestError
from tileport_skill.infrastructure import infrastructure_of, new_texts
from tileport_skill.tilegym.operators import open_checkout

BRANCH = "port/infrastructure"
TITLE = "Add what drafted cuTile Rust ports share"
_WHAT = """\
- `{launching}`: launches an entry of the kernels' library on the caller's stream, with the device's ordinal and the
  compiler's hints, and runs a reference's tuning space through TileGym's autotuner.
- `{ffi_util}`: three functions more: are sizes and strides ones that a kernel can be told of, a tensor on
  the device it is on (`borrow_tensor` says device 0), and what tensor cores read instead of an element type.

Nothing that is there is changed, no kernel is in it, and no port needs it: one that is drafted where this is merged
imports these parts instead of carrying them itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """The branch, and the pull request that a person opens of it."""

    delivery: Delivery
    files: tuple[str, ...]
    body: str


def deliver_infrastructure(repository: Path, base: str) -> Delivered | None:
    """Makes or adopts the branch on `base`; None where the repository has it all. Raises `RequestError`."""
    target = repository_root_of(repository)
    try:
        commit = resolve_commit(target, base)
    except GitError as error:
        raise RequestError(f"{target} has no commit {base!r}.") from error
    with tempfile.TemporaryDirectory(prefix="tileport-infra-") as folder:
        tree = Path(folder) / "tree"
        trusted = open_trusted(Path(folder) / "trusted.git", tree)
        fetch_commit(trusted, target, commit)
        check_out(trusted, trusted.run("rev-parse", f"{commit}^{{tree}}").decode().strip())
        checkout = open_checkout(tree)
        texts = new_texts(checkout)
        if not texts:
            return None
        for path, text in texts.items():
            (tree / path).write_text(text, encoding="utf-8")
        made = trusted.write_tree()
        paths = infrastructure_of(checkout)
        _check_paths(trusted, commit, paths.allowed)
        body = _WHAT.format(launching=paths.launching, ffi_util=paths.ffi_util)
        ours = trusted.commit_tree(made, message(TITLE, "infrastructure", body), parent=commit)
        delivery = place(trusted, target, BRANCH, ours, "infrastructure")
    return Delivered(delivery=delivery, files=tuple(texts), body=body)


def _check_paths(trusted: TrustedRepository, base: str, allowed: tuple[str, ...]) -> None:
    changed = trusted.run("diff", "--cached", "--name-only", "-z", base).decode().split("\0")
    if outside := [path for path in changed if path and path not in allowed]:
        raise MachineryError(f"the infrastructure change would touch {', '.join(outside)}, which it may not.")
