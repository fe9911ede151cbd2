"""What a port may not reach: other modules, files, streams, processes, the reference itself.

The gates measure what a port did; these rules take away the means of deceiving the measurement. Honest ports have
needed none of them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator

from tileport_skill.lint.records import Hit, Part, Port, Rule
from tileport_skill.lint.table_part import without_table

_MODULES = (
    "__future__",
    "collections",
    "contextlib.nullcontext",
    "dataclasses",
    "enum",
    "functools",
    "itertools",
    "math",
    "operator",
    "types",
    "typing",
    "warnings",
    "torch",
    "tilegym.autotune",
    "tilegym.backend",
    "tilegym.logger",
    "tilegym.ops.cutile_rs",
)
_BUILTINS = frozenset(
    {"eval", "exec", "compile", "open", "breakpoint", "globals", "locals", "vars", "setattr", "delattr", "memoryview"}
    | {"__import__", "__builtins__"}
)
_TORCH = (
    "torch.compile",
    "torch.jit",
    "torch.ops",
    "torch.classes",
    "torch.library",
    "torch.utils",
    "torch.multiprocessing",
    "torch.distributed",
    "torch.profiler",
    "torch.save",
    "torch.load",
    "torch.cuda.Stream",
    "torch.cuda.stream",
    "torch.cuda.set_stream",
    "torch.cuda.ExternalStream",
    "torch.cuda.Event",
    "torch.cuda.CUDAGraph",
    "torch.cuda.graph",
    "torch.cuda.synchronize",
)
_BASES = frozenset(
    {"torch.autograd.Function", "torch.nn.Module", "Function", "NamedTuple", "Enum", "IntEnum", "object"}
)
_DUNDERS = frozenset({"__name__", "__doc__", "__qualname__", "__init__", "__post_init__", "__slots__"})
_RUST = (
    (r"\binclude(_str|_bytes)?\s*!", "takes in another file"),
    (r"\b(env|option_env)\s*!", "reads the environment"),
    (r"\b(global_)?asm\s*!", "holds assembler"),
    (r"\bstd\s*::\s*(fs|thread|process|env|net|io|os)\b", "reaches the operating system"),
    (r"\b(libc|libloading)\s*::", "reaches the operating system"),
    (r"\bextern\s+crate\b", "links another crate"),
    (r"#\s*!?\[\s*(link|path|export_name|used|ctor)\b", "changes how it is linked"),
    (r"\bextern\s+\"C\"\s*\{", "declares foreign functions"),
)


def rust_reaches(text: str) -> Iterator[tuple[int, str]]:
    code = re.sub(r"//[^\n]*", "", text)
    for pattern, what in _RUST:
        for match in re.finditer(pattern, code):
            yield code.count("\n", 0, match.start()) + 1, f"{what} (`{match[0].strip()}`); a port is its own text only."


def python_reaches(text: str) -> Iterator[tuple[int, str]]:
    try:
        tree = ast.parse(without_table(text))
    except SyntaxError as error:
        yield error.lineno or 1, f"does not parse: {error.msg}."
        return
    imported = {name for node in ast.walk(tree) for name in _names_bound(node)}
    bases = _BASES | _own_bases(tree, imported)
    for node in ast.walk(tree):
        rule = _broken_by(node, imported, bases)
        if rule is not None:
            yield getattr(node, "lineno", 1), rule


def _names_bound(node: ast.AST) -> list[str]:
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [(alias.asname or alias.name).split(".")[0] for alias in node.names]
    return []


def _own_bases(tree: ast.Module, imported: set[str]) -> set[str]:
    """Classes of the file itself, which keep to the rules as well, and torch's modules under their usual name.

    A name that is bound in any other way may stand for anything.
    """
    classes = [node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    stored = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    functions = {node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}
    own = {name for name in classes if classes.count(name) == 1} - stored - functions - imported
    is_torchs = "nn" in imported and "nn" not in {*stored, *functions, *classes}
    return own | ({"nn.Module"} if is_torchs else set())


def _broken_by(node: ast.AST, imported: set[str], bases: Collection[str]) -> str | None:
    """The rule one node breaks."""
    match node:
        case ast.Import() | ast.ImportFrom():
            return _import(node)
        case ast.Name(id=name) if name in _BUILTINS:
            return f"uses `{name}`."
        case ast.Attribute(attr=name) if name.startswith("__") and name not in _DUNDERS:
            return f"reaches into an object by `{name}`."
        case ast.Attribute():
            dotted = ast.unparse(node)
            private = dotted.startswith("torch._")
            named = next((name for name in _TORCH if dotted == name or dotted.startswith(f"{name}.")), None)
            if named or private:
                return f"uses `{named or dotted}`: a launcher works on the caller's stream, at once, and by itself."
        case ast.Assign() | ast.AugAssign() | ast.AnnAssign() | ast.Delete():
            return _assignment(node, imported)
        case ast.ExceptHandler(type=kind) if kind is None or ast.unparse(kind) in {"Exception", "BaseException"}:
            return "catches every exception: a failure must be seen, not replaced."
        case ast.ClassDef(bases=found) if any(ast.unparse(base) not in bases for base in found):
            return f"derives a class from {', '.join(map(ast.unparse, found))}."
    return None


def _import(node: ast.Import | ast.ImportFrom) -> str | None:
    if isinstance(node, ast.ImportFrom) and node.level:
        # `from . import x` and `from .x import y` stay among the ports.
        return None if node.level == 1 else f"imports from {'.' * node.level}{node.module or ''}."
    module = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
    for name in [f"{module}{alias.name}" for alias in node.names]:
        if not any(name == known or name.startswith(f"{known}.") for known in _MODULES):
            return f"imports `{name}`, which no port needs."
        if any(f"{name}.".startswith(f"{banned}.") for banned in _TORCH) or "._" in name.removeprefix("__future__"):
            return f"imports `{name}`: a launcher works on the caller's stream, at once, and by itself."
    return None


def _assignment(node: ast.AST, imported: set[str]) -> str | None:
    targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
    for target in targets:
        for part in ast.walk(target) if target is not None else ():
            if isinstance(part, (ast.Attribute, ast.Subscript)):
                root: ast.expr = part
                while isinstance(root, (ast.Attribute, ast.Subscript, ast.Call)):
                    root = root.func if isinstance(root, ast.Call) else root.value
                if isinstance(root, ast.Name) and root.id in imported:
                    return f"changes `{ast.unparse(part)}`, which belongs to another module."
    return None


def _rust_part(part: Part) -> Callable[[Port], Iterator[Hit]]:
    def check(port: Port) -> Iterator[Hit]:
        source = port.part(part)
        for line, what in rust_reaches(source.text) if source else ():
            yield Hit(part=part, line=line, what=what.rstrip("."))

    return check


def _wrapper(port: Port) -> Iterator[Hit]:
    source = port.part("wrapper")
    for line, what in python_reaches(source.text) if source else ():
        if not what.startswith("does not parse"):
            yield Hit(part="wrapper", line=line, what=what.rstrip("."))


def _parses(port: Port) -> Iterator[Hit]:
    for part in ("wrapper", "registration", "test", "reference"):
        source = port.parts.get(part)
        if source is not None and isinstance(source.python, SyntaxError):
            error = source.python
            yield Hit(part=part, line=error.lineno or 1, what=error.msg)


RULES = (
    Rule(
        id="kernel-reaches-nothing",
        says="Let kernel.rs hold its own text only: no other files, foreign functions, processes or link attributes.",
        because="What is judged is the text; what it pulls in from elsewhere would run unseen.",
        check=_rust_part("kernel"),
        bad={"kernel": 'const S: &str = include_str!("../secret");\n'},
        good={"kernel": "// std::fs would not do here\n"},
    ),
    Rule(
        id="launcher-reaches-nothing",
        says="Let ffi.rs hold its own text only: no other files, foreign functions, processes or link attributes.",
        because="What is judged is the text; what it pulls in from elsewhere would run unseen.",
        check=_rust_part("launcher"),
        bad={"launcher": "fn f() { std::thread::spawn(|| ()); }\n"},
        good={"launcher": "use core::ffi::c_void;\n"},
    ),
    Rule(
        id="wrapper-reaches-nothing",
        says="Let a wrapper import and change only what a port needs: torch, TileGym's loader, its own text.",
        because="Whoever can reach the dispatcher, the clock or the test can also answer for the kernel.",
        check=_wrapper,
        bad={"wrapper": "import threading\n"},
        good={"wrapper": "import torch\n"},
    ),
    Rule(
        id="python-parses",
        says="Write Python that parses.",
        because="Nothing else can be said of a file that does not.",
        check=_parses,
        bad={"wrapper": "def (\n"},
        good={"wrapper": "x = 1\n"},
    ),
)
