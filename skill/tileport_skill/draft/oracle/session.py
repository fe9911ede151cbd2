"""Asks the oracle: a child process imports the checkout's kernels and answers with the compiler's readings."""

from __future__ import annotations

import ast
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from tileport_skill.capture.child import bounded, child_environment
from tileport_skill.capture.profiles import profile_of
from tileport_skill.capture.records import Specialisation
from tileport_skill.draft.oracle.perturb import perturbed
from tileport_skill.draft.oracle.records import Answer
from tileport_skill.errors import MachineryError, RequestError
from tileport_skill.tilegym.operators import Checkout, Operator

SECONDS = 600.0


def ask(
    checkout: Checkout, operator: Operator, specialisations: Sequence[Specialisation], arch: str
) -> tuple[Answer, tuple[Specialisation, ...]]:
    """The readings, and all specialisations that were asked about: the captured ones and those made up."""
    tree = ast.parse((checkout.root / operator.reference).read_text(encoding="utf-8"))
    asked = list(specialisations)
    for kernel in dict.fromkeys(one.kernel for one in specialisations):
        asked += perturbed([one for one in specialisations if one.kernel == kernel], [tree])
    with tempfile.TemporaryDirectory(prefix="tileport-draft-") as folder:
        return _answer(checkout, asked, arch, Path(folder)), tuple(asked)


def _answer(checkout: Checkout, asked: Sequence[Specialisation], arch: str, scratch: Path) -> Answer:
    request, answer = scratch / "request.json", scratch / "answer.json"
    document = {
        "arch": arch,
        "specialisations": TypeAdapter(list[Specialisation]).dump_python(list(asked), mode="json"),
        "answer": str(answer),
        "package": str((checkout.root / checkout.package).resolve()),
    }
    request.write_text(json.dumps(document), encoding="utf-8")
    environment = child_environment(checkout, profile_of(arch), scratch)
    command = [sys.executable, "-m", "tileport_skill.draft.oracle.child", str(request)]
    code, said = bounded(command, scratch, environment, SECONDS)
    if not answer.is_file():
        end = "\n".join(said.rstrip().splitlines()[-20:])
        raise RequestError(f"The kernels could not be read by cuTile's compiler (exit {code}). The end of it:\n{end}")
    try:
        return TypeAdapter(Answer).validate_json(answer.read_bytes())
    except ValidationError as error:
        raise MachineryError(f"the oracle's answer cannot be read: {error}") from error
