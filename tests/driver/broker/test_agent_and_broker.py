"""The agent's real process against the real broker over a real socket, with scripts, in a folder of its own."""

from __future__ import annotations

import json
import os
import sys
import time
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from tileport_driver.broker.budget import Budget
from tileport_driver.broker.engines import ScriptedModel
from tileport_driver.broker.script import load_script
from tileport_driver.broker.transcript import read_transcript
from tileport_skill.agent.report import REPORT_FILE
from tileport_skill.agent.status import AgentStatus, read_status
from tileport_skill.agent.wire import SOCKET_NAME, TOKEN_VARIABLE

EDITOR = "str_replace_based_edit_tool"
CANARY = "canary-key-5f1d8a0c73be42"


def _bash(command: str, **expect: Any) -> dict[str, Any]:
    return {"expect": expect, "reply": [{"tool": "bash", "input": {"command": command}}]}


def _ended(attempt: Any, code: int | None) -> tuple[int | None, AgentStatus]:
    status = read_status(attempt.root / "out")
    assert status is not None
    return code, status


def _joined(process: BaseProcess) -> int | None:
    process.join(120)
    return process.exitcode


def test_a_whole_conversation_with_everything_a_model_may_get_wrong(attempt: Any) -> None:
    outside = attempt.root / "outside.rs"
    edit = {"command": "create", "path": "port/kernel.rs", "file_text": {"from_file": "kernel.rs"}}
    replace = {"command": "str_replace", "path": "port/kernel.rs", "old_str": "todo", "new_str": "done"}
    escape = {"command": "create", "path": str(outside), "file_text": "out"}
    (attempt.root / "script").mkdir()
    (attempt.root / "script" / "kernel.rs").write_text("fn kernel() { todo }\n")
    model = attempt.script(
        {"expect": {"contains": ["Port it."]}, "reply": [{"text": "I begin."}, {"tool": EDITOR, "input": edit}]},
        {"expect": {"contains": ["Created"], "tool": EDITOR}, "reply": [{"tool": EDITOR, "input": replace}]},
        {"expect": {"contains": ["fn kernel() { done }"]}, "reply": [{"tool": EDITOR, "input": escape}]},
        {
            "expect": {"is_error": True, "contains": ["outside the work tree"]},
            "reply": [{"tool": EDITOR, "input": {"command": "delete"}}],
        },
        _bash("sleep 60", is_error=True, contains=["nothing was run"]),
        _bash("cat port/kernel.rs", is_error=True, contains=["stopped after 2 s"]),
        _bash("env; tr '\\0' '\\n' < /proc/$PPID/environ", is_error=False, matches=["^fn kernel"]),
        {"reply": [{"text": "cut"}, {"tool": "bash", "input": {"command": "rm -rf ."}}], "stop_reason": "max_tokens"},
        {"expect": {"is_error": True, "contains": ["cut off"]}, "reply": [{"text": "All is well."}]},
    )
    with attempt.broker(model, masks=(CANARY,)) as broker:
        code, status = _ended(attempt, attempt.run_agent("--shell-seconds", "2"))
        assert broker.divergence() is None
    assert (code, status.state, status.exit_reason) == (0, "finished", "the model ended its turn")
    assert (status.turn, status.last_action) == (9, "bash: env; tr '\\0' '\\n' < /proc/$PPID/environ")
    assert (attempt.work / "port" / "kernel.rs").read_text() == "fn kernel() { done }\n"
    assert not outside.exists()
    report = json.loads((attempt.root / "out" / REPORT_FILE).read_text())
    assert report == {"summary": "All is well.", "exit_reason": status.exit_reason, "turns": 9, "tool_calls": 7}


def test_a_spent_budget_ends_the_agent_cleanly(attempt: Any) -> None:
    with attempt.broker(attempt.script(_bash("ls")), Budget(tokens=1)):
        code, status = _ended(attempt, _joined(attempt.fork_agent()))
    assert (code, status.state, status.turn) == (1, "failed", 0)
    assert status.exit_reason.startswith("budget spent: ")
    assert read_transcript(attempt.transcript)[0].kind == "refused"


