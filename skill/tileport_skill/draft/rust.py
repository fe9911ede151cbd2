"""A small tree of the Rust that kernels are written in. It knows how its parts look on one line; `printer.py` breaks
lines."""

from __future__ import annotations

from dataclasses import dataclass, field

PRECEDENCE = {"*": 5, "/": 5, "%": 5, "+": 4, "-": 4, "&": 3, "^": 2, "|": 1}
COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!="})
ATOM = 10


class Expr:
    """Something with a value."""

    @property
    def flat(self) -> str:
        raise NotImplementedError

    @property
    def precedence(self) -> int:
        return ATOM


def operand(expr: Expr, least: int) -> str:
    """`expr` as part of a larger expression, in parentheses where it binds less than `least`."""
    return expr.flat if expr.precedence >= least else f"({expr.flat})"


@dataclass(frozen=True, slots=True)
class Word(Expr):
    """A name, a literal, a path: whatever has no parts."""

    text: str

    @property
    def flat(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Call(Expr):
    function: str
    arguments: tuple[Expr, ...]
    brackets: str = "()"
    """`[]` for a macro such as `const_shape!`, and with an empty name an array."""

    @property
    def flat(self) -> str:
        inner = ", ".join(argument.flat for argument in self.arguments)
        return f"{self.function}{self.brackets[0]}{inner}{self.brackets[1]}"


@dataclass(frozen=True, slots=True)
class Method(Expr):
    receiver: Expr
    name: str
    arguments: tuple[Expr, ...] = ()

    @property
    def flat(self) -> str:
        return f"{operand(self.receiver, ATOM)}.{self.name}({', '.join(a.flat for a in self.arguments)})"


@dataclass(frozen=True, slots=True)
class Binary(Expr):
    operator: str
    left: Expr
    right: Expr

    @property
    def precedence(self) -> int:
        return PRECEDENCE.get(self.operator, 0)

    @property
    def flat(self) -> str:
        mine = self.precedence
        return f"{operand(self.left, mine or 1)} {self.operator} {operand(self.right, mine + 1)}"


@dataclass(frozen=True, slots=True)
class Unsafe(Expr):
    inner: Expr

    @property
    def flat(self) -> str:
        return f"unsafe {{ {self.inner.flat} }}"


@dataclass(frozen=True, slots=True)
class If(Expr):
    """As an expression: both arms end in a value. As a statement: in none."""

    condition: Expr
    then: Block
    otherwise: Block | None

    @property
    def precedence(self) -> int:
        return 0

    @property
    def flat(self) -> str:
        then, otherwise = self.then.single, self.otherwise.single if self.otherwise else None
        if then is None or otherwise is None:
            return ""
        return f"if {self.condition.flat} {{ {then.flat} }} else {{ {otherwise.flat} }}"


class Stmt:
    """One statement, comment or empty line."""


@dataclass(frozen=True, slots=True)
class Block:
    statements: tuple[Stmt, ...]
    value: Expr | None = None

    @property
    def single(self) -> Expr | None:
        """The value, if there is nothing else."""
        return self.value if not self.statements else None


@dataclass(frozen=True, slots=True)
class Let(Stmt):
    names: tuple[str, ...]
    value: Expr
    type: str | None = None
    mutable: bool = False

    @property
    def head(self) -> str:
        names = [f"mut {name}" if self.mutable else name for name in self.names]
        pattern = names[0] if len(names) == 1 else f"({', '.join(names)})"
        return f"let {pattern}" + (f": {self.type}" if self.type else "")


@dataclass(frozen=True, slots=True)
class Assign(Stmt):
    name: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Run(Stmt):
    """An expression for its effect."""

    value: Expr


@dataclass(frozen=True, slots=True)
class For(Stmt):
    name: str
    start: Expr
    stop: Expr
    step: Expr | None
    body: Block


@dataclass(frozen=True, slots=True)
class Loop(Stmt):
    """One that ends by `break`."""

    body: Block


@dataclass(frozen=True, slots=True)
class Comment(Stmt):
    text: str


@dataclass(frozen=True, slots=True)
class Blank(Stmt):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    name: str
    generics: tuple[str, ...]
    parameters: tuple[str, ...]
    """`name: type`."""
    returns: str | None
    body: Block
    documentation: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    qualifiers: str = ""
    """`pub unsafe `, or nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """A whole `kernel.rs`."""

    name: str
    head: tuple[str, ...]
    idioms: tuple[str, ...] = field(default=())
    """Functions that are the same in every kernel, as text."""
    functions: tuple[Function, ...]


def word(text: str | int) -> Word:
    return Word(str(text))


def call(function: str, *arguments: Expr | str) -> Call:
    return Call(function, tuple(word(a) if isinstance(a, str) else a for a in arguments))


def shape(dims: tuple[str, ...]) -> Call:
    """`const_shape![M, N]`."""
    return Call("const_shape!", tuple(map(word, dims)), "[]")
