"""What a capture was made from: the text of each kernel as a hash, and the versions of checkout and crates."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

from tileport_skill.tilegym.operators import Checkout

PINNED = re.compile(r"^(cutile|cutile-compiler)\s*=\s*(?:\"([^\"]+)\"|\{[^}]*version\s*=\s*\"([^\"]+)\")", re.MULTILINE)


def kernel_sources(checkout: Checkout, modules: Iterable[str]) -> dict[tuple[str, str], str]:
    """SHA-256 of the text of each top-level function of `modules`, decorators included, by module and name."""
    found = {}
    above = (checkout.root / checkout.package).parent
    for module in sorted(modules):
        path = above.joinpath(*module.split(".")).with_suffix(".py")
        if not path.is_file():
            continue
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines()
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef):
                first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                own = "\n".join(lines[first - 1 : node.end_lineno])
                found[module, node.name] = hashlib.sha256(own.encode()).hexdigest()
    return found


def versions_of(checkout: Checkout) -> dict[str, str]:
    """The checkout's commit, or its wheel's version, and the crates that its Rust side pins, where they are told."""
    found = {}
    commit = _commit(checkout.root / ".git")
    if commit is not None:
        found["tilegym-commit"] = commit
    for information in checkout.root.glob("tilegym-*.dist-info"):
        found["tilegym"] = information.name.removeprefix("tilegym-").removesuffix(".dist-info")
    for manifest in sorted(checkout.port_dir.rglob("Cargo.toml")):
        for name, plain, table in PINNED.findall(manifest.read_text(encoding="utf-8")):
            found[name] = plain or table
    return found


def _commit(git: Path) -> str | None:
    """Read from the files: git itself would run what a checkout's settings say."""
    try:
        head = (git / "HEAD").read_text(encoding="ascii").strip()
        if not head.startswith("ref: "):
            return head
        name = head.removeprefix("ref: ")
        if not re.fullmatch(r"refs/[\w./-]+", name) or ".." in name:
            return None
        loose = git / name
        if loose.is_file():
            return loose.read_text(encoding="ascii").strip()
        packed = (git / "packed-refs").read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return None
    return next((line.split()[0] for line in packed.splitlines() if line.endswith(f" {name}")), None)
