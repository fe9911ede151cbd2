"""The reference made to run a call by a choice: its tuner, its launches and its compiler, with our answers put in.

One process holds several choices of one call side by side. What host code remembers of a search belongs to the choice
it was made for, so it is exchanged whenever the choice is.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cuda.tile as ct
from cuda.tile._execution import kernel as Kernel

from tileport_skill.kernel_code import launch_key
from tileport_skill.timing.inside.tuning import Tuner
from tileport_skill.tuning.candidates import Candidate, Choice
from tileport_skill.tuning.inside.applied import called
from tileport_skill.tuning.inside.fields import with_fields

SYMBOL = "kernel_entry"
"""The entry symbol of every exported kernel; see capture/session.py."""
BACKEND = "cutile"


class Carried:
    """Cubins made ahead of time, in place of compiling."""

    def __init__(self, keys: Path, folder: Path, arch: str) -> None:
        self._keys: dict[str, str] = json.loads(keys.read_text(encoding="utf-8")) if keys.is_file() else {}
        self._folder, self._arch = folder, arch
        self._real = Kernel._compile
        self.missed: list[str] = []
        """Kernels that had to be compiled here after all."""

    def install(self) -> None:
        carried = self

        def compiled(kernel: Any, signature: Any, context: Any, capability: Any = None) -> Any:
            return carried._compiled(kernel, signature, context, capability)

        Kernel._compile = compiled

    def _compiled(self, kernel: Any, signature: Any, context: Any, capability: Any) -> Any:
        cubin = self._keys.get(launch_key(kernel, signature, self._arch))
        if cubin is None:
            self.missed.append(kernel._pyfunc.__qualname__)
            return self._real(kernel, signature, context, capability)
        return (self._folder / f"{cubin}.cubin").read_bytes(), SYMBOL, None, ()


class ChoiceTuner(Tuner):
    """The timing's stand-in for the reference's search; for chosen kernels it answers with the choice."""

    def __init__(self, limit: float) -> None:
        super().__init__(None, limit)
        self.choice = Choice()
        self.recording = False
        """Whether searches that are not known yet are made, or are an error."""

    def search(
        self,
        search_space: Any,
        stream: Any,
        grid_fn: Any,
        kernel: Any,
        args_fn: Any,
        hints_fn: Any = None,
        **options: Any,
    ) -> Any:
        space = list(search_space)
        chosen = self.choice.of(_name(kernel, space[0]))
        if chosen is None or not chosen.fields:
            return super().search(space, stream, grid_fn, kernel, args_fn, hints_fn, **options)
        self._at += 1  # the record of this call's way has this search too
        best = SimpleNamespace(config=with_fields(space[0], dict(chosen.fields)), mean_us=1.0)
        return SimpleNamespace(best=best, successes=(best,), failures=())

    def _known(self, name: str, space: list[Any]) -> dict[str, Any] | None:
        if self.recording and self._searches is not None and self._at >= len(self._searches.done):
            self._at += 1
            return None
        return super()._known(name, space)


class Launches:
    """`ct.launch` with the chosen hints set over the host's."""

    def __init__(self) -> None:
        self.choice = Choice()
        self._real = ct.launch
        self._hinted: dict[tuple[int, Candidate], tuple[Any, Any]] = {}
        """By kernel and candidate, with the kernel itself so that its address stays its own: a new kernel object for
        every launch would be compiled every time."""

    def install(self) -> None:
        """Replaces it wherever it has been imported; call after `import tilegym`."""
        ct.launch = self.launch
        for name, module in list(sys.modules.items()):
            if name.startswith("tilegym") and vars(module).get("launch") is self._real:
                setattr(module, "launch", self.launch)  # noqa: B010 - mypy knows no such attribute of a module

    def launch(self, stream: Any, grid: Any, kernel: Any, args: Any, /, **options: Any) -> Any:
        chosen = self.choice.of(kernel._pyfunc.__qualname__)
        if chosen is not None and chosen.hints:
            key = (id(kernel), chosen)
            if key not in self._hinted:
                self._hinted[key] = (kernel, kernel.replace_hints(**dict(chosen.hints)))
            kernel = self._hinted[key][1]
        return self._real(stream, grid, kernel, args, **options)


class Rig:
    """All of it together."""

    def __init__(self, limit: float, carried: Carried) -> None:
        self.tuner, self.launches, self.carried = ChoiceTuner(limit), Launches(), carried

    def install(self) -> None:
        self.tuner.install()
        self.launches.install()
        self.carried.install()

    def prepared(self, choice: Choice, record: Path, call: Callable[[], object]) -> Prepared:
        """Runs `call` once by `choice`; searches that its way makes are replayed from `record`, or made and added."""
        self.tuner.forget()
        self.tuner.recording = not choice.kernels
        with self._active(choice), self.tuner.row(record):
            returned = call()
        self.tuner.recording = False
        return Prepared(self, choice, call, _remembered(), returned)

    @contextmanager
    def _active(self, choice: Choice) -> Iterator[None]:
        self.tuner.choice = self.launches.choice = choice
        try:
            with called(BACKEND, dict(choice.options), choice.copies):
                yield
        finally:
            self.tuner.choice = self.launches.choice = Choice()


class Prepared:
    """A call by one choice, ready to be repeated."""

    def __init__(
        self, rig: Rig, choice: Choice, call: Callable[[], object], remembered: list[tuple[Any, Any]], first: object
    ) -> None:
        self._rig, self.choice, self._call, self._remembered = rig, choice, call, remembered
        self.first: object = first
        """What the first run returned; whoever has seen it sets it to None."""

    def run(self) -> object:
        for cache, content in self._remembered:
            cache.clear()
            cache.update(content)
        with self._rig._active(self.choice):
            return self._call()


def _remembered() -> list[tuple[Any, Any]]:
    """Each dictionary in which host code keeps its searches' winners, with what it holds now."""
    found = []
    for name, module in list(sys.modules.items()):
        if name.startswith("tilegym."):
            for attribute, value in list(vars(module).items()):
                if isinstance(value, dict) and "tune_cache" in attribute.lower():
                    found.append((value, dict(value)))
    return found


def _name(kernel: Any, configuration: Any) -> str:
    chosen = kernel if isinstance(kernel, Kernel) else kernel(configuration)
    return str(getattr(chosen._pyfunc, "__qualname__", "kernel"))