def _drive(attempt: Any) -> None:
    """What a driver does, until it is killed."""
    with attempt.broker(ScriptedModel(load_script(attempt.root / "script"))):
        time.sleep(600)


def test_a_driver_killed_in_the_middle_is_started_again_and_the_agent_goes_on(attempt: Any) -> None:
    pid = attempt.root / "driver.pid"
    kill = f"p=$(cat {pid}); kill -9 $p && while kill -0 $p 2>/dev/null; do sleep 0.05; done; echo killed"
    attempt.script(
        _bash("echo 1 >> steps; echo one"),
        # The model's own command ends the driver: at this moment, on every run.
        _bash(kill, contains=["one"]),
        _bash("echo 3 >> steps; echo three", contains=["killed"]),
        {"expect": {"contains": ["three"]}, "reply": [{"text": "Done."}]},
    )

    def drive() -> BaseProcess:
        driver: BaseProcess = attempt.fork(_drive, attempt)
        pid.write_text(str(driver.pid))
        return driver

    first = drive()
    agent = attempt.fork_agent()
    assert _joined(first) == -9
    assert agent.is_alive()
    assert (attempt.socket_dir / SOCKET_NAME).exists()
    drive()
    code, status = _ended(attempt, _joined(agent))
    assert (code, status.state, status.turn) == (0, "finished", 4)
    assert (attempt.work / "steps").read_text() == "1\n3\n"
    assert [record.kind for record in read_transcript(attempt.transcript)] == ["exchange"] * 4


def test_an_agent_whose_model_stays_away_says_that_it_is_not_its_fault(attempt: Any) -> None:
    code, status = _ended(attempt, _joined(attempt.fork_agent("--patience", "0.2")))
    assert (code, status.state) == (3, "failed")
    assert status.exit_reason is not None
    assert status.exit_reason.startswith("no answer for 0 s: APIConnectionError")


def test_an_agent_that_is_told_to_stop_says_so(attempt: Any) -> None:
    attempt.script(_bash("ls"))
    process = attempt.fork_agent("--beat", "0.1")
    while (status := read_status(attempt.root / "out")) is None or "waiting" not in status.stage:
        assert process.is_alive()
        time.sleep(0.05)
    process.terminate()
    code, status = _ended(attempt, _joined(process))
    assert (code, status.state, status.exit_reason) == (143, "failed", "stopped by signal 15")


def _stuck(arguments: list[str]) -> None:
    """The agent's process, one step of which never ends."""
    from tileport_skill.agent import __main__ as agent

    agent.converse = lambda *_, **__: time.sleep(600)  # type: ignore[assignment, misc]
    sys.argv = arguments
    os.environ[TOKEN_VARIABLE] = "t"
    sys.exit(agent.main())


def test_a_step_that_outlives_the_whole_limit_ends_the_agent_and_is_told_from_being_stopped(attempt: Any) -> None:
    attempt.script(_bash("ls"))
    arguments = attempt.agent_arguments("--seconds", "0.2", "--grace", "0.2", "--beat", "0.1")
    code, status = _ended(attempt, _joined(attempt.fork(_stuck, ["agent", *arguments])))
    assert (code, status.state) == (124, "failed")
    assert status.exit_reason == "a step had not ended a while after the run's limit"


def test_a_missing_token_or_task_is_a_usage_error(attempt: Any, monkeypatch: Any, capsys: Any, tmp_path: Path) -> None:
    from tileport_skill.agent.__main__ import main
    from tileport_skill.agent.wire import TOKEN_VARIABLE

    where = ["--work", str(tmp_path), "--broker", str(tmp_path), "--out", str(tmp_path), "--model", "m"]
    monkeypatch.setattr(sys, "argv", ["agent", "--task", str(tmp_path / "none.md"), *where])
    monkeypatch.delenv(TOKEN_VARIABLE, raising=False)
    assert main() == 2
    monkeypatch.setenv(TOKEN_VARIABLE, "t")
    assert main() == 2
    assert "broker token" in (err := capsys.readouterr().err)
    assert "none.md cannot be read" in err
