"""Plays a script of roles on a checkout: the model's answers are scripted, tools, validators and routing are real.

No container: the tree lies at FOLDER/work and the roles' folder at FOLDER/port, which is how the container has them
below its root, so that a script finds both from the tree as `.` and `../port`, here and there.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from anthropic.types import Message

from tileport_bot.demo import make_target
from tileport_driver.broker.engines import scripted_message
from tileport_driver.broker.script import Script, load_script, misfit
from tileport_driver.checkout import prepare
from tileport_driver.git import resolve_commit, run_git
from tileport_skill.agent.by_roles import Judge, run_roles
from tileport_skill.agent.client import Refused
from tileport_skill.agent.editor import Editor
from tileport_skill.agent.loop import Ended, Limits, converse
from tileport_skill.agent.shell import Shell
from tileport_skill.agent.task import Task
from tileport_skill.agent.tools import Toolbox
from tileport_skill.pipeline.begin import begin
from tileport_skill.pipeline.records import Task as PortTask
from tileport_skill.pipeline.roles import SKILL
from tileport_skill.pipeline.submit import submit
from tileport_skill.pipeline.verdicts import Role
from tileport_skill.pipeline.work import Work
from tileport_skill.tilegym.operators import find_operator, open_checkout, read_operators

SCRIPTS = Path(__file__).parent / "scripts"
_SECONDS = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """One request to the model."""

    role: str
    bytes: int
    known: int
    """Of them, those that the request before it in the same conversation began with: what a cache spares."""


@dataclass(slots=True)
class Replay:
    """The scripted model, asked as the broker's client would be; keeps the size of what it was sent."""

    script: Script
    position: int = 0
    sent: list[Sent] = field(default_factory=list)
    _last: bytes = b""

    def __call__(self, request: dict[str, Any], role: str) -> Message:
        if why := misfit(self.script, self.position, request):
            raise Refused(f"the script no longer fits: {why}", over=True)
        body = json.dumps(request, ensure_ascii=False).encode("utf-8", "replace")
        known = _common(self._last, body) if len(request["messages"]) > 1 else 0
        self.sent.append(Sent(role=role, bytes=len(body), known=known))
        self._last = body
        said = scripted_message(self.script.turns[self.position], self.position, request)
        self.position += 1
        return Message.model_validate(said)


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """How it went."""

    work: Work
    ended: Ended
    sent: tuple[Sent, ...]

    @property
    def route(self) -> list[str]:
        """`role: verdict`, with what the role said where programs found otherwise."""
        told = []
        for entry in self.work.history():
            said = f" (said {entry.claimed})" if entry.claimed not in (None, entry.verdict) else ""
            told.append(f"{entry.role}: {entry.verdict}{said}")
        return told


def script_of(name: str) -> Script:
    return load_script(SCRIPTS / name)


def draft_into(tree: Path, operator: str) -> None:
    """What the driver does before the roles begin at a draft."""
    command = [sys.executable, "-m", "tileport_skill", "draft", operator, "--repo", str(tree), "--out", str(tree)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def hidden_tree(operator: str, folder: Path, change: Callable[[Path], None] = lambda _: None) -> Path:
    """FOLDER/work: TileGym as its wheel ships it with our cases, the operator's port hidden, as an agent gets it.

    `change` adds to it beforehand, and is committed with it.
    """
    target = make_target(folder / "target")
    change(target)
    run_git("-C", str(target), "add", "-A")
    run_git("-C", str(target), "commit", "--quiet", "--no-verify", "--amend", "--no-edit")
    tree = folder / "work"
    prepare(target, resolve_commit(target, "HEAD"), operator, folder / "trusted.git", tree)
    return tree


def play(
    script: Script, operator: str, folder: Path, *, drafted: bool = False, arch: str = "sm_90", judge: Judge = submit
) -> Played:
    """The roles on the tree at FOLDER/work, from preflight to their end."""
    tree, work = folder / "work", Work((folder / "port").resolve())
    checkout = open_checkout(tree.resolve())
    name = find_operator(read_operators(checkout), operator).name
    begin(work, PortTask(operator=name, repo=str(checkout.root), archs=(arch,), drafted=drafted))
    replay = Replay(script)
    deadline = time.monotonic() + _SECONDS
    shell = Shell(tree, environment=_environment(folder))
    toolbox = Toolbox(shell, Editor(tree), shell_seconds=_SECONDS, deadline=deadline)

    def talk(task: Task, role: Role) -> Ended:
        return converse(
            task,
            model="scripted",
            ask=lambda request: replay(request, str(role)),
            run_tool=toolbox.run,
            limits=Limits(),
            deadline=deadline,
            tell=lambda **_: None,
        )

    try:
        ended = run_roles(work, talk, judge)
    finally:
        shell.restart()
    return Played(work=work, ended=ended, sent=tuple(replay.sent))


def add_spread(target: Path) -> None:
    """An operator of our own, the skill's worked example over views: one kernel that reduces along rows."""
    text = (SKILL / "references/example-views.md").read_text(encoding="utf-8")
    source = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert source is not None
    (target / "tilegym/ops/cutile/spread.py").write_text(source[1])
    module = target / "tilegym/ops/cutile/__init__.py"
    module.write_text(
        module.read_text().replace(
            "    from . import silu_and_mul\n", "    from . import silu_and_mul\n    from . import spread\n"
        )
    )
    interface = target / "tilegym/ops/ops.py"
    declared = '\n\n@dispatch("spread")\ndef spread(x: torch.Tensor) -> torch.Tensor:\n    raise NotImplementedError\n'
    interface.write_text(interface.read_text() + declared)
    (target / "tests/ops/test_spread.py").write_text(_SPREAD_TEST)


_SPREAD_TEST = '''"""y = x - mean(x) in each row, against PyTorch."""

import pytest
import tilegym
import torch
from tilegym.backend import is_backend_available, set_backend

from tests import common

_backends = ["cutile"]


class Test_Spread(common.PyTestCase):
    @pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
    @pytest.mark.parametrize("backend", _backends)
    def test_op(self, dtype, backend):
        set_backend(backend)
        x = torch.randn((10, 100), device="cuda", dtype=dtype)
        self.assertCorrectness(tilegym.ops.spread, lambda x: x - x.mean(1, keepdim=True), {"x": x})
'''


def _common(one: bytes, other: bytes) -> int:
    """How many bytes the two begin with alike."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _environment(folder: Path) -> dict[str, str]:
    """`tileport-skill` on the path, from these sources."""
    commands = folder / "commands"
    commands.mkdir(exist_ok=True)
    command = commands / "tileport-skill"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m tileport_skill "$@"\n')
    command.chmod(0o755)
    sources = os.pathsep.join(path for path in sys.path if path)
    return {**os.environ, "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": sources}
