"""What a capture holds, on operators of our own that behave and that do not."""

from __future__ import annotations

import contextlib
import dataclasses
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.skill.capture.conftest import CHECKOUT, Run, launches_of

from tileport_skill.capture import child
from tileport_skill.capture.cache import read_bytecode
from tileport_skill.capture.records import Array, Capture, Constant, Scalar, TensorArgument, Test
from tileport_skill.capture.session import capture
from tileport_skill.errors import RequestError
from tileport_skill.tilegym.operators import open_checkout, read_operators
from tileport_skill.tileir.assemble import disassemble


def test_every_launch_of_the_reference_and_its_whole_tuning_space_is_recorded(tests: dict[str, Test]) -> None:
    done = tests["test_op[cutile-dtype0-size0]"]
    assert (done.status, done.launches, done.configurations) == ("passed", 1, 2)


def test_tests_of_other_backends_do_not_run(tests: dict[str, Test]) -> None:
    assert not [name for name in tests if "triton" in name or "pytorch" in name]


def test_each_row_of_a_benchmark_is_a_test_of_the_reference(tests: dict[str, Test]) -> None:
    rows = {name: test for name, test in tests.items() if name.startswith("bench_")}
    assert {name: (test.status, test.launches) for name, test in rows.items()} == {
        "bench_doubled[doubled-2048]": ("passed", 1),
        "bench_doubled[doubled-4096]": ("passed", 1),
        "bench_by_table[by-table-CuTile halves-1000]": ("passed", 1),
        "bench_by_table[by-table-CuTile quadruples-1000]": ("passed", 1),
    }


def test_a_port_is_not_asked_for_the_benchmarks_and_a_reference_for_them_last(tmp_path: Path) -> None:
    checkout = open_checkout(CHECKOUT)
    scale = [operator for operator in read_operators(checkout) if operator.name == "scale"]
    _, asked = child.tests_of(checkout, scale, tmp_path, (), benchmarks=False)
    assert asked == ["tests/ops/test_scale.py"]
    _, asked = child.tests_of(checkout, scale, tmp_path, (), benchmarks=True)
    assert asked == ["tests/ops/test_scale.py", "tests/benchmark/bench_scale.py"]


def test_a_launch_names_its_kernel_grid_arguments_and_hints(captured: Capture) -> None:
    *tuned, launch = launches_of(captured, "test_op[cutile-dtype1-size0]")
    known = {s.id: s for s in captured.specialisations}
    assert (launch.kernel, launch.grid, launch.purpose) == ("_scale_kernel", (8,), "launch")
    x, y, _, _ = launch.arguments
    assert isinstance(x, TensorArgument)
    assert isinstance(y, TensorArgument)
    assert (x.dtype, x.shape, x.strides, x.offset) == ("bfloat16", (1024,), (1,), 0)
    assert x.storage != y.storage
    assert [known[one.specialisation].hints.occupancy for one in tuned] == [1, 2]
    kinds = [type(parameter) for parameter in known[launch.specialisation].parameters]
    assert kinds == [Array, Array, Scalar, Constant]


def test_alignment_is_what_cutile_itself_computes(captured: Capture) -> None:
    known = {s.id: s for s in captured.specialisations}

    def first_array(test: str) -> Array:
        parameter = known[launches_of(captured, test)[0].specialisation].parameters[0]
        assert isinstance(parameter, Array)
        return parameter

    whole, ragged = first_array("test_op[cutile-dtype0-size0]"), first_array("test_op[cutile-dtype0-size1]")
    assert (whole.base_divisible_by, whole.shape_divisible_by, ragged.shape_divisible_by) == (16, (16,), (1,))
    assert launches_of(captured, "test_slice_of_an_array")[0].arguments[0].offset == 1  # type: ignore[union-attr]
    assert first_array("test_slice_of_an_array").base_divisible_by == 1


def test_what_the_backward_pass_launches_is_marked(captured: Capture) -> None:
    marks = [one.backward for one in launches_of(captured, "test_op_backward") if one.purpose == "launch"]
    assert marks == [False, True]


def test_each_specialisation_has_tile_ir_under_the_one_symbol(captured: Capture) -> None:
    for specialisation in captured.specialisations:
        if specialisation.refused is None:
            assert specialisation.ir is not None
            text = disassemble(read_bytecode(specialisation.ir.sha256))
            assert isinstance(text, str)
            assert text.startswith(f"entry @{captured.symbol}(")


def test_the_same_kernel_under_the_launchers_assumptions_differs_only_where_they_do(captured: Capture) -> None:
    known = {s.id: s for s in captured.specialisations}
    aligned = launches_of(captured, "test_op[cutile-dtype0-size0]")[0]
    ragged = launches_of(captured, "test_op[cutile-dtype0-size1]")[0]  # 1000 elements: cuTile says 1, the launcher 8
    assert known[aligned.specialisation].ir == aligned.port_ir
    assert ragged.port_ir is not None
    text = disassemble(read_bytecode(ragged.port_ir.sha256))
    assert isinstance(text, str)
    assert "div_by<8>" in text


def test_values_of_small_integer_tensors_are_real(tests: dict[str, Test], captured: Capture) -> None:
    assert tests["test_op"].status == "passed"
    assert launches_of(captured, "test_rows.py::test_op")[0].grid == (5,)
    ones = tests["test_a_gradient_begins_with_ones"]
    assert (ones.status, ones.scalar_reads) == ("passed", ())  # the value itself, not a neutral one
    assert launches_of(captured, "test_values_filled_in_one_by_one")[0].grid == (5,)


