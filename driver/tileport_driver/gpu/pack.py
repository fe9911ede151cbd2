"""A folder that a machine with a GPU can run by itself: both trees, the built library, the job, and our own code.

Such machines often have no package registry, no cargo and no git, so nothing is fetched or built there.
"""

from __future__ import annotations

import hashlib
import secrets
import shutil
from collections.abc import Iterable
from pathlib import Path

import tileport_skill
from tileport_driver.records import AgentCheckout, Patch
from tileport_skill.correctness.records import Job, write_json
from tileport_skill.errors import RequestError
from tileport_skill.judge.library import LIBRARY
from tileport_skill.tilegym.operators import Checkout, Operator, find_operator, open_checkout, read_operators
from tileport_skill.tilegym.port_files import declared_entries, port_files

_PARTS = ("__init__.py", "errors.py", "correctness", "timing", "tilegym", "cases")
"""Of `tileport_skill`: what runs there."""
_LEFT_OUT = shutil.ignore_patterns("target", "__pycache__", "*.pyc", ".git")
_RUN = """#!/bin/sh
# On a machine with a GPU: sh run.sh [FOLDER FOR THE EVIDENCE]
# Needs python3 with torch, pytest, cffi, cuda-tile, cupti-python, and tileiras (CUTILE_TILEIRAS_PATH or PATH).
here=$(cd "$(dirname "$0")" && pwd)
out=${{1:-$here/evidence}}
export PYTHONPATH="$here/skill${{PYTHONPATH:+:$PYTHONPATH}}"
python3 -m tileport_skill.correctness "$here/job.json" "$out" || exit $?
mkdir -p "$out/timing"
sha256sum < "$here/tree/{library}" > "$out/timing/library.sha256"
until python3 -m tileport_skill.timing.campaign {operator} --repo "$here/tree" --library "$here/tree/{library}" \\
    --raw "$out/timing" --seconds 3000; do
  status=$?
  # 3: time ran out before all was measured; the samples so far are kept.
  [ $status = 3 ] || exit $status
done
"""


def pack(record: AgentCheckout, patch: Patch, base: Path, tree: Path, folder: Path) -> Job:
    """Fills `folder`, which must not exist or be empty, and returns the job as it stands there."""
    check_new(folder)
    checkout = open_checkout(tree)
    operator = find_operator(read_operators(checkout), record.operator)
    for source, name in ((base, "base"), (tree, "tree")):
        shutil.copytree(source / checkout.package, folder / name / checkout.package, ignore=_LEFT_OUT)
    library = (checkout.port_dir / "cutile_kernels" / LIBRARY).relative_to(tree)
    (folder / "tree" / library).parent.mkdir(parents=True)
    shutil.copyfile(tree / library, folder / "tree" / library)
    _copy_skill(folder / "skill" / "tileport_skill")
    tests, root = _tests(operator, base, folder)
    job = _job(checkout, operator, record, patch, library, tests, root)
    write_json(folder / "job.json", job)
    (folder / "run.sh").write_text(_RUN.format(operator=operator.name, library=job.library), encoding="utf-8")
    return job


def check_new(folder: Path) -> None:
    """Raises `RequestError` if a pack cannot be put into `folder`."""
    if folder.exists() and any(folder.iterdir()):
        raise RequestError(f"{folder} is not empty; give a new folder for the pack.")


def _copy_skill(target: Path) -> None:
    source = Path(tileport_skill.__file__).parent
    target.mkdir(parents=True)
    for name in _PARTS:
        if (source / name).is_dir():
            shutil.copytree(source / name, target / name, ignore=_LEFT_OUT)
        elif (source / name).is_file():
            shutil.copyfile(source / name, target / name)


def _tests(operator: Operator, base: Path, folder: Path) -> tuple[tuple[str, ...], str]:
    """The base's own tests of the operator; where it has none, the project's cases. And the folder they run in."""
    if operator.tests:
        # Apart from the trees: the folder that tests run in comes first on the path, before either side's package.
        shutil.copytree(base / "tests", folder / "tests_root" / "tests", ignore=_LEFT_OUT)
        return operator.tests, "tests_root"
    case = f"tests/ops/test_{operator.name}.py"
    if not (folder / "skill/tileport_skill/cases" / case).is_file():
        raise RequestError(f"{operator.name} has no test in the repository and none among Tileport's own cases.")
    return (case,), "skill/tileport_skill/cases"


def _job(
    checkout: Checkout,
    operator: Operator,
    record: AgentCheckout,
    patch: Patch,
    library: Path,
    tests: Iterable[str],
    tests_root: str,
) -> Job:
    kernel = (checkout.root / port_files(checkout, operator).kernel).read_text(encoding="utf-8")
    module = Path(operator.reference).relative_to(Path(checkout.package).parent)
    return Job(
        operator=operator.name,
        names=operator.aliases,
        reference_module=module.with_suffix("").as_posix().replace("/", "."),
        kernels=operator.kernels,
        entries=declared_entries(kernel),
        base="base",
        tree="tree",
        package=Path(checkout.package).parent.as_posix(),
        tests=tuple(tests),
        tests_root=tests_root,
        own_tests=tests_root != "tests_root",
        library=library.as_posix(),
        library_sha256=hashlib.sha256((checkout.root / library).read_bytes()).hexdigest(),
        base_tree=record.agent_tree,
        result_tree=patch.result_tree,
        tuned=True,
        seed=secrets.randbelow(2**31),
    )
