"""`python -m tileport_skill.draft.oracle.child REQUEST`: asks cuTile's compiler about kernels.

The request names an architecture, the kernels' modules and the captured specialisations; the answer is one JSON file.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

from pydantic import TypeAdapter

from tileport_skill.capture.inside import device, lean
from tileport_skill.capture.profiles import profile_of
from tileport_skill.capture.records import Specialisation
from tileport_skill.draft.oracle.kernels import as_captured, kernel_named, signature_of
from tileport_skill.draft.oracle.records import Answer, Function, KernelReadings, Reading


def main() -> None:
    request = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    lean.install((request["package"],))
    device.install(profile_of(request["arch"]))
    found = TypeAdapter(tuple[Specialisation, ...]).validate_python(request["specialisations"])
    kernels = dict.fromkeys((one.module, one.kernel) for one in found)
    answers = [
        _kernel(module, kernel, [one for one in found if (one.module, one.kernel) == (module, kernel)])
        for module, kernel in kernels
    ]
    answer = TypeAdapter(Answer).dump_json(Answer(kernels=tuple(answers)))
    Path(request["answer"]).write_bytes(answer)


def _kernel(module: str, name: str, specialisations: list[Specialisation]) -> KernelReadings:
    kernel = kernel_named(module, name)
    if isinstance(kernel, str):
        return KernelReadings(kernel=name, functions=(), readings=(), refused=kernel)
    return KernelReadings(
        kernel=name,
        functions=tuple(_functions(kernel._pyfunc)),
        readings=tuple(_reading(kernel, one) for one in specialisations),
    )


def _reading(kernel: Any, one: Specialisation) -> Reading:
    from tileport_skill.draft.oracle.frontend import read

    signature = signature_of(one, as_captured)
    if isinstance(signature, str):
        return Reading(specialisation=one.id, refused=signature)
    return read(kernel._annotated_function, signature, one.id)


def _functions(first: FunctionType) -> Iterator[Function]:
    """`first` and every function that it reaches by a global or enclosing name, cuTile's and torch's own left out."""
    waiting, seen = [first], {first}
    while waiting:
        function = waiting.pop(0)
        code = function.__code__
        yield Function(name=function.__name__, file=code.co_filename, line=code.co_firstlineno)
        for value in _outside(function):
            if isinstance(value, FunctionType) and value not in seen and not _foreign(value):
                seen.add(value)
                waiting.append(value)


def _outside(function: FunctionType) -> Iterator[Any]:
    for name in function.__code__.co_names:
        if name in function.__globals__:
            yield function.__globals__[name]
    for cell in function.__closure__ or ():
        yield cell.cell_contents


def _foreign(function: FunctionType) -> bool:
    return (function.__module__ or "").split(".")[0] in ("cuda", "torch", "math", "builtins")


if __name__ == "__main__":
    main()
