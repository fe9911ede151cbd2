"""`make bench`: what tuning takes before a GPU is asked, with an empty cache of cubins, on TileGym's wheel."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tileport_bot.demo import make_target
from tileport_skill.tilegym.operators import find_operator, open_checkout, read_operators
from tileport_skill.tuning.tune import prepare

OPERATORS = ("softmax", "matmul", "attention")


def main() -> None:
    checkout = open_checkout(make_target(Path("build/bench/tilegym")))
    known = read_operators(checkout)
    with tempfile.TemporaryDirectory(prefix="tileport-bench-") as folder:
        os.environ["TILEPORT_CACHE"] = folder
        for name in OPERATORS:
            found = prepare(checkout, find_operator(known, name), "sm_90")
            took = found.capture_seconds + found.assemble_seconds
            print(f"{f'tuning {name}: capture and assembly, s (goal: under 600 on two cores)':<68} {took:.0f}")
            print(f"{f'tuning {name}: kernels assembled, of those wanted':<68} {found.assembled} of {found.kernels}")
            print(f"{f'tuning {name}: seconds of tileiras in all':<68} {found.compiler_seconds:.0f}")
            print(f"{f'tuning {name}: contenders for a GPU, MiB carried':<68} ", end="")
            print(f"{found.plan.contenders}, {found.carried_bytes / 2**20:.1f}")


if __name__ == "__main__":
    main()
