"""What host code does around launches is recorded: all of the operator's, nothing of the tests'."""

from __future__ import annotations

import pytest
from tests.skill.capture.conftest import CHECKOUT, Run

from tileport_skill.capture.analysis import Analysis, Variant, analyse
from tileport_skill.capture.records import Capture, HostOperation, Launch
from tileport_skill.tilegym.operators import find_operator, open_checkout, read_operators


@pytest.fixture(scope="module")
def padded(run: Run) -> Capture:
    return run("padded")


@pytest.fixture(scope="module")
def variants(padded: Capture) -> dict[str, Variant]:
    checkout = open_checkout(CHECKOUT)
    found: Analysis = analyse(checkout, find_operator(read_operators(checkout), "padded"), [padded])
    return {variant.kernel: variant for variant in found.variants}


def around(padded: Capture, test: str) -> tuple[list[HostOperation], Launch, list[HostOperation]]:
    (launch,) = [one for one in padded.launches if one.test.endswith(test)]
    return [padded.host[n] for n in launch.before], launch, [padded.host[n] for n in launch.after]


def test_casts_and_allocations_before_a_launch_name_what_they_feed_and_views_are_left_out(padded: Capture) -> None:
    before, launch, _ = around(padded, "test_op[True-64]")
    assert launch.kernel == "_wide_kernel"
    assert [(o.operation, o.feeds) for o in before] == [
        ("aten._to_copy", ("_wide_kernel.x",)),
        ("aten.empty.memory_format", ("_wide_kernel.out",)),
        ("aten.zeros", ("_wide_kernel.counts",)),
    ]
    cast = before[0]
    assert [(t.dtype, t.shape) for t in (*cast.inputs, *cast.outputs)] == [("float32", (3, 64)), ("float16", (3, 64))]
    assert cast.where == "tilegym/ops/cutile/padded.py:22"


def test_what_follows_the_last_launch_names_what_it_reads(padded: Capture) -> None:
    _, _, after = around(padded, "test_op[False-64]")
    assert [(o.operation, o.takes) for o in after] == [("aten.sum", ("_narrow_kernel.out",)), ("aten._to_copy", ())]


def test_the_tests_own_work_is_none_of_the_operators(padded: Capture) -> None:
    assert not [o for o in padded.host if not o.where.startswith("tilegym/")]
    assert not [o for o in padded.host if o.operation.startswith(("aten.mul", "aten.randn"))]


def test_equal_operations_are_kept_once(padded: Capture) -> None:
    assert len(set(padded.host)) == len(padded.host)
    numbers = [n for launch in padded.launches for n in (*launch.before, *launch.after)]
    assert len(numbers) > len(padded.host)


def test_an_analysis_sums_it_up_by_line(variants: dict[str, Variant]) -> None:
    (cast,) = [w for w in variants["_wide_kernel"].host if w.place == "before" and w.operation == "aten._to_copy"]
    assert (cast.launches, cast.feeds) == (variants["_wide_kernel"].launches, ("_wide_kernel.x",))
    assert cast.types[0] == "float32[3, 256] -> float16[3, 256]"
    assert cast.options == ("dtype=torch.float16",)


def test_what_selects_a_kernel_is_learnt_from_its_calls(variants: dict[str, Variant]) -> None:
    (selector,) = variants["_wide_kernel"].selected_by
    assert (selector.function, selector.launching, selector.others) == ("padded_copy", 7, 8)
    assert selector.predicate == "wide == True or (wide == None and x.size(1) >= 256)"
