"""`python -m tileport_skill.draft.from_ir.child REQUEST`: Tile IR of kernels, assuming nothing of their arguments.

The request names an architecture and the specialisations; each one's bytecode goes to a file, the answer is one JSON
file that says which.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from tileport_skill.capture.inside import device, lean
from tileport_skill.capture.profiles import profile_of
from tileport_skill.capture.records import Specialisation
from tileport_skill.draft.oracle.kernels import kernel_named, of_any, signature_of

BYTECODE_VERSION = "13.3"


def main() -> None:
    request = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    lean.install((request["package"],))
    device.install(profile_of(request["arch"]))
    found = TypeAdapter(tuple[Specialisation, ...]).validate_python(request["specialisations"])
    answers = []
    for number, one in enumerate(found):
        made = _bytecode(one, request["arch"])
        path = Path(request["folder"]) / f"{number}.tileirbc"
        if isinstance(made, bytes):
            path.write_bytes(made)
        answers.append(made if isinstance(made, str) else None)
    Path(request["answer"]).write_text(json.dumps(answers), encoding="utf-8")


def _bytecode(one: Specialisation, arch: str) -> bytes | str:
    """The bytecode, or why there is none."""
    from cuda.tile import _compile

    kernel: Any = kernel_named(one.module, one.kernel)
    if isinstance(kernel, str):
        return kernel
    signature = signature_of(one, of_any)
    if isinstance(signature, str):
        return signature
    try:
        done = _compile.compile_tile(
            kernel._annotated_function,
            [signature.with_mangled_symbol("kernel")],
            sm_arch=arch,
            bytecode_version=_compile.parse_bytecode_version(BYTECODE_VERSION),
            return_bytecode=True,
            return_cubin=False,
        )
    except Exception as refused:
        return f"cuTile's compiler refuses it: {type(refused).__name__}: {refused}"[:600]
    assert done.bytecode is not None
    return bytes(done.bytecode)


if __name__ == "__main__":
    main()
