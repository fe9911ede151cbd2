"""Runs cuTile's compiler up to its typed IR and records what it decides on the way; in the child only.

The names used here are cuTile 1.7.0's own, private ones; the version is pinned, and a test holds each of them.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FunctionType
from typing import Any

from cuda.tile import DType, _compile
from cuda.tile._annotated_function import AnnotatedFunction
from cuda.tile._exception import Loc
from cuda.tile._ir import ir
from cuda.tile._ir.control_flow_ops import Loop
from cuda.tile._ir.ir import Block, MemoryEffect, Var
from cuda.tile._passes import hir2ir, rewrite_patterns
from cuda.tile.compilation import KernelSignature

from tileport_skill.draft.oracle.records import Access, Fused, Node, Reading, Span

BYTECODE_VERSION = "13.3"
Place = tuple[Span, ...]


def read(function: AnnotatedFunction, signature: KernelSignature, specialisation: str) -> Reading:
    """What the compiler makes of `function` under `signature`."""
    nodes: list[Node] = []
    products: dict[Place, Place] = {}
    try:
        with _recording(nodes, products):
            done = _compile.compile_tile(
                function,
                [signature.with_mangled_symbol("kernel")],
                sm_arch="sm_90",
                bytecode_version=_compile.parse_bytecode_version(BYTECODE_VERSION),
                return_final_ir=True,
                return_cubin=False,
            )
    except Exception as refused:
        return Reading(specialisation=specialisation, refused=f"{type(refused).__name__}: {refused}"[:600])
    assert done.final_ir is not None
    body = done.final_ir[0]
    assert body is not None
    ops = list(_walk(body))
    sums = dict.fromkeys(place(op.loc) for op in ops if op.op == "fma")
    fused = [Fused(product=products[one], sum=one) for one in sums if one in products]
    loops = [place(op.loc) for op in ops if isinstance(op, Loop)]
    return Reading(
        specialisation=specialisation,
        nodes=tuple(dict.fromkeys(nodes)),
        fused=tuple(fused),
        split_loops=tuple(dict.fromkeys(loop for loop in loops if loops.count(loop) > 1)),
        accesses=tuple(_accesses(ops)),
    )


@contextmanager
def _recording(nodes: list[Node], products: dict[Place, Place]) -> Iterator[None]:
    """Listens where the compiler types an expression, and where it merges two operations into one."""
    dispatch, rewrite = hir2ir._dispatch_call, rewrite_patterns.MatchContext.add_rewrite

    async def listening(call: Any, scope: Any) -> None:
        await dispatch(call, scope)
        if call.result is None:
            return
        with suppress(KeyError):  # a call that ended its block leaves no result
            made = scope.hir2ir_varmap[call.result.id]
            nodes.append(_node(made, hir2ir.retarget_loc(call.loc, scope)))

    def noting(self: Any, to_remove: Any, to_add: Any) -> None:
        products[place(to_add[-1].loc)] = place(to_remove[0].loc)
        rewrite(self, to_remove, to_add)

    hir2ir._dispatch_call = listening
    rewrite_patterns.MatchContext.add_rewrite = noting
    try:
        yield
    finally:
        hir2ir._dispatch_call = dispatch
        rewrite_patterns.MatchContext.add_rewrite = rewrite


def _node(made: Var[Any], where: Loc) -> Node:
    kind = made.get_type_allow_invalid()
    dtype = getattr(kind, "dtype", None) if hasattr(kind, "shape") and not made.is_aggregate() else None
    value = made.get_constant() if made.is_constant() else None
    known = made.is_constant() and (value is None or isinstance(value, (bool, int, float, str)))
    return Node(
        place=place(where),
        dtype=None if dtype is None else str(dtype),
        shape=tuple(kind.shape) if dtype is not None else (),
        constant=repr(value) if known and not isinstance(value, enum.Enum) else None,
        symbol=_symbol(kind, value),
    )


def _symbol(kind: Any, value: Any) -> str | None:
    if isinstance(value, DType):
        return f"dtype {value}"
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    function = getattr(kind, "func", None) or value
    if isinstance(function, FunctionType) and function.__module__ not in (None, "cuda.tile._stub"):
        code = function.__code__
        return f"function {code.co_filename}:{code.co_firstlineno}"
    if callable(function):
        package = "builtins" if function.__module__ == "builtins" else "cuda.tile"
        return f"{package}.{function.__qualname__}"
    return None


def place(where: Loc) -> tuple[Span, ...]:
    """The spans of the calls that lead to an expression, and its own."""
    outer = place(where.call_site) if where.call_site is not None else ()
    return (*outer, (where.line, where.col, where.last_line or where.line, where.end_col or where.col))


def _walk(block: Block) -> Iterator[ir.Operation]:
    for op in block:
        yield op
        for inner in op.nested_blocks:
            yield from _walk(inner)


def _accesses(ops: list[ir.Operation]) -> Iterator[Access]:
    """An access is ordered if following its token backwards ends at another access or a loop, not at the root."""
    makers = {var.name: op for op in ops for var in op.result_vars}
    for op in ops:
        if op.memory_effect is MemoryEffect.NONE:
            continue
        token = op.operands.get("token")
        maker = makers.get(token.name) if isinstance(token, Var) else None
        ordered = isinstance(token, Var) and (maker is None or maker.op != "make_token")
        yield Access(place=place(op.loc), operation=op.op, ordered=ordered)
