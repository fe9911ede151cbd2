"""Each side's tuning, once: searched and written down in one process, replayed from there in every other.

TileGym's operators tune themselves on their first call, the reference through `cuda.tile.tune.exhaustive_search`, a
port through `autotune_launch`. Both are replaced here. While recording, the reference's own search runs as it is and a
port's list is searched under the same rules: cold L2, the same limit on compiling, what fails is dropped and written
down.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

REFERENCE_TUNER, PORT_TUNER = "exhaustive_search", "autotune_launch"
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


class TuningError(Exception):
    """What is asked to tune is not what was tuned: the record is of another operator, row or version."""


class DeviceLostError(Exception):
    """The CUDA context is gone; nothing more can be run in this process."""


def text_of(value: object) -> str:
    """A configuration or key as text that is the same in every process."""
    return _ADDRESS.sub("", repr(value))


class Searches:
    """The searches of one row on one side, in the order in which the operator makes them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.done: list[dict[str, Any]] = json.loads(path.read_text()) if path.is_file() else []

    def add(self, search: dict[str, Any]) -> None:
        self.done.append(search)
        self.save()

    def save(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        part = self.path.with_suffix(".part")
        part.write_text(json.dumps(self.done, indent=1))
        os.replace(part, self.path)  # noqa: PTH105 - the same as Path.replace, and atomic by name


class Tuner:
    """Stands in for both tuners; `row` says which record is being written or read."""

    def __init__(self, time_of: Callable[[Callable[[], object]], float] | None, limit: float) -> None:
        self._time_of = time_of
        """Seconds of device time of one call with a cold L2; None while replaying."""
        self._limit = limit
        self._searches: Searches | None = None
        self._at = 0
        self._answers: dict[tuple[str, Any], Any] = {}
        self._forgotten: list[dict[Any, Any]] = []
        self._search_of_reference: Callable[..., Any] | None = None
        self._result: Callable[..., Any] = SimpleNamespace

    def install(self) -> None:
        """Replaces both tuners wherever they have been imported; call after `import tilegym`."""
        import cuda.tile.tune as tune
        from tilegym.backend.cutile_rs import autotuner

        self._search_of_reference = tune.exhaustive_search
        self._result = autotuner.TunedResult
        replaced = {id(tune.exhaustive_search): self.search, id(autotuner.autotune_launch): self.launch}
        for module_name, module in list(sys.modules.items()):
            if not module_name.startswith(("tilegym", "cuda.tile")):
                continue
            for name in (REFERENCE_TUNER, PORT_TUNER):
                found = vars(module).get(name)
                if id(found) in replaced:
                    setattr(module, name, replaced[id(found)])

    def forget(self) -> None:
        """Before each row, for both sides: some operators share a winner between sizes; the first would decide.

        Kernels that were loaded stay so: CUPTI knows a kernel's name by its address, and would give the name of one
        that is gone to the next one that is loaded there.
        """
        self._answers.clear()
        for name, module in list(sys.modules.items()):
            if name.startswith("tilegym."):
                for attribute, value in list(vars(module).items()):
                    if isinstance(value, dict) and "tune_cache" in attribute.lower():
                        self._forgotten.append(dict(value))
                        value.clear()

    @contextmanager
    def row(self, path: Path) -> Iterator[None]:
        """Searches made inside belong to the record at `path`; at the end all of them must have been used."""
        self._searches, self._at = Searches(path), 0
        try:
            yield
        finally:
            self._searches = None

    def search(
        self,
        search_space: Sequence[Any],
        stream: Any,
        grid_fn: Any,
        kernel: Any,
        args_fn: Any,
        hints_fn: Any = None,
        **options: Any,
    ) -> Any:
        """The reference's `exhaustive_search`."""
        space = list(search_space)
        name = str(getattr(getattr(kernel, "_pyfunc", kernel), "__name__", "kernel"))
        if (known := self._known(name, space)) is not None:
            best = SimpleNamespace(config=space[known["best"]], mean_us=known["us"][known["best"]])
            return SimpleNamespace(best=best, successes=(best,), failures=())
        import cuda.tile as ct

        assert self._search_of_reference is not None
        with ct.compiler_timeout(self._limit):
            options = {**options, "quiet": True}
            result = self._search_of_reference(space, stream, grid_fn, kernel, args_fn, hints_fn, **options)
        us: list[float | None] = [None] * len(space)
        for success in result.successes:
            us[_index(space, success.config)] = success.mean_us
        dropped = {
            str(_index(space, config)): f"{kind.__name__}: {text}".split("\n", 1)[0][:300]
            for config, kind, text in result.failures
        }
        self._add(name, space, us, dropped, _index(space, result.best.config))
        return result

    def launch(
        self, kernel_fn: Callable[[Any], Any], configs: Sequence[Any], key: Any, kernel_name: str = "unknown", **_: Any
    ) -> Any:
        """A port's `autotune_launch`."""
        answer = self._answers.get((kernel_name, key))
        if answer is None:
            chosen = self._chosen(kernel_fn, list(configs), kernel_name)
            answer = self._answers[kernel_name, key] = (chosen, self._times(configs))
        config, times = answer
        return self._result(best_config=config, output=kernel_fn(config), tuning_record=times, cache_hit=True)

    def _times(self, configs: Sequence[Any]) -> list[tuple[Any, float]]:
        """Milliseconds of the search that was answered last, as a port's tuner tells them."""
        assert self._searches is not None
        found = self._searches.done[self._at - 1]["us"]
        return [(config, us / 1000) for config, us in zip(configs, found, strict=True) if us is not None]

    def _chosen(self, kernel_fn: Callable[[Any], Any], configs: list[Any], name: str) -> Any:
        known = self._known(name, configs)
        if known is not None and known["best"] is not None:
            return configs[known["best"]]
        if self._time_of is None:
            raise TuningError(f"the tuning of {name} was broken off: it has no winner")
        search = known or self._add(name, configs, [None] * len(configs), {}, None)
        assert self._searches is not None
        for index, config in enumerate(configs):
            if search["us"][index] is not None or str(index) in search["dropped"]:
                continue
            # If this process ends here (a panic in Rust ends it), the next one finds this configuration dropped.
            search["dropped"][str(index)] = "the process ended while it was compiled or run"
            self._searches.save()
            try:
                search["us"][index] = self._time_of(partial(kernel_fn, config)) * 1e6
                del search["dropped"][str(index)]
            except RuntimeError as error:
                search["dropped"][str(index)] = f"{type(error).__name__}: {error}".split("\n", 1)[0][:300]
                self._searches.save()
                self._check_device()
            self._searches.save()
        timed = {us: index for index, us in enumerate(search["us"]) if us is not None}
        if not timed:
            raise TuningError(f"no configuration of {name} works: {search['dropped']}")
        search["best"] = timed[min(timed)]
        self._searches.save()
        return configs[search["best"]]

    def _check_device(self) -> None:
        """After an illegal access every later call fails too: then the process must end, and the next one goes on."""
        import torch

        try:
            torch.cuda.synchronize()
        except RuntimeError as error:
            raise DeviceLostError(str(error)) from error

    def _known(self, name: str, space: list[Any]) -> dict[str, Any] | None:
        """The next recorded search, which must be this one; None if it is still to be made, while recording."""
        if self._searches is None:
            raise TuningError(f"{name} is tuned outside of any row")
        self._at += 1
        if self._at > len(self._searches.done):
            if self._time_of is None:
                raise TuningError(f"{name} was not tuned on this row: {self._searches.path.name} has no such search")
            return None
        found = self._searches.done[self._at - 1]
        if (found["kernel"], found["space"]) != (name, [text_of(config) for config in space]):
            raise TuningError(f"{name} asks for another search than the one recorded in {self._searches.path.name}")
        return found

    def _add(
        self, name: str, space: list[Any], us: list[float | None], dropped: dict[str, str], best: int | None
    ) -> dict[str, Any]:
        assert self._searches is not None
        found = {"kernel": name, "space": [text_of(c) for c in space], "us": us, "dropped": dropped, "best": best}
        self._searches.add(found)
        return found


def _index(space: list[Any], config: Any) -> int:
    return next(index for index, other in enumerate(space) if other is config or text_of(other) == text_of(config))
