"""One call of a cuTile function: its arguments by name, translated, and where the compiler saw it."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass

from tileport_skill.draft.body import Body
from tileport_skill.draft.expressions import translate
from tileport_skill.draft.values import Array, Number, Product, Symbol, Tile, Untranslatable, Value

NONE = Symbol("None")


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    body: Body
    node: ast.Call
    arguments: dict[str, Value]

    @classmethod
    def of(cls, body: Body, node: ast.Call, parameters: tuple[str, ...], receiver: tuple[Value, ...]) -> Site:
        """Arguments are translated in the order in which Python evaluates them."""
        values = [*receiver, *(translate(body, argument) for argument in node.args)]
        if len(values) > len(parameters):
            raise Untranslatable(f"more arguments than known of `{ast.unparse(node.func)}`")
        found = dict(zip(parameters, values, strict=False))
        for keyword in node.keywords:
            if keyword.arg not in parameters:
                raise Untranslatable(f"the argument {keyword.arg} of `{ast.unparse(node.func)}`")
            found[keyword.arg] = translate(body, keyword.value)
        return cls(body=body, node=node, arguments=found)

    @property
    def element(self) -> str:
        """The element type of the result, as the compiler says."""
        return self.body.shared.facts.element(self.body.seen(self.node).dtypes)

    def value(self, name: str) -> Value:
        if name not in self.arguments:
            raise Untranslatable(f"`{ast.unparse(self.node.func)}` without its argument {name}")
        return self.arguments[name]

    def optional(self, name: str) -> Value | None:
        found = self.arguments.get(name)
        return None if found == NONE else found

    def tile(self, name: str) -> Tile:
        """A tile whose type Rust knows."""
        value = self.value(name)
        if isinstance(value, Product):
            from tileport_skill.draft.coerce import plain_product

            value = plain_product(self.body, value)
        if not isinstance(value, Tile):
            raise Untranslatable(f"`{ast.unparse(self.node)[:60]}` of what is no tile")
        return self.body.named(value, name if name != "x" else "operand")

    def array(self, name: str) -> Array:
        value = self.value(name)
        if not isinstance(value, Array):
            raise Untranslatable(f"`{ast.unparse(self.node)[:60]}`: its {name} is no parameter of the kernel")
        return value

    def flag(self, name: str, default: bool) -> Number | bool:
        """A truth value: known, or one of the kernel's constants."""
        value = self.optional(name)
        if value is None:
            return default
        if isinstance(value, Number) and value.dtype == "bool":
            return value.literal if isinstance(value.literal, bool) else value
        raise Untranslatable(f"`{name}` of `{ast.unparse(self.node)[:60]}`")

    def known_flag(self, name: str, default: bool = False) -> bool:
        value = self.flag(name, default)
        if isinstance(value, bool):
            return value
        raise Untranslatable(f"`{name}` of `{ast.unparse(self.node)[:60]}` is not one value")

    def integer(self, name: str, default: int | None = None) -> int:
        value = self.optional(name)
        if value is None and default is not None:
            return default
        if isinstance(value, Number) and isinstance(value.literal, int):
            return value.literal
        raise Untranslatable(f"`{name}` of `{ast.unparse(self.node)[:60]}` is not one number")

    def symbol(self, name: str, default: str) -> str:
        value = self.optional(name)
        if value is None:
            return default
        if isinstance(value, Symbol):
            return value.text
        raise Untranslatable(f"`{name}` of `{ast.unparse(self.node)[:60]}`")

    def element_argument(self, name: str) -> str:
        text = self.symbol(name, "")
        if not text.startswith("element "):
            raise Untranslatable(f"`{name}` of `{ast.unparse(self.node)[:60]}`")
        return text.removeprefix("element ")


Handler = Callable[[Site], Value]
HANDLERS: dict[str, tuple[Handler, tuple[str, ...]]] = {}
"""By the function's name in cuTile; a method stands under its function's name."""


def handles(name: str, *parameters: str) -> Callable[[Handler], Handler]:
    """Registers the handler of one function, with the names of its parameters in order."""

    def register(handler: Handler) -> Handler:
        HANDLERS[name] = (handler, parameters)
        return handler

    return register
