"""What a port's sources may not do, read without running them: pure, one sentence a rule, with path and line.

The gates measure what a port did; these rules take away the means of deceiving the measurement: reaching into other
modules, other streams, files and processes, the reference itself. Honest ports have needed none of them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator

from tileport_driver.hide_lines import library_lines, registration_lines, test_lines
from tileport_skill.errors import MachineryError
from tileport_skill.tilegym.port_files import PortFiles

_MODULES = (
    "__future__",
    "collections",
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


def broken_rules(files: PortFiles, base: Callable[[str], str | None], port: Callable[[str], str | None]) -> list[str]:
    """Every broken rule of a port, in its files' order. `base` and `port` give a path's text before and after."""
    found = [f"{files.wrapper}:{line}: {rule}" for line, rule in _python(port(files.wrapper) or "")]
    for path in (files.kernel, files.launcher):
        found += [f"{path}:{line}: {rule}" for line, rule in _rust(port(path) or "")]
    edits = (
        (files.library, library_lines, "only the port's own `mod` block may be added"),
        (files.registration, registration_lines, "only the port's own import may be added"),
        (files.test, test_lines, "only the port's backend may be added, as `if is_backend_available(...)` does"),
    )
    name = files.wrapper.rsplit("/", 1)[1].removesuffix(".py")
    for path, lines_of, rule in edits:
        before, after = base(path), port(path)
        if before is not None and after is not None and not _only_added(before, after, name, path, lines_of):
            found.append(f"{path}: {rule}; other lines differ from the base.")
    return found


def _only_added(before: str, after: str, name: str, path: str, lines_of: Callable[[str, str, str], set[int]]) -> bool:
    """Whether taking out what belongs to the port gives back the base, blank lines and comments aside."""
    try:
        drop = lines_of(after, name, path)
    except (MachineryError, SyntaxError):
        return False
    left = "\n".join(line for number, line in enumerate(after.splitlines(), 1) if number not in drop)
    return _essence(left, path) == _essence(before, path)


def _essence(text: str, path: str) -> object:
    if path.endswith(".py"):
        try:
            return ast.dump(ast.parse(text))
        except SyntaxError:
            return text
    return [line.strip() for line in text.splitlines() if line.strip()]


def _rust(text: str) -> Iterator[tuple[int, str]]:
    code = re.sub(r"//[^\n]*", "", text)
    for pattern, what in _RUST:
        for match in re.finditer(pattern, code):
            yield code.count("\n", 0, match.start()) + 1, f"{what} (`{match[0].strip()}`); a port is its own text only."


def _python(text: str) -> Iterator[tuple[int, str]]:
    try:
        tree = ast.parse(text)
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
