"""`python -m tileport_skill.correctness.compare REFERENCE PORT CALLS OUT`: both sides' values, in a third process."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tileport_skill.correctness import files
from tileport_skill.correctness.records import Comparison, to_json

DEFAULTS = {
    "torch.float64": (1e-12, 1e-15),
    "torch.float32": (1e-5, 1e-6),
    "torch.float16": (1e-2, 1e-2),
    "torch.bfloat16": (1e-2, 2e-2),
    "torch.float8_e4m3fn": (0.1, 0.1),
    "torch.float8_e5m2": (0.5, 0.5),
}
"""(rtol, atol) where the test that made a call states none: TileGym's own by type."""
_MESSAGE = 300


def main() -> int:
    reference, port, calls, out = map(Path, sys.argv[1:5])
    items = _items(reference, port)
    tolerances = _tolerances(calls) if items else {}
    with out.open("w", encoding="utf-8") as file:
        for number, item in items:
            expected = _load(reference / files.VALUES / f"{number:04}.pt")
            if expected is None:
                continue
            try:
                actual = _load(port / files.VALUES / f"{number:04}.pt")
            except Exception as error:
                # Whatever the port's process left is the port's own doing, not a fault of ours.
                problem = f"what the port returned cannot be read: {str(error)[:_MESSAGE]}"
                file.write(to_json(Comparison(item=item, identical=False, problems=(problem,))) + "\n")
                continue
            if actual is None:
                continue
            stated = tolerances.get(item.split(",")[0])
            problems = compare(expected, actual, stated, "")
            same = _identical(expected, actual)
            file.write(to_json(Comparison(item=item, identical=same, problems=tuple(problems))) + "\n")
    return 0


def compare(expected: Any, actual: Any, stated: Any, where: str) -> list[str]:
    """What differs by more than the tolerance, a sentence each. `stated` is (rtol, atol), either None."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        if "samples" in expected:
            return _compare_tensors(expected["samples"], actual.get("samples"), stated, f"{where} (samples)")
        return [
            p for key in expected for p in compare(expected[key], actual.get(key), stated, f"{where} {key}".strip())
        ]
    if isinstance(expected, list) and isinstance(actual, list):
        if len(expected) != len(actual):
            return [f"{where}: {len(actual)} values instead of {len(expected)}"]
        pairs = enumerate(zip(expected, actual, strict=True))
        return [p for n, (one, other) in pairs for p in compare(one, other, stated, f"{where}[{n}]")]
    if hasattr(expected, "shape"):
        return _compare_tensors(expected, actual, stated, where)
    return [] if expected == actual else [f"{where}: {actual!r} instead of {expected!r}"]


def _compare_tensors(expected: Any, actual: Any, stated: Any, where: str) -> list[str]:
    if not hasattr(actual, "shape"):
        return [f"{where}: no tensor"]
    if expected.shape != actual.shape or expected.dtype != actual.dtype:
        shapes = f"{tuple(actual.shape)} {actual.dtype} instead of {tuple(expected.shape)} {expected.dtype}"
        return [f"{where}: {shapes}"]
    if not expected.numel() or _same_bytes(expected, actual):
        return []
    if not expected.dtype.is_floating_point:
        wrong = int((expected != actual).sum())
        return [f"{where}: {wrong} of {expected.numel()} values differ"] if wrong else []
    one, other = expected.double(), actual.double()
    lost = int((one.isfinite() & ~other.isfinite()).sum())
    if lost:
        return [f"{where}: {lost} of {expected.numel()} values are not finite where the reference's are"]
    rtol, atol = _tolerance(str(expected.dtype), stated)
    wrong_at = ~((other - one).abs() <= atol + rtol * one.abs()) & ~(one.isnan() & other.isnan()) & (one != other)
    wrong = int(wrong_at.sum())
    if not wrong:
        return []
    worst = float((other - one).abs()[wrong_at].max())
    return [
        f"{where}: {wrong} of {expected.numel()} values differ by more than {rtol:g}·|x| + {atol:g}, up to {worst:.3g}"
    ]


def _tolerance(dtype: str, stated: Any) -> tuple[float, float]:
    default = DEFAULTS.get(dtype, (1e-5, 1e-6))
    rtol, atol = stated or (None, None)
    return (default[0] if rtol is None else float(rtol), default[1] if atol is None else float(atol))


def _identical(expected: Any, actual: Any) -> bool:
    if isinstance(expected, dict):
        return isinstance(actual, dict) and all(_identical(expected[key], actual.get(key)) for key in expected)
    if isinstance(expected, list):
        same = isinstance(actual, list) and len(actual) == len(expected)
        return same and all(_identical(one, other) for one, other in zip(expected, actual, strict=True))
    if hasattr(expected, "shape"):
        alike = hasattr(actual, "shape") and expected.shape == actual.shape and expected.dtype == actual.dtype
        return alike and _same_bytes(expected, actual)
    return bool(expected == actual)


def _same_bytes(expected: Any, actual: Any) -> bool:
    import torch

    return torch.equal(_as_bytes(expected), _as_bytes(actual))


def _as_bytes(tensor: Any) -> Any:
    import torch

    return tensor.contiguous().reshape(-1).view(torch.uint8)


def _items(reference: Path, port: Path) -> list[tuple[int, str]]:
    """Items both sides came to: they are the same list in the same order."""
    sides = [_names(reference), _names(port)]
    return [(n, one) for n, (one, other) in enumerate(zip(*sides, strict=False)) if one == other]


def _names(folder: Path) -> list[str]:
    path = folder / files.OBSERVED
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return [str(json.loads(line)["item"]) for line in lines]


def _tolerances(calls: Path) -> dict[str, Any]:
    import torch

    paths = sorted(calls.glob("*.pt"))
    loaded = [torch.load(path, map_location="cpu", weights_only=False) for path in paths]
    return {f"call {number}": call["tolerances"] for number, call in enumerate(loaded)}


def _load(path: Path) -> Any:
    """Plain tensors only: what the port's process wrote is data, and must not become code here."""
    import torch

    return torch.load(path, map_location="cpu", weights_only=True) if path.is_file() else None


def read_comparison(line: str) -> Comparison:
    """A comparison as `to_json` left it."""
    found = json.loads(line)
    return Comparison(item=found["item"], identical=found["identical"], problems=tuple(found["problems"]))


if __name__ == "__main__":
    sys.exit(main())
