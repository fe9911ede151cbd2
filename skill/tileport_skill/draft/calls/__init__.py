"""Calls: of cuTile's functions, each by its handler in this folder, and of the checkout's own device functions."""

from __future__ import annotations

import ast

from tileport_skill.draft.body import Body
from tileport_skill.draft.calls import creation, matrix, memory, pointwise, reductions, shapes
from tileport_skill.draft.calls.site import HANDLERS, Site
from tileport_skill.draft.expressions import translate
from tileport_skill.draft.functions import call_function
from tileport_skill.draft.values import Untranslatable, Value

__all__ = ["creation", "matrix", "memory", "pointwise", "reductions", "shapes", "translate_call"]


def translate_call(body: Body, node: ast.Call) -> Value:
    """The value of a call; what it writes to memory is written to `body`."""
    callee = body.seen(node.func).symbols
    names = set(callee.values())
    if len(names) != 1:
        raise Untranslatable(f"a call of `{ast.unparse(node.func)[:60]}`")
    name = names.pop()
    if name.startswith("function "):
        return call_function(body, node, name.removeprefix("function "))
    receiver: tuple[Value, ...] = ()
    if "." in name.removeprefix("cuda.tile.") and isinstance(node.func, ast.Attribute):
        receiver = (translate(body, node.func.value),)
    short = name.rsplit(".", 1)[-1]
    known = HANDLERS.get(f"builtins.{short}" if name.startswith("builtins.") else short)
    if known is None:
        raise Untranslatable(f"`{name}`, for which there is no translation yet")
    handler, parameters = known
    return handler(Site.of(body, node, parameters, receiver))
