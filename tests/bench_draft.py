"""`make bench`: seconds for an operator drafted and checked without a build, one at a time, on TileGym's wheel."""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path

from tileport_bot.demo import make_target
from tileport_skill.draft.table import Asked, make_table
from tileport_skill.tilegym.operators import find_operator, open_checkout, read_operators

OPERATORS = ("relu", "gelu", "silu_and_mul", "softmax", "rms_norm", "rope", "matmul", "dropout", "attention")


def main() -> None:
    checkout = open_checkout(make_target(Path("build/bench/tilegym")))
    known = read_operators(checkout)
    with tempfile.TemporaryDirectory(prefix="tileport-bench-") as folder:
        asked = Asked(checkout=checkout, archs=("sm_90",), out=Path(folder), seconds=900)
        rows = make_table(asked, [find_operator(known, name) for name in OPERATORS], lambda _: None)
    for row in rows:
        print(f"{f'{row.operator} drafted and checked on sm_90, s':<58} {row.seconds:.1f}")
    median = statistics.median(row.seconds for row in rows if row.problem is None)
    print(f"{'median of those that came to an end, s (goal: under 30)':<58} {median:.1f}")


if __name__ == "__main__":
    main()