def test_a_value_that_does_not_exist_fails_the_test_and_names_the_line_that_read_it(tests: dict[str, Test]) -> None:
    failed = tests["test_values_of_floats_do_not_exist"]
    assert failed.status == "failed"
    assert failed.where == "tilegym/ops/cutile/rows.py:18"
    assert "DataDependentOutputException" in (failed.reason or "")


def test_skips_are_kept_with_their_reason(tests: dict[str, Test]) -> None:
    assert (tests["test_skipped"].status, tests["test_skipped"].launches) == ("skipped", 0)


@pytest.mark.parametrize(
    ("how", "status", "launches", "words"),
    [
        ("thread", "passed", 1, ""),
        ("huge", "passed", 1, ""),
        ("missing", "failed", 0, "ModuleNotFoundError: No module named 'a_package_that_nobody_has'"),
        ("refused", "passed", 1, ""),
        ("nothing", "passed", 0, ""),
        ("four bits", "passed", 1, ""),
        ("namesakes", "passed", 2, ""),
        ("host memory", "failed", 0, "MemoryError"),
        ("hang", "failed", 0, "TestTimedOut: ended after 15 s"),
    ],
)
def test_what_an_operator_does_wrong_harms_no_other_test(
    tests: dict[str, Test], how: str, status: str, launches: int, words: str
) -> None:
    found = tests[f"test_op[{how}]"]
    assert (found.status, found.launches) == (status, launches)
    assert words in (found.reason or "")


def test_a_test_that_patches_torch_is_captured(tests: dict[str, Test]) -> None:
    assert (tests["test_patched_torch"].status, tests["test_patched_torch"].launches) == ("passed", 1)


def test_a_kernel_the_compiler_refuses_says_why_and_harms_no_other(captured: Capture) -> None:
    refused = {s.kernel: s.refused for s in captured.specialisations if s.refused is not None}
    assert refused.keys() == {"_double_product_kernel", "_four_bit_kernel"}
    assert "float64" in refused["_double_product_kernel"]
    assert "(hostile.py:22)" in refused["_double_product_kernel"]
    assert "\n" not in refused["_double_product_kernel"]
    assert "float4_e2m1fn" in refused["_four_bit_kernel"]


def test_two_kernels_of_one_name_stay_two(captured: Capture) -> None:
    namesakes = [s for s in captured.specialisations if s.kernel.endswith("_namesake_kernel")]
    assert len({s.ir for s in namesakes}) == len({s.key for s in namesakes}) == 2


def test_a_test_that_patches_torch_for_good_does_not_reach_the_next(tests: dict[str, Test]) -> None:
    after = tests["test_after_torch_was_patched"]
    assert (after.status, after.launches, after.reason) == ("passed", 1, None)


def test_a_session_that_does_not_end_is_ended_and_said_so(run: Run) -> None:
    with pytest.raises(RequestError, match="ended after 15 s"):
        run("hang", seconds=15.0)


def test_a_checkout_that_does_not_import_is_a_clear_error(tmp_path: Path) -> None:
    root = tmp_path / "checkout"
    shutil.copytree(CHECKOUT, root)
    (root / "tilegym" / "ops" / "cutile" / "scale.py").write_text("raise ValueError('broken')\n")
    scale = next(o for o in read_operators(open_checkout(CHECKOUT)) if o.name == "scale")
    with pytest.raises(RequestError, match="ValueError: broken"):
        capture(open_checkout(root), [scale], ["sm_90"], tmp_path / "out")


def test_an_unknown_architecture_is_refused_with_those_there_are(run: Run) -> None:
    with pytest.raises(RequestError, match=r"No device profile for 'sm_42'.*sm_90 \(h200\)"):
        run("scale", arch="sm_42")


def test_the_device_is_the_named_one_and_captures_repeat_under_any_hash_seed(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    for seed, arch in (("0", "sm_100"), ("1", "b200"), ("4711", "b200")):
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        made.append(dataclasses.replace(run("scale", "padded", arch=arch), seconds=0.0))
    assert (made[0].arch, made[0].profile) == ("sm_100", "b200")
    assert all(s.ir is not None for s in made[0].specialisations)
    assert made[0] == made[1] == made[2]


def test_a_child_does_not_outlive_its_parent(tmp_path: Path) -> None:
    root = Path(shutil.copytree(CHECKOUT, tmp_path / "repository"))
    command = [sys.executable, "-m", "tileport_skill", "capture", "hang", "--repo", str(root), "--out", str(tmp_path)]
    parent = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    running = f"--rootdir={root}"
    try:
        assert _within(90, lambda: "test_hang" in _commands(running) and _is_running_its_test(running))
    finally:
        parent.kill()
        parent.wait()
    assert _within(20, lambda: not _commands(running))


def _within(seconds: float, holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + seconds
    while not (found := holds()) and time.monotonic() < deadline:
        time.sleep(0.5)
    return found


def _processes(word: str) -> dict[Path, str]:
    found = {}
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            text = path.read_text().replace("\0", " ")
            if word in text:
                found[path.parent] = text
    return found


def _commands(word: str) -> str:
    return " ".join(_processes(word).values())


def _is_running_its_test(word: str) -> bool:
    """The plugin is loaded: torch's libraries are mapped."""
    return any("libtorch" in (process / "maps").read_text() for process in _processes(word))
