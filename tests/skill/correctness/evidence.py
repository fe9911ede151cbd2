"""Evidence to decide on: a recorded run, and one in which everything is as it should be, to be spoilt a little."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from tileport_skill.correctness.records import Comparison, Evidence, Kernel, Observation, Value

RECORDED = Path(__file__).parents[2] / "data" / "correctness" / "swiglu.json"
ITEM = "call 0, padded rows"
MARKED = "call 0, two streams"
REFERENCE_KERNEL = "_swiglu_forward_kernel_Kt1_A2f32_1v4l0_2t1_3i16_p16_I1024_B0"
PORT_KERNEL = "swiglu_forward_kernel_entry"
TORCH_COPY = "void at::native::elementwise_kernel<direct_copy_kernel_cuda>"
_OUTPUT = Value(
    type="torch.Tensor",
    dtype="torch.float32",
    shape=(8, 4),
    stride=(4, 1),
    device="cuda:0",
    requires_grad=True,
)


def recorded() -> Evidence:
    """What an H200 said of the port that TileGym ships, which has no backward pass."""
    return TypeAdapter(Evidence).validate_json(RECORDED.read_text(encoding="utf-8"))


def flawless() -> Evidence:
    """The same run, its forward tests alone, and two calls made again as they would be by a port without fault."""
    evidence = recorded()
    forward = tuple(run.id for run in evidence.reference.tests if "forward" in run.id)
    sides = {}
    for side, kernel in (("reference", REFERENCE_KERNEL), ("port", PORT_KERNEL)):
        found = getattr(evidence, side)
        work = (Kernel(name=TORCH_COPY, stream=7), Kernel(name=kernel, stream=7))
        observations = (
            Observation(item=ITEM, error=None, outputs=(_OUTPUT,), gradients=(_OUTPUT,), work=work, stream=7),
            Observation(item=MARKED, error=None),
        )
        sides[side] = dataclasses.replace(
            found,
            tests=tuple(run for run in found.tests if run.id in forward),
            observations=observations,
            fingerprint={"tilegym.ops.cutile.swiglu._settings": "aa", "tests.common.compare_tensors": "bb"},
        )
    compared = tuple(Comparison(item=item, identical=True, problems=()) for item in (ITEM, MARKED))
    return dataclasses.replace(evidence, **sides, comparisons=compared)


def with_port(evidence: Evidence, **changes: Any) -> Evidence:
    """The port's side changed."""
    return dataclasses.replace(evidence, port=dataclasses.replace(evidence.port, **changes))


def with_test(evidence: Evidence, **changes: Any) -> Evidence:
    """The port's first test changed."""
    first, *rest = evidence.port.tests
    return with_port(evidence, tests=(dataclasses.replace(first, **changes), *rest))


def with_call(evidence: Evidence, **changes: Any) -> Evidence:
    """The port's first call changed."""
    first, *rest = evidence.port.observations
    return with_port(evidence, observations=(dataclasses.replace(first, **changes), *rest))


def with_output(evidence: Evidence, **changes: Any) -> Evidence:
    """What the port's first call returned, changed."""
    (output,) = evidence.port.observations[0].outputs
    return with_call(evidence, outputs=(dataclasses.replace(output, **changes),))
