"""Exporting one kernel under many hints at once gives what cuTile's own compiler gives for each."""

from __future__ import annotations

from pathlib import Path

import cuda.tile as ct
import pytest
from cuda.tile._compile import compile_tile, parse_bytecode_version
from cuda.tile._execution import kernel as Kernel
from cuda.tile.compilation import ArrayConstraint, CallingConvention, ConstantConstraint, KernelSignature

from tileport_skill.capture.inside.export import BYTECODE_VERSION, Exporter, _Job
from tileport_skill.kernel_code import code_digest


@ct.kernel
def _twice(x, y, TILE: ct.Constant[int]):  # type: ignore[no-untyped-def]
    tile = ct.load(x, (ct.bid(0),), (TILE,))
    ct.store(y, (ct.bid(0),), tile + tile)


def signature() -> KernelSignature:
    array = ArrayConstraint(
        ct.float32,
        1,
        index_dtype=ct.int32,
        stride_lower_bound_incl=(None,),
        alias_groups=(),
        may_alias_internally=False,
        stride_constant=(1,),
        shape_constant=(None,),
        stride_divisible_by=(1,),
        shape_divisible_by=(16,),
        base_addr_divisible_by=16,
    )
    return KernelSignature(
        (array, array, ConstantConstraint(128)), CallingConvention.cutile_python_v1(), "kernel_entry"
    )


@pytest.mark.parametrize("arch", ["sm_90", "sm_100"])
def test_hints_share_a_front_end_and_change_no_byte(arch: str, tmp_path: Path) -> None:
    kernels: list[Kernel] = [
        _twice.replace_hints(occupancy=n, num_ctas=c) for n, c in ((1, 1), (2, 1), (4, 2), (None, 2))
    ]
    options = {repr(kernel._compiler_options): kernel._compiler_options for kernel in kernels}
    answers = Exporter(arch, "kernel_entry", tmp_path)._compiled(_Job(_twice, signature(), options))
    assert answers.keys() == options.keys()
    for text, chosen in options.items():
        alone = compile_tile(
            _twice._annotated_function,
            [signature()],
            sm_arch=arch,
            compiler_options=chosen,
            return_bytecode=True,
            return_cubin=False,
            bytecode_version=parse_bytecode_version(BYTECODE_VERSION),
        )
        answer = answers[text]
        assert not isinstance(answer, str), answer
        assert (tmp_path / f"{answer.sha256}.tileirbc").read_bytes() == bytes(alone.bytecode)
    assert len({str(answer) for answer in answers.values()}) == len(options)


def test_kernels_of_one_name_have_one_digest_only_if_they_do_the_same() -> None:
    def made(constant: object):  # type: ignore[no-untyped-def]
        def kernel(x):  # type: ignore[no-untyped-def]
            return x, constant

        return kernel

    assert code_digest(made(1)) == code_digest(made(1)) != code_digest(made(2))
    assert code_digest(made(ct.float16)) != code_digest(made(ct.float32))
    assert code_digest(made(made(1))) == code_digest(made(made(1))) != code_digest(made(made(2)))
    assert code_digest(made(object())) == code_digest(made(object()))  # it has no stable spelling
