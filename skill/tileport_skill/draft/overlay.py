"""A copy of a checkout with a draft's wrapper as the only port: where its dispatch is checked, whatever is there."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from tileport_skill.draft.edits import with_backend
from tileport_skill.draft.replaced import PORTS
from tileport_skill.errors import RequestError
from tileport_skill.tilegym.operators import PORT_BACKEND, Checkout, Operator, read_operators
from tileport_skill.tilegym.port_files import port_files

_LEFT_BEHIND = shutil.ignore_patterns("target", "__pycache__", "*.so", ".git")
_REGISTRATION = """\
from tilegym.backend import is_backend_available

if is_backend_available("{backend}"):
    from . import {operator}  # noqa: F401
"""


def lay_out(checkout: Checkout, operator: Operator, wrapper: str, root: Path) -> Checkout:
    """Makes the copy at `root`, its tests asking for the port too. A wheel has no tests; ours ask by themselves.

    Raises `RequestError` if a test file cannot be made to ask for it.
    """
    paths = port_files(checkout, operator)
    shutil.copytree(checkout.root / checkout.package, root / checkout.package, ignore=_LEFT_BEHIND)
    (root / paths.registration).write_text(
        _REGISTRATION.format(backend=PORT_BACKEND, operator=operator.name), encoding="utf-8"
    )
    (root / paths.wrapper).write_text(wrapper, encoding="utf-8")
    for module, function in re.findall(rf"from {re.escape(PORTS)}\.(\w+) import (\w+)", wrapper):
        _stand_in(root, checkout, paths.wrapper, module, function)
    if operator.tests:
        shutil.copytree(checkout.root / "tests", root / "tests", ignore=_LEFT_BEHIND)
    asking = 0
    for path in operator.tests:
        try:
            text = with_backend((root / path).read_text(encoding="utf-8"), path)
        except RequestError:
            if path == paths.test:
                raise
            continue  # another's file, which exercises this operator on the reference alone
        (root / path).write_text(text, encoding="utf-8")
        asking += 1
    if operator.tests and not asking:
        raise RequestError(f"No test file of {operator.name} can be made to ask for the port.")
    return Checkout(root, checkout.package)


def _stand_in(root: Path, checkout: Checkout, wrapper: str, module: str, function: str) -> None:
    """Another operator, whose port this one calls, is its reference here: this port's own launches are asked for."""
    path = (root / wrapper).with_name(f"{module}.py")
    reference = next((one.reference for one in read_operators(checkout) if Path(one.reference).stem == module), None)
    if reference is None or path.exists():
        return
    package = ".".join(Path(reference).relative_to(Path(checkout.package).parent).with_suffix("").parts)
    path.write_text(f"from {package} import {function}  # noqa: F401\n", encoding="utf-8")
