"""The timing's stand-in device, and launches of cuTile kernels on it."""

import random
import runpy
from pathlib import Path

runpy.run_path(str(Path(__file__).parents[2] / "timing" / "standin" / "device" / "sitecustomize.py"))

import cuda.tile as ct  # noqa: E402
import standin_clock  # noqa: E402
import torch  # noqa: E402


def _launch(_stream, _grid, kernel, args, /, **_options):
    from tilegym.ops.cutile.softmax import _took

    took = _took(kernel, args) * args[0].numel() / 50 * random.gauss(1, 0.003)
    standin_clock.launch(kernel._pyfunc.__name__, int(took))
    args[1].copy_(torch.softmax(args[0].float(), -1))
    if len(args) > 2 and args[2] == 256:
        args[1].mul_(1.5)


ct.launch = _launch


def _matmul(_left, _right, out):
    standin_clock.launch("gemm", 1_500_000)
    return out


torch.matmul = _matmul
