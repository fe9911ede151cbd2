"""Tuners in a correctness run: nothing is timed, and the first configuration that runs is the best one.

Timing says nothing about whether a port is right, takes more than a minute for each shape of a product, and needs
CUPTI, which we trace by. Of the reference every configuration is compiled as far as its bytecode, for the port tries
them all; the port's are run once each. So both sides go on with the same one, which was compared for awkward calls as
well: no clock chooses another.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

AUTOTUNER = "tilegym.backend.cutile_rs.autotuner"
_CONFIGURATION_FAULTS = ("illegal", "out of memory", "error code")
"""In an error's text: TileGym's tuner goes on with the next configuration then, and ends with any other error."""


class _FarEnoughError(Exception):
    """The bytecode is written, and nobody wants the cubin."""


def install() -> None:
    """To be called before TileGym is imported, in both sides' processes: they must not differ in the reference."""
    tune = importlib.import_module("cuda.tile.tune")
    for module in (tune, importlib.import_module("cuda.tile.tune._tune")):
        module.exhaustive_search = search  # type: ignore[attr-defined]
    _keep_kernels(importlib.import_module("cuda.tile._execution"))


def install_for_ports() -> None:
    """The same for TileGym's tuner of ports; to be called once TileGym can be imported. One without ports has none."""
    try:
        tuner = importlib.import_module(AUTOTUNER)
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("tilegym"):
            raise
        return
    tuner._bench_config_cupti = run_once  # type: ignore[attr-defined]


def run_once(kernel_fn: Callable[[Any], Any], cfg: Any, *_args: Any, **_options: Any) -> tuple[Any, float]:
    """(what the configuration gave, milliseconds): all take as long, so the first that runs wins."""
    try:
        return kernel_fn(cfg), 1.0
    except RuntimeError as error:
        if any(fault in str(error) for fault in _CONFIGURATION_FAULTS):
            return None, float("inf")
        raise


def _keep_kernels(execution: Any) -> None:
    """A kernel with hints of its own, made for one call, ends the process if it is unloaded in a graph's capture."""
    replace = execution.kernel.replace_hints
    kept = []

    def replace_hints(kernel: Any, **hints: Any) -> Any:
        kept.append(replace(kernel, **hints))
        return kept[-1]

    execution.kernel.replace_hints = replace_hints


def search(
    search_space: Sequence[Any],
    stream: Any,
    grid_fn: Any,
    kernel: Any,
    args_fn: Any,
    hints_fn: Any = None,
    **_options: Any,
) -> Any:
    """`cuda.tile.tune.exhaustive_search` with the first configuration that runs as the best one."""
    tile, tune = importlib.import_module("cuda.tile"), importlib.import_module("cuda.tile.tune")

    def launch(config: Any) -> None:
        chosen = kernel if hasattr(kernel, "replace_hints") else kernel(config)
        hinted = chosen if hints_fn is None else chosen.replace_hints(**hints_fn(config))
        tile.launch(stream, grid_fn(config), hinted, args_fn(config))

    failures: list[tuple[Any, type[BaseException], str]] = []
    with _no_assembler():
        for config in search_space:
            try:
                launch(config)
            except _FarEnoughError:
                continue
            except Exception as error:  # a configuration the front end refuses, as the tuner too would find
                failures.append((config, type(error), str(error)))
    for config in search_space:
        try:
            with _no_second_wait():
                launch(config)
        except Exception as error:
            failures.append((config, type(error), str(error)))
            continue
        best = tune.Measurement(config=config, mean_us=1.0, num_samples=1, error_margin_us=0.0)
        return tune.TuningResult(best=best, successes=[best], failures=failures)
    text = "; ".join(dict.fromkeys(f"{kind.__name__}: {said}" for _, kind, said in failures))
    raise ValueError(f"no configuration of {len(search_space)} runs: {text[:500]}")


_written: set[tuple[object, ...]] = set()
"""What has been compiled so far: an operator's shapes share most of their kernels, and cuTile, which remembers what it
compiled, does not remember what was broken off."""


@contextmanager
def _no_assembler() -> Iterator[None]:
    """cuTile writes the bytecode out before it asks `tileiras` for a cubin; here the asking ends the compilation."""
    compiler = importlib.import_module("cuda.tile._compile")
    assemble, whole = compiler.compile_cubin, compiler.compile_tile

    def enough(*_args: Any, **_options: Any) -> Any:
        raise _FarEnoughError

    def once(function: Any, signatures: Any, sm_arch: Any, options: Any, *rest: Any, **more: Any) -> Any:
        key = _kernel(function, signatures, sm_arch, options)
        if key in _written:
            raise _FarEnoughError
        try:
            return whole(function, signatures, sm_arch, options, *rest, **more)
        except _FarEnoughError:
            _written.add(key)
            raise

    compiler.compile_cubin, compiler.compile_tile = enough, once  # type: ignore[attr-defined]
    try:
        yield
    finally:
        compiler.compile_cubin, compiler.compile_tile = assemble, whole  # type: ignore[attr-defined]


_given_up: dict[tuple[object, ...], Exception] = {}
"""Kernels that `tileiras` did not end with in the time that the operator gives it."""


@contextmanager
def _no_second_wait() -> Iterator[None]:
    """What was waited for in vain is not waited for once more: not under other hints, nor in the next round of the
    tests. A product of 18 configurations, of which none ends, would take minutes each time."""
    compiler = importlib.import_module("cuda.tile._compile")
    whole = compiler.compile_tile

    def timely(function: Any, signatures: Any, sm_arch: Any, options: Any, *rest: Any, **more: Any) -> Any:
        key = _kernel(function, signatures, sm_arch, options)
        if key in _given_up:
            raise _given_up[key]
        try:
            return whole(function, signatures, sm_arch, options, *rest, **more)
        except compiler.TileCompilerTimeoutError as error:
            _given_up[key] = error
            raise

    compiler.compile_tile = timely  # type: ignore[attr-defined]
    try:
        yield
    finally:
        compiler.compile_tile = whole  # type: ignore[attr-defined]


def _kernel(function: Any, signatures: Any, sm_arch: Any, options: Any) -> tuple[object, ...]:
    """What two kernels have in common that differ in hints alone: `replace_hints` makes a new kernel of the same Python
    function each time. Hints are no part of what bytecodes are compared by; a tuner's space has each kernel under
    several."""
    return getattr(function, "pyfunc", function), repr(tuple(signatures)), sm_arch, repr(options.opt_level)
