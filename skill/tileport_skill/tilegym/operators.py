"""The operators of a TileGym checkout, read from its sources without importing any of them.

An operator is a reference module under `ops/cutile` that defines `@ct.kernel` functions and registers itself
under one or more dispatch names; those names are its aliases. Nothing here is hard-coded per operator.
"""

from __future__ import annotations

import ast
import difflib
import re
from dataclasses import dataclass
from pathlib import Path

from tileport_skill.errors import RequestError

REFERENCE_BACKEND = "cutile"
PORT_BACKEND = "cutile-rs"
UNTUNED = "TILEGYM_DISABLE_AUTOTUNE"
"""The environment's switch, "1": operators do not ask their tuners, the few aside that ask always."""
BENCHMARK_PREFIX = "bench_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """One reference module. All paths are relative to the checkout's root and use forward slashes."""

    name: str
    """The module's own name, `silu_and_mul`; for a module in a sub-package still its last part, `gelu`."""
    aliases: tuple[str, ...]
    """The names TileGym dispatches it under, sorted; `get_swiglu` for `swiglu`."""
    reference: str
    """The reference module's path, `src/tilegym/ops/cutile/silu_and_mul.py`."""
    kernels: tuple[str, ...]
    """The `@ct.kernel` functions of the module, in source order."""
    tests: tuple[str, ...]
    """Test files that exercise it, sorted; empty for a wheel, which ships none."""
    benchmarks: tuple[str, ...] = ()
    """Benchmark files that exercise it, sorted; a suite's count for none."""
    ported: bool
    """Whether the checkout already holds a cuTile Rust port of it."""


@dataclass(frozen=True, slots=True)
class Checkout:
    """Where the parts of a TileGym checkout lie, relative to `root`; a repository and a wheel differ here only."""

    root: Path
    package: str
    """`src/tilegym` in a repository, `tilegym` in an unpacked wheel."""

    @property
    def reference_dir(self) -> Path:
        return self.root / self.package / "ops" / "cutile"

    @property
    def port_dir(self) -> Path:
        return self.root / self.package / "ops" / "cutile_rs"


def open_checkout(root: Path) -> Checkout:
    """Raises `RequestError` if `root` is not a TileGym checkout: one with `ops/cutile` and `ops/cutile_rs`."""
    for package in ("src/tilegym", "tilegym"):
        checkout = Checkout(root, package)
        if checkout.reference_dir.is_dir() and checkout.port_dir.is_dir():
            return checkout
    raise RequestError(
        f"{root} is not a TileGym checkout: neither src/tilegym/ops nor tilegym/ops holds both cutile/ and "
        "cutile_rs/. Give the root of a TileGym repository with --repo."
    )


def is_benchmark(path: str) -> bool:
    """Whether a file of a checkout's tests is a benchmark, by its name."""
    return path.rpartition("/")[2].startswith(BENCHMARK_PREFIX)


def names_without_reference(checkout: Checkout) -> dict[str, str]:
    """Dispatch names that some backend registers and cuTile Python does not, with a file that registers each."""
    found: dict[str, str] = {}
    for path in sorted((checkout.root / checkout.package / "ops").rglob("*.py")):
        if not path.is_relative_to(checkout.reference_dir):
            names = re.findall(r"""register_impl\(\s*["']([\w-]+)""", path.read_text(encoding="utf-8"))
            found |= dict.fromkeys(names, path.relative_to(checkout.root).as_posix())
    referenced = {alias for operator in read_operators(checkout) for alias in operator.aliases}
    return {name: path for name, path in found.items() if name not in referenced}


