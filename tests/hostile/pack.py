"""`python -m tests.hostile.pack OUT.tar.xz`: what a GPU machine needs to judge the port and its variants, in one file.

Either from a finished attempt at silu_and_mul whose work trees were kept, or from two trees and a built library.
TileGym itself goes into the file, so it is for carrying about, not for keeping.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from tests.hostile.catalogue import KERNEL, LIBRARY, PLACES
from tileport_skill.correctness.records import Job, write_json
from tileport_skill.tilegym.operators import find_operator, open_checkout, read_operators
from tileport_skill.tilegym.port_files import declared_entries

OPERATOR = "silu_and_mul"
_LEFT_OUT = shutil.ignore_patterns("target", "__pycache__", ".git", "*.pyc")


def main() -> int:
    options = _parser().parse_args()
    if options.attempt:
        options.base, options.tree = options.attempt / "work" / "base", options.attempt / "work" / "judge"
    if not (options.base and options.tree):
        print("Give --attempt, or --base and --tree.", file=sys.stderr)
        return 2
    library = options.library or options.tree / LIBRARY
    with tempfile.TemporaryDirectory() as folder:
        packed = Path(folder) / "judge"
        fill(packed, options.base, options.tree, library, options.tests)
        with tarfile.open(options.out, "w:xz", preset=6) as archive:
            archive.add(packed, "judge")
    print(f"{options.out}: {options.out.stat().st_size >> 20} MiB")
    return 0


def fill(packed: Path, base: Path, tree: Path, library: Path, tests: Path) -> None:
    """The folder that is packed: `base`, `tree` with the stripped library, `tests_root`, `job.json`."""
    shutil.copytree(base, packed / "base", ignore=_LEFT_OUT)
    shutil.copytree(tree, packed / "tree", ignore=_LEFT_OUT)
    target = packed / "tree" / LIBRARY
    target.parent.mkdir(parents=True)
    shutil.copyfile(library, target)
    # Half of it is names for debuggers.
    subprocess.run(["strip", str(target)], check=True)
    shutil.copytree(tests, packed / "tests_root" / "tests", ignore=_LEFT_OUT)
    operator = find_operator(read_operators(open_checkout(packed / "tree")), OPERATOR)
    job = Job(
        operator=OPERATOR,
        names=operator.aliases,
        reference_module=operator.reference.removesuffix(".py").replace("/", "."),
        kernels=operator.kernels,
        entries=declared_entries((packed / "tree" / PLACES[KERNEL]).read_text(encoding="utf-8")),
        base="base",
        tree="tree",
        package=".",
        tests=(f"tests/ops/test_{OPERATOR}.py",),
        tests_root="tests_root",
        own_tests=False,
        library=LIBRARY,
        library_sha256=hashlib.sha256(target.read_bytes()).hexdigest(),
        tuned=False,
        seed=0,
    )
    write_json(packed / "job.json", job)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile.pack", description=__doc__)
    parser.add_argument("out", type=Path, help="OUT.tar.xz; unpacks to judge/")
    parser.add_argument("--attempt", type=Path, help="folder of a finished attempt with its work trees")
    parser.add_argument("--base", type=Path, help="a tree without the port")
    parser.add_argument("--tree", type=Path, help="the same with the port")
    parser.add_argument("--library", type=Path, help=f"the built library; TREE/{LIBRARY} without")
    parser.add_argument("--tests", type=Path, required=True, help="the tests folder of TileGym's repository")
    return parser


if __name__ == "__main__":
    sys.exit(main())
