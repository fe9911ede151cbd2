"""A capture read as what can be tried on each call."""

from __future__ import annotations

from typing import Any

from tileport_skill.capture.records import (
    Bytecode,
    Capture,
    Entry,
    Hints,
    Launch,
    ListArgument,
    Specialisation,
    TensorArgument,
    Test,
    ValueArgument,
)
from tileport_skill.tuning.candidates import Candidate
from tileport_skill.tuning.explored import explored
from tileport_skill.tuning.roofline import Peaks, flops_of, fraction, work_of
from tileport_skill.tuning.shapes import Task, task_of, tunable

TASK = task_of("softmax")


def specialisation(id: str) -> Specialisation:
    return Specialisation(
        id=id,
        kernel="k",
        module="m",
        parameters=(),
        hints=Hints(),
        calling_convention="c",
        ir=Bytecode(sha256=f"ir-{id}", symbol="s"),
    )


def launch(id: str, tile: int, configuration: str | None = None, shape: int = 0, way: int = 0) -> Launch:
    x = TensorArgument(dtype="float16", shape=(64, 256), strides=(256, 1), offset=0, storage=0)
    y = TensorArgument(dtype="float32", shape=(64, 256), strides=(256, 1), offset=0, storage=1)
    return Launch(
        test=f"tests/rows/test_rows.py::test_call[softmax:{shape}:{way}-cutile]",
        purpose="launch" if configuration is None else "tune",
        specialisation=id,
        kernel="k",
        grid=(tile,),
        arguments=(
            x,
            y,
            ListArgument(items=(x, x)),
            ValueArgument(type="int", text=str(tile)),
            ValueArgument(type="bool", text="True"),
            ValueArgument(type="float", text="0.5"),
        ),
        backward=False,
        configuration=configuration,
        entry=0,
    )


def captured(*launches: Launch, tests: tuple[Test, ...] = ()) -> Capture:
    entry = Entry(function="softmax", features=(("x.dtype", "float16"), ("x.size(1)", "256"), ("use_tma", "False")))
    return Capture(
        operators=("softmax",),
        arch="sm_90",
        profile="h200",
        symbol="s",
        tests=tests,
        launches=launches,
        specialisations=tuple(specialisation(id) for id in ("a", "b", "c")),
        versions={},
        seconds=1.0,
        entries=(entry,),
    )


def call(*launches: Launch, **more: Any) -> Any:
    return explored(TASK, captured(*launches, **more))[0]


def test_candidates_are_what_follows_a_launch_and_the_hosts_own_list_is_known() -> None:
    own, other = "namespace(TILE=64)", "namespace(TILE=128) with num_ctas=2"
    found = call(launch("a", 64, own), launch("a", 64), launch("b", 64, own), launch("c", 128, other))
    (site,) = found.ways[0].sites
    assert [(one.own, one.works[0].specialisation) for one in site.tried] == [(True, "b"), (False, "c")]
    assert site.tried[1].candidate == Candidate(fields=(("TILE", 128),), hints=(("num_ctas", 2),))
    assert site.default[0].ir == "ir-a"


def test_a_rule_asks_for_what_a_candidate_does_not_decide() -> None:
    found = call(launch("a", 64), launch("c", 128, "namespace(TILE=128)"))
    features = found.ways[0].sites[0].features
    assert features == {
        (0, "dtype"): "float16",
        (0, 0): 64,
        (0, 1): 256,
        (1, "dtype"): "float32",
        (1, 0): 64,
        (1, 1): 256,
        (2, "len"): 2,
        (2, "dtype"): "float16",
        (2, 0): 64,
        (2, 1): 256,
        (4, None): "True",
    }
    assert found.ways[0].features == {("x", "dtype"): "float16", ("x", 1): 256}
    assert found.ways[0].function == "softmax"


def test_a_kernel_launched_twice_is_one_site_whose_candidates_cover_both() -> None:
    text = "with occupancy=2"
    found = call(launch("a", 64), launch("b", 64, text), launch("a", 32), launch("c", 32, text))
    (site,) = found.ways[0].sites
    assert [work.specialisation for work in site.default] == ["a", "a"]
    assert [work.specialisation for work in site.tried[0].works] == ["b", "c"]


def test_a_way_that_cannot_be_called_says_why() -> None:
    test = Test(
        id="tests/rows/test_rows.py::test_call[softmax:0:1-cutile]",
        status="failed",
        launches=0,
        configurations=0,
        reason="TypeError: no such option",
    )
    found = call(launch("a", 64), tests=(test,))
    assert found.ways[1].problem == "TypeError: no such option"
    assert found.ways[0].problem is None


def test_bytes_are_of_each_storage_once() -> None:
    way = call(launch("a", 64), launch("b", 128, "namespace(TILE=128)")).ways[0]
    assert work_of(way) == {"bytes": 64 * 256 * (2 + 4)}


def test_a_call_is_held_against_what_binds_it() -> None:
    peaks = Peaks(bytes_per_second=4e12, flops=8e14)
    assert fraction(1e-3, 2e9, None, peaks) == 0.5
    assert fraction(1e-3, 2e9, 6e11, peaks) == 0.75
    assert flops_of("matmul", {"m": 2, "n": 3, "k": 4}) == 48
    assert flops_of("softmax", {}) is None


def test_every_tunable_operator_has_rows_held_out_shapes_and_the_references_own_way_first() -> None:
    assert len(tunable()) >= 15
    for name in tunable():
        task: Task = task_of(name)
        assert any(shape.held_out for shape in task.shapes)
        assert not task.ways(task.shapes[0])[0].options
        assert len({shape.id for shape in task.shapes}) == len(task.shapes), name


def test_a_row_that_gives_an_option_leaves_none_open() -> None:
    matmul = task_of("matmul")
    by_id = {shape.id: len(matmul.ways(shape)) for shape in matmul.shapes}
    assert by_id["m=1024,n=1024,k=1024,float16"] == 2
    assert by_id["m=1024,n=1024,k=1024,float16,persistent"] == 1
    softmax = task_of("softmax")
    assert [len(softmax.ways(shape)) for shape in softmax.shapes[:3]] == [4, 4, 1]
