"""A whole port, six files, from a draft of its kernels: launcher, wrapper and the three edits around `kernel.rs`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tileport_skill.draft.crossing import c_function, check_symbols
from tileport_skill.draft.edits import with_backend, with_module, with_registration
from tileport_skill.draft.host import read_host, registered
from tileport_skill.draft.launcher import print_launcher
from tileport_skill.draft.operator import KernelDraft
from tileport_skill.draft.values import Untranslatable
from tileport_skill.draft.wrapper import Tuned, print_wrapper
from tileport_skill.errors import RequestError
from tileport_skill.infrastructure import is_there
from tileport_skill.tilegym.licence import with_licence
from tileport_skill.tilegym.operators import Checkout, Operator, read_operators
from tileport_skill.tilegym.port_files import port_files
from tileport_skill.tuning.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class PortDraft:
    """What can be written of a port."""

    files: dict[str, str]
    """Texts by their paths in the checkout. All six, or `kernel.rs` alone, or nothing."""
    refused: str | None
    """Why there is no more than `kernel.rs`, with the line of the reference's module."""


def check_vacant(checkout: Checkout, operator: Operator) -> None:
    """Raises `RequestError` if one of the port's own files is there already: none is overwritten."""
    there = [path for path in port_files(checkout, operator).new if (checkout.root / path).exists()]
    if there:
        raise RequestError(f"{operator.name} has a port here already: {', '.join(there)}. Draft where there is none.")


def kernel_alone(checkout: Checkout, operator: Operator, draft: KernelDraft) -> PortDraft:
    """`kernel.rs` and nothing else, as asked for."""
    path = port_files(checkout, operator).kernel
    files = {} if draft.text is None else {path: with_licence(_text(checkout, operator.reference), path, draft.text)}
    return PortDraft(files=files, refused=None)


def draft_port(checkout: Checkout, operator: Operator, draft: KernelDraft, table: Table | None = None) -> PortDraft:
    """The six files' new texts, with a tuning table in the wrapper if one is given.

    Raises `RequestError` if a file to be edited is not as TileGym writes it.
    """
    paths = port_files(checkout, operator)
    if draft.text is None:
        return PortDraft(files={}, refused="not one kernel is translated")
    kernel = kernel_alone(checkout, operator, draft).files
    reference = _text(checkout, operator.reference)
    try:
        tuned = None if table is None or not table.lines else Tuned(table=table, kernel=kernel[paths.kernel])
        launcher, wrapper = launcher_and_wrapper(checkout, operator, draft, tuned)
    except Untranslatable as error:
        place = f" ({operator.reference}:{error.line})" if error.line else ""
        return PortDraft(files=kernel, refused=f"{error}{place}")
    hosts = {paths.wrapper: wrapper, paths.launcher: launcher}
    files = {path: with_licence(reference, path, text) for path, text in hosts.items()} | kernel
    edits = {paths.library: with_module, paths.registration: with_registration}
    for path, edit in edits.items():
        files[path] = edit(_text(checkout, path), operator.name, path)
    if operator.tests:  # a wheel ships none
        files[paths.test] = with_backend(_text(checkout, paths.test), paths.test)
    return PortDraft(files=files, refused=None)


def launcher_and_wrapper(
    checkout: Checkout, operator: Operator, draft: KernelDraft, tuned: Tuned | None = None
) -> tuple[str, str]:
    """`ffi.rs` and the wrapper, shorter where the repository has what ports share; `tuned` is what was measured.

    Raises `Untranslatable` naming what stands in the way.
    """
    functions = tuple(c_function(operator.name, entry) for entry in draft.entries)
    check_symbols(functions)
    refused = {one.kernel: f"{one.reason} (line {one.line})" if one.line else one.reason for one in draft.refused}
    shared = is_there(checkout)
    host = read_host(_text(checkout, operator.reference), _siblings(checkout, operator))
    wrapper = print_wrapper(operator.name, host, functions, refused, shared=shared, tuned=tuned)
    return print_launcher(operator.name, functions, shared=shared), wrapper


def _siblings(checkout: Checkout, operator: Operator) -> dict[str, frozenset[str]]:
    others = [one.reference for one in read_operators(checkout) if one.name != operator.name]
    return {Path(path).stem: registered(_text(checkout, path)) for path in others}


def _text(checkout: Checkout, path: str) -> str:
    try:
        return (checkout.root / path).read_text(encoding="utf-8")
    except OSError as error:
        raise RequestError(f"{path} cannot be read, and a port adds to it: {error}") from error