def read_operators(checkout: Checkout) -> tuple[Operator, ...]:
    """Every operator of the checkout, sorted by name."""
    found = []
    tests = _read(checkout, "ops", "test_")
    benchmarks = {
        path: text for path, text in _read(checkout, "benchmark", BENCHMARK_PREFIX).items() if "/suites/" not in path
    }
    for path in sorted(checkout.reference_dir.rglob("*.py")):
        kernels, aliases = kernels_and_names(path)
        if not kernels or not aliases:
            continue
        name = path.stem
        found.append(
            Operator(
                name=name,
                aliases=tuple(sorted(aliases)),
                reference=path.relative_to(checkout.root).as_posix(),
                kernels=tuple(kernels),
                tests=_exercising(name, aliases, tests, "test_"),
                benchmarks=_exercising(name, aliases, benchmarks, BENCHMARK_PREFIX),
                ported=(checkout.port_dir / f"{name}.py").is_file(),
            )
        )
    return tuple(sorted(found, key=lambda operator: operator.name))


def find_operator(operators: tuple[Operator, ...], spelling: str) -> Operator:
    """The one operator `spelling` names, without regard to case, `_` and `-`.

    Raises `RequestError` naming the nearest names if none matches, or all that match if several do.
    """
    wanted = _key(spelling)
    by_name = [operator for operator in operators if _key(operator.name) == wanted]
    matches = by_name or [o for o in operators if wanted in map(_key, o.aliases)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        names = ", ".join(operator.name for operator in matches)
        raise RequestError(f"{spelling!r} names more than one operator: {names}. Use one of these names.")
    spellings = {_key(n): o.name for o in operators for n in (*o.aliases, o.name)}
    near = dict.fromkeys(spellings[k] for k in difflib.get_close_matches(wanted, spellings, n=5, cutoff=0.5))
    hint = f" The nearest: {', '.join(near)}." if near else ""
    raise RequestError(f"No operator is named {spelling!r}.{hint} `tileport ops` lists them all.")


def _key(name: str) -> str:
    return re.sub(r"[-_\s]", "", name).casefold()


def kernels_and_names(path: Path) -> tuple[list[str], set[str]]:
    """The `@ct.kernel` functions of a module, and the names it registers reference implementations under."""
    tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    kernels, names = [], set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef):
            continue
        for decorator in node.decorator_list:
            text = ast.unparse(decorator)
            if re.match(r"(ct|cuda\.tile)\.kernel\b", text):
                kernels.append(node.name)
            elif text.startswith("register_impl(") and _backend_of(decorator) == REFERENCE_BACKEND:
                names |= _first_string(decorator)
    return kernels, names


def _backend_of(decorator: ast.expr) -> str | None:
    if not isinstance(decorator, ast.Call):
        return None
    for keyword in decorator.keywords:
        if keyword.arg == "backend" and isinstance(keyword.value, ast.Constant):
            return str(keyword.value.value)
    if len(decorator.args) > 1 and isinstance(decorator.args[1], ast.Constant):
        return str(decorator.args[1].value)
    return None


def _first_string(decorator: ast.expr) -> set[str]:
    if isinstance(decorator, ast.Call) and decorator.args and isinstance(decorator.args[0], ast.Constant):
        return {str(decorator.args[0].value)}
    return set()


def _read(checkout: Checkout, part: str, prefix: str) -> dict[str, str]:
    """Files of one part of the tests by path, with their text."""
    return {
        path.relative_to(checkout.root).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted((checkout.root / "tests" / part).rglob(f"{prefix}*.py"))
    }


def _exercising(name: str, aliases: set[str], files: dict[str, str], prefix: str) -> tuple[str, ...]:
    """Files named after the operator and files that call it through `tilegym.ops`; else any that mention it.

    A name alone says little where there is a better sign: `softmax` stands in every attention test.
    """
    either = "|".join(map(re.escape, sorted({name, *aliases})))
    called = re.compile(rf"\bops\.(?:\w+\.)*(?:{either})\b")
    mentioned = re.compile(rf"\b(?:{either})\b")
    found = {path for path, text in files.items() if Path(path).stem == prefix + name or called.search(text)}
    return tuple(sorted(found or {path for path, text in files.items() if mentioned.search(text)}))
