"""A port as it stands in a commit, judged as a new one is: taken out of the tree, and put back as a patch.

The patch holds the port's six files as the commit has them; whatever else the commit changes is part of the base. So
the reference is captured from the commit too, where the port is not, and both only in the acceptance container.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from tileport_driver import checkout as checkouts
from tileport_driver import jobs
from tileport_driver.git import open_trusted
from tileport_driver.gpu.judging import command_line, not_run
from tileport_driver.judge_patch import Question, judge_patch
from tileport_driver.patch import read_patch
from tileport_driver.progress import Progress
from tileport_driver.records import Acceptance, AgentCheckout, Delivery, NotRun, Unproved
from tileport_driver.requests import Order, commit_of, make_request, repository_root_of
from tileport_driver.store import AttemptFolder, new_attempt
from tileport_skill.errors import RequestError
from tileport_skill.tilegym.operators import find_operator, open_checkout, read_operators


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
    operator = find_operator(read_operators(open_checkout(root)), operator).name
    with TemporaryDirectory(prefix="tileport-review-") as folder:
        patch = Path(folder) / "patch.diff"
        patch.write_bytes(port_as_patch(root, commit, operator, Path(folder)))
        question = Question(
            patch=patch, operator=operator, repository=root, base=commit, go_on=True, gpu=gpu, tuning=tuning
        )
        return judge_patch(question, progress, stop)


def enter_for_gpu(repository: Path, commit: str, operator: str) -> str:
    """Enters the port at `commit` into the GPU queue, once; the attempt whose record will say what came of it.

    `repository` has to stay as it is until the job is done. It counts as no attempt at porting.
    """
    request = make_request(Order(operator=operator, repository=repository, engine="none", base=commit))
    attempt = new_attempt(request, f"{request.operator}-check-{commit[:12]}")
    if attempt.outcome() is None:
        with TemporaryDirectory(prefix="tileport-check-") as folder:
            record, diff = port_at(repository, commit, request.operator, Path(folder))
            trusted = open_trusted(Path(folder) / "trusted.git", Path(folder) / "tree")
            attempt.write("patch", read_patch(record, trusted, diff))
        attempt.diff.write_bytes(diff)
        attempt.write("checkout", record)
        missing = tuple(
            gate for gate in not_run("It waits for a GPU.", command_line(record)) if isinstance(gate, NotRun)
        )
        delivery = Delivery(branch=f"a pull request at {commit[:12]}", commit=commit)
        attempt.write("outcome", Unproved(delivery=delivery, missing=missing))
    jobs.submit(request, "gpu", attempt.id)
    return attempt.id


def port_as_patch(repository: Path, commit: str, operator: str, scratch: Path) -> bytes:
    """The port's files as `commit` has them, against the same tree without them."""
    return port_at(repository, commit, operator, scratch)[1]


def port_at(repository: Path, commit: str, operator: str, scratch: Path) -> tuple[AgentCheckout, bytes]:
    """The tree without the port, and the port as a patch to it. Raises `RequestError` if there is none.

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
    return record, diff
