"""What stands for the reference's tuner where nothing is timed, with cuTile's own compiler up to `tileiras`."""

from __future__ import annotations

import gc
import inspect
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import cuda.tile as tile
import pytest
from cuda.tile import _compile, _execution, tune
from cuda.tile.compilation import ArrayConstraint, CallingConvention, ConstantConstraint, KernelSignature

from tileport_skill.correctness import untimed

FLOATS = ArrayConstraint(
    tile.float32, 1, index_dtype=tile.int32, stride_lower_bound_incl=(0,), alias_groups=(), may_alias_internally=False
)


@tile.kernel
def fill(out: Any, SIZE: tile.Constant[int]) -> None:
    tile.store(out, (tile.bid(0),), tile.full((SIZE,), 1.0, tile.float32))


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """What was compiled how far; `large` is refused by the front end, `wide` by the assembler."""
    seen: list[tuple[str, Any]] = []

    def assembled(config: str) -> None:
        seen.append(("assembled", config))
        if config == "wide":
            raise RuntimeError("too wide")

    def launch(_stream: object, grid: object, kernel: Any, args: tuple[str]) -> None:
        (config,) = args
        if config == "large":
            raise TypeError("too large")
        seen.append(("bytecode", (config, grid, kernel.hints)))
        _compile.compile_cubin(config)

    monkeypatch.setattr(tile, "launch", launch)
    monkeypatch.setattr(_compile, "compile_cubin", assembled)
    return seen


class Kernel(SimpleNamespace):
    def replace_hints(self, **hints: int) -> Kernel:
        return Kernel(hints=hints)


def searched(*space: str, kernel: Any = None, hints: Callable[[str], dict[str, int]] | None = None) -> Any:
    return untimed.search(space, None, lambda c: (len(c),), kernel or Kernel(hints={}), lambda c: (c,), hints)


def test_every_configuration_reaches_its_bytecode_and_only_one_that_runs_is_assembled(
    compiled: list[tuple[str, Any]],
) -> None:
    found = searched("wide", "large", "small", "smaller", hints=lambda config: {"occupancy": len(config)})
    assert [what[0] for kind, what in compiled[:3] if kind == "bytecode"] == ["wide", "small", "smaller"]
    assert compiled[0][1] == ("wide", (4,), {"occupancy": 4})
    assert [what for kind, what in compiled if kind == "assembled"] == ["wide", "small"]
    assert found.best.config == "small"
    assert [config for config, _, _ in found.failures] == ["large", "wide", "large"]
    assert found.summary()


def test_a_kernel_may_depend_on_the_configuration(compiled: list[tuple[str, Any]]) -> None:
    searched("small", kernel=lambda config: Kernel(hints={"for": config}))
    assert compiled[0][1][2] == {"for": "small"}


def test_where_nothing_runs_every_reason_is_told(compiled: list[tuple[str, Any]]) -> None:
    with pytest.raises(ValueError, match=r"no configuration of 2 runs: .*too large.*too wide"):
        searched("large", "wide")


def test_it_stands_wherever_the_tuner_is_imported_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tune, "exhaustive_search", None)
    monkeypatch.setattr(tune._tune, "exhaustive_search", None)
    monkeypatch.setattr(_execution.kernel, "replace_hints", _execution.kernel.replace_hints)
    untimed.install()
    from cuda.tile.tune import exhaustive_search

    assert exhaustive_search is untimed.search is tune._tune.exhaustive_search


def test_a_kernel_that_reached_its_bytecode_is_not_compiled_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """One that several shapes share, or several hints; other constants make another kernel."""
    monkeypatch.setattr(_compile, "CUDA_TILE_DUMP_BYTECODE", str(tmp_path))

    def compiled_with(value: int, **hints: int) -> int:
        made = fill.replace_hints(**hints)
        signature = KernelSignature([FLOATS, ConstantConstraint(value)], CallingConvention.cutile_python_v1())
        with untimed._no_assembler(), pytest.raises(untimed._FarEnoughError):
            _compile.compile_tile(made._annotated_function, (signature,), "sm_90", made._compiler_options)
        return len(list(tmp_path.iterdir()))

    assert [compiled_with(16), compiled_with(16), compiled_with(32), compiled_with(32, occupancy=2)] == [1, 1, 2, 2]


def test_the_first_configuration_of_a_port_that_runs_wins_whatever_a_clock_would_say() -> None:
    def kernel(config: str) -> str:
        if config == "wide":
            raise RuntimeError("cutile_scale failed (error code -3)")
        if config == "broken":
            raise RuntimeError("libcupti is missing")
        return f"by {config}"

    times = [untimed.run_once(kernel, config, 2, 10) for config in ("wide", "small", "smaller")]
    assert min(times, key=lambda one: one[1]) == ("by small", 1.0)
    assert times[0] == (None, float("inf"))
    with pytest.raises(RuntimeError, match="libcupti"):
        untimed.run_once(kernel, "broken")


def test_ports_tune_untimed_where_there_are_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    tuner = ModuleType(untimed.AUTOTUNER)
    untimed.install_for_ports()  # no tilegym here at all
    for name in ("tilegym", "tilegym.backend", "tilegym.backend.cutile_rs"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, untimed.AUTOTUNER, tuner)
    untimed.install_for_ports()
    assert tuner._bench_config_cupti is untimed.run_once


def test_a_kernel_that_was_waited_for_in_vain_is_not_waited_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor under other hints; another kernel is given its time."""
    waited: list[object] = []

    def late(*_args: object, **_options: object) -> None:
        waited.append(_args)
        raise _compile.TileCompilerTimeoutError("15 s", "", None)

    monkeypatch.setattr(untimed, "_given_up", {})
    monkeypatch.setattr(_compile, "compile_cubin", late)

    def waits_for(value: int, **hints: int) -> int:
        made = fill.replace_hints(**hints)
        signature = KernelSignature([FLOATS, ConstantConstraint(value)], CallingConvention.cutile_python_v1())
        with untimed._no_second_wait(), pytest.raises(_compile.TileCompilerTimeoutError):
            _compile.compile_tile(made._annotated_function, (signature,), "sm_90", made._compiler_options)
        return len(waited)

    assert [waits_for(16), waits_for(16), waits_for(16, occupancy=2), waits_for(32)] == [1, 1, 1, 2]


def test_a_kernel_with_hints_of_its_own_outlives_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unloaded while a CUDA graph is captured, it would end the reference's process."""
    monkeypatch.setattr(_execution.kernel, "replace_hints", _execution.kernel.replace_hints)
    untimed._keep_kernels(_execution)
    made = weakref.ref(fill.replace_hints(occupancy=2))
    gc.collect()
    assert made() is not None


def test_cutile_still_calls_what_is_replaced() -> None:
    """`compile_tile` asks for the cubin by this name, after it has written the bytecode out."""
    names = inspect.unwrap(_compile.compile_tile).__code__.co_names
    assert names.index("CUDA_TILE_DUMP_BYTECODE") < names.index("compile_cubin")
