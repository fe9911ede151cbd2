"""In the child: a kernel by its name, and the signature that a captured specialisation stands for."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable
from typing import Any

from tileport_skill.capture.records import Array, Constant, Scalar, Specialisation

ArrayOf = Callable[[Array], Any]


def kernel_named(module: str, name: str) -> Any:
    """cuTile's kernel object, or why there is none under that name."""
    from cuda.tile._execution import kernel as Kernel

    if "<locals>" in name:
        return "it is built by another function"
    kernel = getattr(importlib.import_module(module), name, None)
    while kernel is not None and not isinstance(kernel, Kernel):
        kernel = getattr(kernel, "__wrapped__", None)
    return f"{module}.{name} is no kernel under that name" if kernel is None else kernel


def signature_of(one: Specialisation, array: ArrayOf) -> Any:
    """The signature a record stands for, each array as `array` makes it; or why it stands for none."""
    from cuda.tile.compilation import CallingConvention, ConstantConstraint, KernelSignature, ScalarConstraint

    constraints: list[Any] = []
    for parameter in one.parameters:
        match parameter:
            case Array():
                constraints.append(array(parameter))
            case Scalar():
                constraints.append(ScalarConstraint(dtype_named(parameter.dtype)))
            case Constant() if parameter.type in ("int", "float", "bool", "str", "NoneType"):
                constraints.append(ConstantConstraint(ast.literal_eval(parameter.text)))
            case _:
                return f"parameter {parameter.name} is a {getattr(parameter, 'type', parameter.kind)}"
    return KernelSignature(tuple(constraints), CallingConvention.cutile_python_v1())


def as_captured(parameter: Array) -> Any:
    """With everything that was assumed of the array when it was captured."""
    from cuda.tile.compilation import ArrayConstraint

    return ArrayConstraint(
        dtype_named(parameter.dtype),
        parameter.ndim,
        index_dtype=dtype_named(parameter.index_dtype),
        stride_lower_bound_incl=tuple(None if one is not None else 0 for one in parameter.stride_constant),
        alias_groups=(),
        may_alias_internally=parameter.may_alias_internally,
        stride_constant=parameter.stride_constant,
        shape_constant=(None,) * parameter.ndim,
        stride_divisible_by=parameter.stride_divisible_by,
        shape_divisible_by=parameter.shape_divisible_by,
        base_addr_divisible_by=parameter.base_divisible_by,
    )


def of_any(parameter: Array) -> Any:
    """Assuming no more than that the last stride is 1, where it was when captured: true of every call alike."""
    from cuda.tile.compilation import ArrayConstraint

    strides = (*(None,) * (parameter.ndim - 1), 1 if parameter.stride_constant[-1:] == (1,) else None)[: parameter.ndim]
    return ArrayConstraint(
        dtype_named(parameter.dtype),
        parameter.ndim,
        index_dtype=dtype_named(parameter.index_dtype),
        stride_lower_bound_incl=tuple(None if one is not None else 0 for one in strides),
        alias_groups=(),
        may_alias_internally=parameter.may_alias_internally,
        stride_constant=strides,
        shape_constant=(None,) * parameter.ndim,
        stride_divisible_by=(1,) * parameter.ndim,
        shape_divisible_by=(1,) * parameter.ndim,
        base_addr_divisible_by=1,
    )


def dtype_named(name: str) -> Any:
    import cuda.tile as ct

    return getattr(ct, {"bool": "bool_"}.get(name, name))
