"""A port as it stands in a commit, judged as a new one is: taken out of the tree, and put back as a patch.

The patch holds the port's six files as the commit has them; whatever else the commit changes is part of the base. So
the reference is captured from the commit too, where the port is not, and both only in the acceptance container.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from tileport_driver import checkout as checkouts
from tileport_driver.git import open_trusted
from tileport_driver.judge_patch import Question, judge_patch
from tileport_driver.progress import Progress
from tileport_driver.records import Acceptance
from tileport_driver.requests import commit_of, repository_root_of
from tileport_driver.store import AttemptFolder
from tileport_skill.errors import RequestError


def review_port(
    repository: Path,
    revision: str,
    operator: str,
    progress: Progress,
    stop: Callable[[], bool],
    *,
    gpu: bool = False,
    tuning: bool = False,
) -> tuple[Acceptance, AttemptFolder]:
    """Judges the port of `operator` at `revision`; without `gpu` only what a CPU can.

    The sources' broken rules do not keep it from being built and compared: a reviewer wants to know both.
    """
    root = repository_root_of(repository)
    commit = commit_of(root, revision)
    with TemporaryDirectory(prefix="tileport-review-") as folder:
        patch = Path(folder) / "patch.diff"
        patch.write_bytes(port_as_patch(root, commit, operator, Path(folder)))
        question = Question(
            patch=patch, operator=operator, repository=root, base=commit, go_on=True, gpu=gpu, tuning=tuning
        )
        return judge_patch(question, progress, stop)


def port_as_patch(repository: Path, commit: str, operator: str, scratch: Path) -> bytes:
    """The port's files as `commit` has them, against the same tree without them. Raises `RequestError` if it has none.

    `operator` is its exact name; `scratch` a folder that is thrown away.
    """
    tree, git_dir = scratch / "tree", scratch / "trusted.git"
    try:
        record = checkouts.prepare(repository, commit, operator, git_dir, tree)
    except (
        SyntaxError,
        ValueError,
        RecursionError,
        MemoryError,
    ) as error:  # whoever wrote the commit wrote these files
        raise RequestError(f"The commit's Python cannot be read: {error or type(error).__name__}.") from error
    paths = [f":(literal){path}" for path in record.allowed]
    plain = ("--binary", "--full-index", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames")
    diff = open_trusted(git_dir, tree).run("diff", *plain, record.agent_tree, record.base_tree, "--", *paths)
    if not diff:
        raise RequestError(f"{operator} has no cuTile Rust port at {commit[:12]}, so there is nothing to review.")
    return diff
