"""What ports of one repository share, as a change of its own: which files, their texts, and whether it is there.

Without it a port is self-contained and carries these parts itself; with it a draft is shorter by them. A kernel's
helper functions are not among them: cuTile Rust 0.2.0 lets an entry call functions of its own module alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tileport_skill.errors import RequestError
from tileport_skill.tilegym.operators import Checkout

_HERE = Path(__file__).parent
MODULE = "tilegym.backend.cutile_rs.launching"
SHARED_RUST = ("fits", "borrow_tensor_on", "tensor_core_type")
_FIRST_RUST = "pub fn fits("


@dataclass(frozen=True, slots=True, kw_only=True)
class Infrastructure:
    """The two files, relative to the checkout's root."""

    launching: str
    ffi_util: str

    @property
    def allowed(self) -> tuple[str, ...]:
        """All that the change may touch."""
        return (self.launching, self.ffi_util)


def infrastructure_of(checkout: Checkout) -> Infrastructure:
    return Infrastructure(
        launching=f"{checkout.package}/backend/cutile_rs/launching.py",
        ffi_util=f"{checkout.package}/ops/cutile_rs/ffi_util.rs",
    )


def is_there(checkout: Checkout) -> bool:
    """Whether ports of this checkout may rely on it."""
    paths = infrastructure_of(checkout)
    rust = checkout.root / paths.ffi_util
    return (checkout.root / paths.launching).is_file() and rust.is_file() and _FIRST_RUST in rust.read_text("utf-8")


def new_texts(checkout: Checkout) -> dict[str, str]:
    """The change: both files' new texts, nothing where it is there already.

    Raises `RequestError` where one half is there, or a file of that name that is not ours.
    """
    if is_there(checkout):
        return {}
    paths = infrastructure_of(checkout)
    launching, rust = checkout.root / paths.launching, checkout.root / paths.ffi_util
    if launching.exists():
        raise RequestError(f"{paths.launching} is there already, and {paths.ffi_util} lacks what belongs to it.")
    if not rust.is_file():
        raise RequestError(f"{paths.ffi_util} does not exist; this repository has no cuTile Rust crate to add to.")
    text = rust.read_text(encoding="utf-8")
    for name in SHARED_RUST:
        if f"fn {name}" in text:
            raise RequestError(f"{paths.ffi_util} has a function {name} of its own; rename it first.")
    return {
        paths.launching: (_HERE / "launching.py.txt").read_text(encoding="utf-8"),
        paths.ffi_util: f"{text.rstrip()}\n{(_HERE / 'ffi_util.rs').read_text(encoding='utf-8')}",
    }


def needed_by(texts: Mapping[str, str]) -> tuple[str, ...]:
    """Files of a port, by path, that rely on the infrastructure change."""
    found = []
    for path, text in texts.items():
        shared = [name for name in SHARED_RUST if f"fn {name}" not in text]
        imports = [line for line in text.splitlines() if line.startswith("use crate::ffi_util::")]
        if f"from {MODULE} import" in text or any(name in line for line in imports for name in shared):
            found.append(path)
    return tuple(found)
