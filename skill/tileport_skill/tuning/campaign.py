"""Runs a tuning's plan on the GPU at hand: child processes that search and confirm, one at a time, in a given time.

`python -m tileport_skill.tuning.campaign FOLDER --repo R [--seconds S]` is the whole command for a GPU machine; it
needs the standard library, NumPy, torch, cuda-tile and cupti-python. Run again, it goes on where it was. This process
never opens the GPU itself.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tileport_skill.errors import MachineryError, RequestError, TileportError
from tileport_skill.tilegym.operators import UNTUNED
from tileport_skill.timing.inside.nvml import Nvml
from tileport_skill.timing.machine import known_machine
from tileport_skill.timing.raw import read_json, write_json
from tileport_skill.tuning.folder import TuningFolder
from tileport_skill.tuning.jobs import jobs_of

UNFINISHED = 3
"""Exit status when the time ran out before the plan was done: run the same command again."""
_INSIDE = "tileport_skill.tuning.inside"
_SKILL = Path(__file__).parents[2]
_LEAST_SECONDS = 25.0
PROCESSES = 5
"""Fresh processes that measure each winner again."""
MOST_PROCESSES = 4 * PROCESSES
"""Processes started for these; some end early."""
TOGETHER = 6
"""Operators whose winners the same processes measure again: a run that is broken off keeps those it came to."""
_MOST_ERRORS = 2
"""Processes in which the same row broke, after which it is not tried again."""
_HANGS = 120.0
"""Seconds without a word from a searching process, after which the contender it is at is taken to hang."""
_POLL = 1.0


@dataclass
class Campaign:
    """One run of the command."""

    folder: TuningFolder
    package_root: Path
    seconds: float
    say: Callable[[str], None] = print
    hangs: float = _HANGS
    processes: int = PROCESSES
    _started: float = field(default_factory=time.monotonic)

    def run(self, operators: Sequence[str] = ()) -> bool:
        """Whether everything is measured; all operators of the plan unless some are named."""
        plan = read_json(self.folder.plan)
        asked = operators or tuple(plan["operators"])
        self._probe(plan, asked)
        done = True
        for first in range(0, len(asked), TOGETHER):
            done = self._operators({name: plan["operators"][name] for name in asked[first : first + TOGETHER]}) and done
            if self.left < _LEAST_SECONDS:
                return False
        return done

    @property
    def left(self) -> float:
        return self.seconds - (time.monotonic() - self._started)

    def _probe(self, plan: dict[str, Any], operators: Sequence[str]) -> None:
        """What the GPU is, and its peaks. Operators may be measured on different GPUs, one of them on one."""

        def probe() -> None:
            self._child("probe", "probe", [], self.left)

        measured = any(path for name in operators for path in (self.folder.root / "samples").glob(f"{name}.*.json"))
        machine = known_machine(self.folder.machine, probe, self.folder.log("probe"), measured=measured)
        if not self.folder.peaks.is_file():
            raise MachineryError(f"this GPU's peaks could not be measured; {self.folder.log('probe')} says why.")
        major, minor = machine["capability"]
        if f"sm_{major}{minor}" != plan["arch"]:
            raise RequestError(f"the plan is for {plan['arch']}, and this machine's GPU is sm_{major}{minor}.")

    def _operators(self, documents: dict[str, Any]) -> bool:
        """A few of them: each is searched by itself, and their winners are measured again in the same processes."""
        searched = [name for name, document in documents.items() if self._searched(name, document)]
        for name in searched:
            path = self.folder.jobs(name)
            if not path.is_file():
                write_json(path, jobs_of(documents[name], self._searches(name, documents[name])))
        return self._measured_again(searched) and len(searched) == len(documents)

    def _measured_again(self, operators: Sequence[str]) -> bool:
        for process in range(MOST_PROCESSES):
            wanting = [name for name in operators if self._wants_more(name)]
            if not wanting:
                return True
            new = [name for name in wanting if not self.folder.samples(name, process).is_file()]
            if not new:
                continue
            if self.left < _LEAST_SECONDS:
                return False
            self.say(f"process {process} measures the winners of {', '.join(new)} …")
            self._child("confirm", "confirm", [str(process), str(self._others()), *new], self.left)
        return False

    def _wants_more(self, operator: str) -> bool:
        well, badly = self._confirmed(operator)
        jobs = read_json(self.folder.jobs(operator))
        return any(well[job["row"]] < self.processes and badly[job["row"]] < _MOST_ERRORS for job in jobs)

    def _searched(self, operator: str, document: dict[str, Any]) -> bool:
        """Searches every call that is not held out; a process that ends early is followed by another."""
        waiting = [call["number"] for call in document["calls"] if not call["held_out"]]
        while any(not self.folder.search(operator, number).is_file() for number in waiting):
            if self.left < _LEAST_SECONDS:
                return False
            before = self._progress(operator)
            self.say(f"{operator}: searching …")
            code = self._child(f"search-{operator}", "search", [operator], self.left, watched=operator)
            if code != 0 and self._progress(operator) == before and self.left >= _LEAST_SECONDS:
                log = self.folder.log(f"search-{operator}")
                raise MachineryError(
                    f"searching {operator} ends with status {code} before it does anything; see {log}."
                )
        return True

    def _searches(self, operator: str, document: dict[str, Any]) -> dict[int, dict[str, Any]]:
        numbers = [call["number"] for call in document["calls"] if not call["held_out"]]
        return {number: read_json(self.folder.search(operator, number)) for number in numbers}

    def _confirmed(self, operator: str) -> tuple[Counter[str], Counter[str]]:
        """How many processes measured each row, and in how many it broke."""
        well: Counter[str] = Counter()
        badly: Counter[str] = Counter()
        for path in (self.folder.root / "samples").glob(f"{operator}.[0-9]*.json"):
            for record in read_json(path)["rows"]:
                (badly if "error" in record else well)[record["row"]] += 1
        return well, badly

    def _progress(self, operator: str) -> float:
        """Changes with everything a searching process writes down."""
        found = [*self.folder.root.glob(f"search/{operator}.*"), *self.folder.root.glob(f"own/{operator}.*")]
        return max((path.stat().st_mtime for path in found), default=0.0)

    def _others(self) -> int:
        """Compute processes on the GPU while none of ours runs; -1 if NVML does not say."""
        count = Nvml(read_json(self.folder.machine)["uuid"]).state().processes
        return -1 if count is None else count

    def _child(self, log: str, module: str, more: list[str], seconds: float, watched: str | None = None) -> int:
        """Exit status of a child; 124 if it had to be ended, for its time or because it hangs."""
        command = [sys.executable, "-m", f"{_INSIDE}.{module}", str(self.folder.root.resolve())]
        command += [f"{seconds - 5:.0f}", *more]
        path = self.folder.log(log)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            process = subprocess.Popen(
                command,
                env=self._environment(),
                cwd=self.folder.root,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            return self._waited(process, max(seconds, 1.0), watched)

    def _waited(self, process: subprocess.Popen[bytes], seconds: float, watched: str | None) -> int:
        ends, heard = time.monotonic() + seconds, time.monotonic()
        last = self._progress(watched) if watched else 0.0
        while True:
            try:
                return process.wait(timeout=_POLL)
            except subprocess.TimeoutExpired:
                now = time.monotonic()
            if watched and (progress := self._progress(watched)) != last:
                last, heard = progress, now
            if now > ends or (watched and now - heard > self.hangs):
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                return 124

    def _environment(self) -> dict[str, str]:
        path = [str(_SKILL), str(self.package_root.resolve()), *filter(None, [os.environ.get("PYTHONPATH")])]
        found = os.environ | {
            "PYTHONPATH": os.pathsep.join(path),
            "CUTILE_RS_AUTOBUILD": "0",
            "DISABLE_FALLBACK": "1",
            "TILEGYM_LOG_LEVEL": "WARNING",
            "PYTHONWARNINGS": "ignore",
        }
        found.pop(UNTUNED, None)
        return found


def package_root(repo: Path) -> Path:
    """The folder that `tilegym` is imported from, in a repository or an unpacked wheel."""
    for place in (repo / "src", repo):
        if (place / "tilegym").is_dir():
            return place
    raise RequestError(f"{repo} holds no tilegym package.")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="what `tileport-skill tune --pack` wrote")
    parser.add_argument("operators", nargs="*", metavar="OP")
    parser.add_argument("--repo", type=Path, required=True, help="TileGym checkout or unpacked wheel")
    parser.add_argument("--seconds", type=float, default=3600.0, help="wall time this run may take")
    # Operators may stand behind the options too: `run.sh` passes on what it is given.
    given = parser.parse_intermixed_args(argv)
    try:
        folder = TuningFolder(given.folder)
        if not folder.plan.is_file():
            raise RequestError(f"{given.folder} holds no plan.json.")
        campaign = Campaign(folder, package_root(given.repo), given.seconds, lambda text: print(text, flush=True))
        done = campaign.run(given.operators)
    except TileportError as error:
        print(f"error: {error}", file=sys.stderr)
        return 12 if isinstance(error, RequestError) else 13
    print("done" if done else "unfinished: run the same command again", flush=True)
    return 0 if done else UNFINISHED


if __name__ == "__main__":
    sys.exit(main())
