"""`python -m tileport_skill.draft.oracle.child REQUEST`: asks cuTile's compiler about kernels.

The request names an architecture, the kernels' modules and the captured specialisations; the answer is one JSON file.
"""

from __future__ import annotations

import ast
import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

from pydantic import TypeAdapter

from tileport_skill.capture.inside import device, lean
from tileport_skill.capture.profiles import profile_of
from tileport_skill.capture.records import Array, Constant, Scalar, Specialisation
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
    from cuda.tile._execution import kernel as Kernel

    if "<locals>" in name:
        return KernelReadings(kernel=name, functions=(), readings=(), refused="it is built by another function")
    held = importlib.import_module(module)
    kernel = getattr(held, name, None)
    while kernel is not None and not isinstance(kernel, Kernel):
        kernel = getattr(kernel, "__wrapped__", None)
    if kernel is None:
        reason = f"{module}.{name} is no kernel under that name"
        return KernelReadings(kernel=name, functions=(), readings=(), refused=reason)
    return KernelReadings(
        kernel=name,
        functions=tuple(_functions(kernel._pyfunc)),
        readings=tuple(_reading(kernel, one) for one in specialisations),
    )


def _reading(kernel: Any, one: Specialisation) -> Reading:
    from tileport_skill.draft.oracle.frontend import read

    signature = _signature(one)
    if isinstance(signature, str):
        return Reading(specialisation=one.id, refused=signature)
    return read(kernel._annotated_function, signature, one.id)


def _signature(one: Specialisation) -> Any:
    """The signature a record stands for, or why it stands for none."""
    from cuda.tile.compilation import CallingConvention, ConstantConstraint, KernelSignature, ScalarConstraint

    constraints: list[Any] = []
    for parameter in one.parameters:
        match parameter:
            case Array():
                constraints.append(_array(parameter))
            case Scalar():
                constraints.append(ScalarConstraint(_dtype(parameter.dtype)))
            case Constant() if parameter.type in ("int", "float", "bool", "str", "NoneType"):
                constraints.append(ConstantConstraint(ast.literal_eval(parameter.text)))
            case _:
                return f"parameter {parameter.name} is a {getattr(parameter, 'type', parameter.kind)}"
    return KernelSignature(tuple(constraints), CallingConvention.cutile_python_v1())


def _array(parameter: Array) -> Any:
    from cuda.tile.compilation import ArrayConstraint

    return ArrayConstraint(
        _dtype(parameter.dtype),
        parameter.ndim,
        index_dtype=_dtype(parameter.index_dtype),
        stride_lower_bound_incl=tuple(None if one is not None else 0 for one in parameter.stride_constant),
        alias_groups=(),
        may_alias_internally=parameter.may_alias_internally,
        stride_constant=parameter.stride_constant,
        shape_constant=(None,) * parameter.ndim,
        stride_divisible_by=parameter.stride_divisible_by,
        shape_divisible_by=parameter.shape_divisible_by,
        base_addr_divisible_by=parameter.base_divisible_by,
    )


def _dtype(name: str) -> Any:
    import cuda.tile as ct

    return getattr(ct, {"bool": "bool_"}.get(name, name))


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
