"""How fast a call could be: bytes and operations counted from its capture, against peaks measured on the machine. Pure.

Bytes are what must be moved once: every input read, every output written. Operations are counted for matrix products
alone, from the formula of the operator; without one a call is held against memory only, and says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tileport_skill.capture.records import Argument, ListArgument, TensorArgument
from tileport_skill.tuning.explored import Way

_BYTES = {"float64": 8, "int64": 8, "float32": 4, "int32": 4, "float16": 2, "bfloat16": 2, "int16": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Peaks:
    """What this machine was measured to do at best."""

    bytes_per_second: float
    """A copy, read and written bytes together."""
    flops: float
    """A large product of float16 by torch."""


def work_of(way: Way) -> dict[str, int]:
    """Bytes of each storage that the call's launches take, each once: its largest view.

    What one launch leaves for the next is counted too, so a call of several kernels has more than it must.
    """
    largest: dict[int, int] = {}
    for site in way.sites:
        for launch in site.launches:
            for tensor in (one for argument in launch.arguments for one in _tensors(argument)):
                size = math.prod(tensor.shape) * _BYTES.get(tensor.dtype, 1)
                largest[tensor.storage] = max(largest.get(tensor.storage, 0), size)
    return {"bytes": sum(largest.values())}


def _tensors(argument: Argument) -> list[TensorArgument]:
    if isinstance(argument, TensorArgument):
        return [argument]
    if isinstance(argument, ListArgument):
        return [one for one in argument.items if isinstance(one, TensorArgument)]
    return []


def flops_of(operator: str, row: Mapping[str, Any]) -> float | None:
    """Operations of the matrix products that a row of `operator` asks for; None where no formula is kept."""
    formula = _FLOPS.get(operator)
    return None if formula is None else float(formula(row))


def fraction(seconds: float, moved: float, flops: float | None, peaks: Peaks) -> float:
    """The time that the machine's peaks allow ÷ the time taken."""
    least = max(moved / peaks.bytes_per_second, (flops or 0.0) / peaks.flops)
    return least / seconds


def _attention(row: Mapping[str, Any]) -> float:
    pairs = row["length"] ** 2 / (2 if row.get("causal", True) else 1)
    return float(4 * row["batch"] * row["heads"] * pairs * (row["head_dim"] + row.get("pe_dim", 0) / 2))


def _sink(row: Mapping[str, Any]) -> float:
    """Each query sees the keys up to its own position, and at most the window."""
    seen = 0.0
    for query in range(row["queries"]):
        keys = min(query + 1, row["keys"])
        seen += min(keys, row["window"]) if row["window"] else keys
    return float(4 * row["batch"] * row["kv_heads"] * row["groups"] * seen * row["head_dim"])


_FLOPS: Mapping[str, Callable[[Mapping[str, Any]], float]] = {
    "attention": _attention,
    "attention_sink": _sink,
    "bmm": lambda row: 2 * row["batch"] * row["size"] ** 3,
    "flash_decode": lambda row: 4 * row["batch"] * row["heads"] * row["length"] * row["head_dim"],
    "group_gemm": lambda row: 2 * row["groups"] * row["m"] * row["n"] * row["k"],
    "matmul": lambda row: 2 * row["m"] * row["n"] * row["k"],
    "mla": _attention,
}
