"""READ FIRST: the GPU gates of one patch: from evidence that came back, on this machine's own GPU, or not run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from pydantic import TypeAdapter

from tileport_driver.gpu.gates import correctness_gate, read_evidence
from tileport_driver.gpu.host import gpu_arch, needs
from tileport_driver.gpu.one_at_a_time import gpu_to_itself
from tileport_driver.gpu.pack import pack
from tileport_driver.gpu.performance import performance_gate
from tileport_driver.records import AgentCheckout, Gate, NotRun, Passed, Patch
from tileport_driver.store import AttemptFolder
from tileport_skill.correctness.files import EVIDENCE
from tileport_skill.errors import MachineryError
from tileport_skill.judge.findings import Findings
from tileport_skill.tileir.verdicts import Equal

_SECONDS = 4 * 3600.0
"""Both sides' tests, at most 1,800 s each time they are waited for, and what timing takes, in pieces of 3,000 s."""


def gpu_gates(tick: Callable[[str], None], evidence: Path | None = None) -> Callable[..., list[Gate]]:
    """The gates as acceptance calls them. With `evidence` they are judged from it; without, on the GPU at hand.

    Either way the attempt keeps what they were judged from.
    """

    def gates(attempt: AttemptFolder, record: AgentCheckout, patch: Patch) -> list[Gate]:
        how = command_line(record)
        folder = attempt.gpu
        if evidence is not None:
            read_evidence(evidence, patch, None)
            shutil.copytree(evidence, folder, dirs_exist_ok=True)
        else:
            missing = [need for need in needs() if not need.ok]
            if missing:
                return not_run(f"This machine lacks {', '.join(need.what for need in missing)}.", how)
            _run_here(attempt, record, patch, tick)
        findings = _findings(attempt)
        built = findings.build.library_sha256 if findings else None
        found = read_evidence(folder, patch, built)
        arch = _arch(found.host.get("capability"))
        correct = correctness_gate(found, folder, _judged(findings), arch, how)
        if not isinstance(correct, Passed):
            return [correct, *not_run("The port is not known to be correct.", "Mend that first.")[1:]]
        return [correct, performance_gate(folder, record.operator, found.job.library_sha256, how)]

    return gates


def not_run(why: str, how: str) -> list[Gate]:
    """Both gates, with what a person runs to have them run."""
    return [NotRun(gate="correctness", why=why, how=how), NotRun(gate="performance", why=why, how=how)]


def command_line(record: AgentCheckout) -> str:
    """What a person types to have the gates run on another machine."""
    # No paths of this machine: the sentence also stands in comments for others.
    words = ["tileport", "judge", "patch.diff", "--repo", "REPO", "--base", record.base_commit[:12]]
    words += [word for other in record.also_hidden for word in ("--also", other)]
    command = " ".join([*words, "--operator", record.operator])
    return (
        f"With the attempt's patch.diff: `{command} --pack FOLDER`; on a machine with an NVIDIA GPU and TileGym's "
        f"packages `sh FOLDER/run.sh`; back here `{command} --evidence FOLDER/evidence`."
    )


def _run_here(attempt: AttemptFolder, record: AgentCheckout, patch: Patch, tick: Callable[[str], None]) -> None:
    """Packs, runs the pack in a process of its own, and keeps the evidence with the attempt."""
    folder, out = attempt.work / "gpu-pack", attempt.gpu
    tick("correctness on the GPU")
    pack(record, patch, attempt.work / "base", attempt.work / "judge", folder)
    environment = dict(os.environ) | {"PATH": f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}"}
    command = ["sh", str(folder / "run.sh"), str(out)]
    try:
        with gpu_to_itself(tick):
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=_SECONDS, check=False
            )
    except subprocess.TimeoutExpired as error:
        raise MachineryError(f"the GPU gates took more than {_SECONDS:.0f} s; see {out}") from error
    if not (out / EVIDENCE).is_file():
        raise MachineryError(f"the GPU gates broke down:\n{done.stderr[-1500:] or done.stdout[-1500:]}")


def _findings(attempt: AttemptFolder) -> Findings | None:
    path = attempt.evidence / "findings.json"
    return TypeAdapter(Findings).validate_json(path.read_bytes()) if path.is_file() else None


def _judged(findings: Findings | None) -> frozenset[str]:
    """Of the port's kernels that the Tile IR gate found equal, the hashes: of each bytecode, and of what is left of it
    without a launcher's promises. A proof that holds while arguments are certain numbers says nothing of other calls.
    """
    rows = findings.tile_ir.rows if findings is not None and findings.tile_ir is not None else ()
    equal = [(row, row.verdict.proof) for row in rows if isinstance(row.verdict, Equal)]
    found = [row.port_bytecode for row, _ in equal]
    found += [row.port_kernel for row, proof in equal if not proof.while_true]
    return frozenset(filter(None, found))


def _arch(capability: str | None) -> str:
    found = f"sm_{capability.replace('.', '')}" if capability else gpu_arch()
    if found is None:
        raise MachineryError("the evidence does not say which GPU it was made on, and there is none here.")
    return found
