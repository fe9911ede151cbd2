"""Kernels of `tests/data/drafts/.../irregular.py`, drafted from their Tile IR once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tileport_skill.capture.records import Array, Constant, Hints, Parameter, Scalar, Specialisation
from tileport_skill.draft.from_ir.made_up import made_up
from tileport_skill.draft.from_ir.route import entries_of
from tileport_skill.draft.from_ir.samples import Sample, read_samples
from tileport_skill.draft.kernel import Entry
from tileport_skill.draft.operator import KernelDraft, translate
from tileport_skill.draft.oracle.records import Answer, KernelReadings
from tileport_skill.draft.oracle.session import ask
from tileport_skill.draft.source import read_function
from tileport_skill.tilegym.operators import Operator, open_checkout

ROOT = Path(__file__).parents[3] / "data" / "drafts"
REFERENCE = "tilegym/ops/cutile/irregular.py"
OPERATOR = Operator(name="irregular", aliases=("irregular",), reference=REFERENCE, kernels=(), tests=(), ported=False)

KERNELS = (
    "_halved_kernel",
    "_branching_kernel",
    "_halving_kernel",
    "_leaving_kernel",
    "_filled_kernel",
    "_shifted_kernel",
)


def array(name: str, dtype: str = "float32") -> Array:
    return Array(
        name=name,
        dtype=dtype,
        ndim=1,
        index_dtype="int32",
        stride_constant=(1,),
        shape_constant=(None,),
        stride_divisible_by=(1,),
        shape_divisible_by=(1,),
        base_divisible_by=16,
        may_alias_internally=False,
    )


def constant(name: str, value: int) -> Constant:
    return Constant(name=name, type="int", text=repr(value))


def of(kernel: str, *parameters: Parameter) -> Specialisation:
    return Specialisation(
        id=f"{kernel} {parameters}",
        kernel=kernel,
        module="tilegym.ops.cutile.irregular",
        parameters=parameters,
        hints=Hints(),
        calling_convention="t1",
        ir=None,
    )


def specialisations() -> list[Specialisation]:
    found = []
    for dtype in ("bfloat16", "float16"):
        arrays = (array("x", dtype), array("y", dtype))
        found += [of("_halved_kernel", *arrays, constant("TILE", n), constant("PARTS", n // 8)) for n in (32, 64)]
    arrays = (array("x"), array("y"))
    limit, steps = (Scalar(name=name, dtype="int32") for name in ("limit", "steps"))
    whole = (array("x", "int32"), array("y", "int32"))
    return [
        *found,
        of("_branching_kernel", *arrays, limit, constant("TILE", 32)),
        of("_halving_kernel", *arrays, steps, constant("TILE", 32)),
        of("_leaving_kernel", *arrays, limit, constant("TILE", 32)),
        *(
            of("_filled_kernel", *whole, constant("FILLING", n), constant("ROWS", rows), constant("TILE", 2 * rows))
            for n, rows in ((7, 8), (9, 16))
        ),
        of("_shifted_kernel", *whole, constant("TILE", 32)),
    ]


@pytest.fixture(scope="session")
def asked() -> tuple[Answer, tuple[Specialisation, ...]]:
    """What the compiler says of the kernels' source."""
    return ask(open_checkout(ROOT), OPERATOR, specialisations(), "sm_90")


@pytest.fixture(scope="session")
def samples() -> list[Sample]:
    """Their Tile IR, for constants that were never captured too."""
    known = specialisations()
    more = [one for kernel in KERNELS for one in made_up([one for one in known if one.kernel == kernel])]
    found, refused = read_samples(open_checkout(ROOT), known, more, "sm_90")
    assert not refused
    return found


Asked = tuple[Answer, tuple[Specialisation, ...]]


def drafted(asked: Asked, samples: list[Sample], *, declare: bool = False, forced: bool = True) -> KernelDraft:
    """As `draft_kernel` does, without asking again."""

    def from_ir(kernel: KernelReadings) -> list[Entry]:
        mine = [one for one in samples if one.specialisation.kernel == kernel.kernel]
        return entries_of(mine, read_function(kernel.functions[0]), declare=declare)

    untrusted = dict.fromkeys(KERNELS if forced else (), "as asked for")
    return translate("irregular", *asked, declare=declare, from_ir=from_ir, untrusted=untrusted)


@pytest.fixture(scope="session")
def irregular(asked: Asked, samples: list[Sample]) -> KernelDraft:
    return drafted(asked, samples)
