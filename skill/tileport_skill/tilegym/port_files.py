"""The six files a port may touch, for one operator of one checkout."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tileport_skill.tilegym.operators import Checkout, Operator

_ENTRY = re.compile(r"#\[\s*cutile::entry\b[\s\S]*?\bfn\s+(\w+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class PortFiles:
    """Paths relative to the checkout's root. The first three are new in a port, the others are edited."""

    wrapper: str
    kernel: str
    launcher: str
    library: str
    registration: str
    test: str

    @property
    def new(self) -> tuple[str, str, str]:
        return (self.wrapper, self.kernel, self.launcher)

    @property
    def edited(self) -> tuple[str, str, str]:
        return (self.library, self.registration, self.test)

    @property
    def all(self) -> tuple[str, ...]:
        return (*self.new, *self.edited)


def port_files(checkout: Checkout, operator: Operator) -> PortFiles:
    """Where the port of `operator` lies. Without a test file of its own the sixth is the one it would get."""
    base = f"{checkout.package}/ops/cutile_rs"
    own = f"tests/ops/test_{operator.name}.py"
    named = [path for path in operator.tests if path.endswith(f"/test_{operator.name}.py")]
    test = (named or list(operator.tests) or [own])[0]
    return PortFiles(
        wrapper=f"{base}/{operator.name}.py",
        kernel=f"{base}/{operator.name}_kernel/kernel.rs",
        launcher=f"{base}/{operator.name}_kernel/ffi.rs",
        library=f"{base}/cutile_kernels/src/lib.rs",
        registration=f"{base}/__init__.py",
        test=test,
    )


def declared_entries(kernel: str) -> tuple[str, ...]:
    """The entries that the text of a `kernel.rs` declares, in its order."""
    return tuple(_ENTRY.findall(kernel))
