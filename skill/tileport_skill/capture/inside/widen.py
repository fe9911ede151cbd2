"""A wider tuning space than the host code's own: more configurations and hints of every kernel, recorded as its are.

A candidate is recorded as it would be launched in the end, not as a search tries it: host code may search without the
hints that it launches the winner with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cuda.tile._execution import kernel as Kernel

from tileport_skill.tuning.candidates import Value, fields_of, spelled
from tileport_skill.tuning.inside.fields import with_fields
from tileport_skill.tuning.space import HINTS, Pair, widened

Record = Callable[..., None]
"""`Recorder._record`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """What host code gave its tuner."""

    space: list[Any]
    grid_fn: Callable[[Any], Any]
    args_fn: Callable[[Any], Any]
    hints_fn: Callable[[Any], Mapping[str, int]] | None


class Widening:
    """Makes up candidates for whatever is launched. What cannot be made of them is kept with the reason."""

    def __init__(self, arch: str, most: int) -> None:
        self._arch, self._most = arch, most
        self._searched: dict[object, Searched] = {}
        self.refused: dict[tuple[str, str], str] = {}
        """By kernel and spelling."""

    def start(self) -> None:
        """Before each test."""
        self._searched.clear()

    def searched(self, kernel: Any, searched: Searched) -> None:
        """Remembers a search until its winner is launched."""
        self._searched[_function(kernel, searched.space[0])] = searched

    def launched(self, grid: Any, kernel: Kernel, args: Any, record: Record) -> None:
        """Every other way to launch what is being launched."""
        known = self._searched.get(kernel._pyfunc)
        if known is None:
            for _, hints in widened((), (), self._arch, self._most, launched=self._hints(kernel)):
                record("tune", grid, kernel.replace_hints(**hints), args, spelled(None, hints))
            return
        reference = [fields_of(one) for one in known.space]
        if not all(reference):
            return
        hinted = list(known.hints_fn(known.space[0])) if known.hints_fn else []
        own: list[Pair] = [(fields, {}) for fields in reference]
        for fields, hints in (*own, *widened(reference, hinted, self._arch, self._most)):
            self._one(known, kernel, fields, hints, record)

    def _one(
        self, known: Searched, kernel: Kernel, fields: Mapping[str, Value], hints: Mapping[str, int], record: Record
    ) -> None:
        configuration = with_fields(known.space[0], fields)
        text = spelled(configuration, hints)
        try:
            asked = known.hints_fn(configuration) if known.hints_fn else {}
            hinted = kernel.replace_hints(**{**asked, **hints})
            record("tune", known.grid_fn(configuration), hinted, known.args_fn(configuration), text)
        except Exception as refused:  # the host's code was not made for this configuration
            self.refused[kernel._pyfunc.__qualname__, text] = f"{type(refused).__name__}: {refused}"[:200]

    def _hints(self, kernel: Kernel) -> dict[str, int | None]:
        options = kernel._compiler_options.hints_by_target()
        launched = {**options.get("default", {}), **options.get(self._arch, {})}
        return {name: launched.get(name) for name in HINTS}


def _function(kernel: Any, configuration: Any) -> object:
    return (kernel if isinstance(kernel, Kernel) else kernel(configuration))._pyfunc
