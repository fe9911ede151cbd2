"""`python -m tileport_skill.correctness.sanitized JOB ROLE CALLS OUT`: the kept calls once each, nothing recorded.

Runs under compute-sanitizer, which like CUPTI wants to be the only one that watches.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import torch

from tileport_skill.correctness import untimed
from tileport_skill.correctness.calls import load_calls, on_device
from tileport_skill.correctness.child import implementation
from tileport_skill.correctness.records import Role, read_job
from tileport_skill.correctness.variations import VARIATIONS, Change

CHANGES = ("as it was", "padded rows", "ragged", "misaligned")
"""Those in which an access that is a little off leaves its allocation."""


def _as_it_was(arguments: Any, _random: torch.Generator) -> Any:
    return arguments


def main() -> int:
    job, calls, out = read_job(Path(sys.argv[1])), Path(sys.argv[3]), Path(sys.argv[4])
    role: Role = "reference" if sys.argv[2] == "reference" else "port"
    untimed.install()
    importlib.import_module("tilegym.ops")
    untimed.install_for_ports()
    count = 0
    for number, call in enumerate(load_calls(calls)):
        function = implementation(call["name"], role)
        for name in CHANGES:
            change: Change = VARIATIONS.get(name, _as_it_was)
            arguments = change((call["args"], call["kwargs"]), torch.Generator().manual_seed(job.seed + number))
            if arguments is None:
                continue
            args, kwargs = on_device(arguments)
            try:
                function(*args, **kwargs)
                torch.cuda.synchronize()
            except Exception as error:  # what is refused is the other run's business
                print(f"call {number}, {name}: {type(error).__name__}: {error}", file=sys.stderr)
                continue
            count += 1
    out.write_text(json.dumps({"calls": count}), encoding="utf-8")
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
