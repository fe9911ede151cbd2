"""`make bench`: seconds for an operator drafted and checked without a build, one at a time, on TileGym's wheel; and
what a draft's launch costs on the host before the library does anything.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cffi
import torch

from tileport_bot.demo import make_target
from tileport_skill import infrastructure
from tileport_skill.draft.table import Asked, make_table
from tileport_skill.infrastructure import MODULE
from tileport_skill.tilegym.operators import find_operator, open_checkout, read_operators

OPERATORS = ("relu", "gelu", "silu_and_mul", "softmax", "rms_norm", "rope", "matmul", "dropout", "attention")
CDEF = """
int32_t cutile_rows(
    const TensorDesc* x, const TensorDesc* w, const TensorDesc* y, float factor, int32_t rows, int32_t tile,
    int32_t grid_x, int32_t grid_y, int32_t grid_z, int32_t num_cta_in_cga, int32_t occupancy,
    int32_t device_id, uint64_t raw_stream);
"""
CALLS, REPEATS = 2000, 25


def main() -> None:
    host_time(make_target(Path("build/bench/tilegym")) / "tilegym/backend/cutile_rs/utils.py")
    checkout = open_checkout(make_target(Path("build/bench/tilegym")))
    known = read_operators(checkout)
    with tempfile.TemporaryDirectory(prefix="tileport-bench-") as folder:
        asked = Asked(checkout=checkout, archs=("sm_90",), out=Path(folder), seconds=900)
        rows = make_table(asked, [find_operator(known, name) for name in OPERATORS], lambda _: None)
    for row in rows:
        print(f"{f'{row.operator} drafted and checked on sm_90, s':<58} {row.seconds:.1f}")
    median = statistics.median(row.seconds for row in rows if row.problem is None)
    print(f"{'median of those that came to an end, s (goal: under 30)':<58} {median:.1f}")


def host_time(utils: Path) -> None:
    """A launch with three arrays into a C function that does nothing; processor time, the least of many repeats."""
    with tempfile.TemporaryDirectory(prefix="tileport-bench-") as folder:
        packing = _module("tilegym.backend.cutile_rs.utils", utils.read_text(encoding="utf-8"))
        packing.bind_kernel_function_cffi = lambda *_: bound  # type: ignore[attr-defined]
        bound = _library(packing._TENSORDESC_CDEF, Path(folder))
        tuner = _module("tilegym.backend.cutile_rs.autotuner", "autotune_launch = get_cache_stats = None")
        text = Path(infrastructure.__file__).with_name("launching.py.txt").read_text(encoding="utf-8")
        for module in (packing, tuner):
            sys.modules[module.__name__] = module
        launching = _module(MODULE, text)
        torch.Tensor.is_cuda = True  # type: ignore[assignment,misc]
        args = (torch.zeros(7, 30), torch.zeros(30), torch.zeros(7, 30), 0.5, 7, 32)
        kernel = launching.kernel(occupancy=2)(lambda *given: ("cutile_rows", given))
        launcher, stream = launching.Launcher("rows", CDEF), types.SimpleNamespace(cuda_stream=0)
        ours = _microseconds(lambda: launcher.launch(stream, (7,), kernel, args))
        launching._described = packing.make_tensor_desc  # type: ignore[attr-defined]
        theirs = _microseconds(lambda: launcher.launch(stream, (7,), kernel, args))
    print(f"{'Python of a launch with three arrays, us':<58} {ours:.1f}")
    print(f"{'the same by make_tensor_desc alone, us':<58} {theirs:.1f}")


def _module(name: str, text: str) -> Any:
    module = types.ModuleType(name)
    exec(compile(text, name, "exec"), vars(module))
    return module


def _library(descriptor: str, folder: Path) -> tuple[cffi.FFI, Any]:
    source, library = folder / "rows.c", folder / "rows.so"
    source.write_text(f"#include <stdint.h>\n{descriptor}{CDEF.rstrip().rstrip(';')} {{ return 0; }}\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    ffi = cffi.FFI()
    ffi.cdef(descriptor + CDEF)
    return ffi, ffi.dlopen(str(library))


def _microseconds(call: Callable[[], object]) -> float:
    found = []
    for _ in range(REPEATS):
        started = time.process_time()
        for _ in range(CALLS):
            call()
        found.append((time.process_time() - started) / CALLS * 1e6)
    return min(found)


if __name__ == "__main__":
    main()
