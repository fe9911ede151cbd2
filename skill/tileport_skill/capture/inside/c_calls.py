"""What a port's wrapper hands to its library, seen at the C functions' door: no library is there, and none is built.

Everything on this side is real: TileGym's loader, cffi's reading of the declarations, and its conversion of each
argument to C, since what is called is a C function of the declared type. Behind it nothing happens.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import cffi.api  # type: ignore[import-untyped]

from tileport_skill.capture import records
from tileport_skill.capture.inside.port_calls import PortRecorder, pointer_text

OK = 0


class CallRecorder(PortRecorder):
    """Keeps the calls; which test and which purpose they had is told as for a real library's launches."""

    def __init__(self) -> None:
        super().__init__(Path("/nonexistent"))
        self.calls: list[records.CCall] = []
        self._made: list[records.CCall] = []

    def install(self) -> None:
        super().install()
        cffi.api._load_backend_lib = lambda _backend, _name, _flags: self

    def load_function(self, type: Any, name: str) -> Any:
        """What cffi asks of an opened library: the C function of that name and type."""

        def called(*arguments: Any) -> int:
            values = tuple(map(_value, arguments))
            self._made.append(records.CCall(test=self.test, purpose="launch", symbol=name, arguments=values))
            return OK

        return cffi.FFI().callback(type, called, onerror=_let_through)

    def poll(self, purpose: Any) -> None:
        self.calls += [dataclasses.replace(call, purpose=purpose) for call in self._made]
        self._made.clear()

    @property
    def made(self) -> list[Any]:
        return self.calls


def _value(given: Any) -> records.CArray | records.CNumber:
    if isinstance(given, (int, float)):
        return records.CNumber(value=given)
    return records.CArray(
        pointer=pointer_text(given.ptr),
        shape=tuple(given.shape[0 : given.ndim]),
        strides=tuple(given.strides[0 : given.ndim]),
        dtype=given.dtype,
    )


def _let_through(_kind: Any, error: BaseException, _traceback: Any) -> int:
    """A call that cannot be read is no launch, and is missed where launches are compared."""
    print(f"a call into the library could not be read: {error!r}")
    return -1
