"""The whole way, with real Docker, real cargo and a real agent process; only the model is scripted.

One target repository and one finished attempt serve the tests that only look; those that break things make their own.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import docker
import pytest
import yaml

from tests.driver.broker import test_canary as canary
from tileport_bot.demo import demo_script, exit_status, make_target, run_demo
from tileport_bot.handle import Handled
from tileport_bot.local import LocalDriver
from tileport_driver import attempt as story
from tileport_driver.agent_run import KEY_VARIABLE
from tileport_driver.broker.script import load_script
from tileport_driver.container import ATTEMPT_LABEL
from tileport_driver.git import run_git
from tileport_driver.host.engine import docker_engine
from tileport_driver.judge_patch import Question, judge_patch
from tileport_driver.progress import Progress
from tileport_driver.records import Failed, Inconclusive, NotPorted, NotRun, Passed, Refused, Rejected, Unproved
from tileport_driver.reporting import role_costs
from tileport_driver.requests import Order
from tileport_driver.service import Ended, go_on, port
from tileport_driver.store import AttemptFolder, find_attempt

pytestmark = pytest.mark.docker
KERNEL = "tilegym/ops/cutile_rs/silu_and_mul_kernel/kernel.rs"


@pytest.fixture(scope="module", autouse=True)
def _own_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Attempts of these tests in a place of their own; images and toolchain from the machine's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILEPORT_STATE", str(tmp_path_factory.mktemp("state")))
        with docker_engine():
            yield


@pytest.fixture
def own_attempts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Attempts of one test alone: these spend some, and two are all there are."""
    monkeypatch.setenv("TILEPORT_STATE", str(tmp_path / "state"))


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_target(tmp_path_factory.mktemp("target") / "tilegym")


@pytest.fixture(scope="module")
def demo(target: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Handled, Path]:
    """The demo, once: what was handled, and the folder of what GitHub would show."""
    out = tmp_path_factory.mktemp("demo") / "github"
    driver = LocalDriver(script=demo_script(), show=lambda work: work(Progress()))
    return run_demo(driver, target, out), out


@pytest.fixture
def attempt(demo: tuple[Handled, Path]) -> AttemptFolder:
    return find_attempt("silu_and_mul")


def test_a_label_becomes_a_draft_pull_request_and_the_demo_ends_well(demo: tuple[Handled, Path]) -> None:
    handled, out = demo
    assert handled.line == "unproved: silu_and_mul"
    assert exit_status(handled) == 0
    text = "\n".join(path.read_text() for path in sorted(out.rglob("*.md")))
    assert "port/silu_and_mul" in text
    assert "same cubin" in text


def test_every_gate_that_needs_no_gpu_passed_and_the_others_say_what_to_run(attempt: AttemptFolder) -> None:
    acceptance = attempt.acceptance()
    assert isinstance(acceptance, Inconclusive)
    passed = [gate.gate for gate in acceptance.gates if isinstance(gate, Passed)]
    missing = [gate for gate in acceptance.gates if isinstance(gate, NotRun)]
    assert passed == ["policy", "apply", "build", "tile-ir"]
    assert [gate.gate for gate in missing] == ["correctness", "performance"]
    assert all("tileport judge patch.diff" in gate.how for gate in missing)
    assert isinstance(attempt.outcome(), Unproved)


@pytest.mark.soak
def test_the_same_patch_judged_twice_gives_the_same_and_so_did_its_attempt(
    attempt: AttemptFolder, target: Path
) -> None:
    question = Question(patch=attempt.diff, operator="silu_and_mul", repository=target, base="main")
    judged = [judge_patch(question, Progress(), lambda: False)[0] for _ in range(2)]
    first, *others = (
        [replace(gate, seconds=0.0) if isinstance(gate, Passed | Failed) else gate for gate in each.gates]
        for each in (*judged, attempt.acceptance())  # type: ignore[union-attr]
    )
    assert others == [first, first]


def test_three_element_types_came_out_equal_on_two_architectures(attempt: AttemptFolder) -> None:
    from tileport_driver.reporting import ir_rows

    rows = ir_rows(attempt)
    assert {row.verdict for row in rows} == {"equal"}
    assert {(row.arch, row.dtype) for row in rows} == {
        (arch, dtype) for arch in ("sm_90", "sm_100") for dtype in ("bfloat16", "float16", "float32")
    }


def test_the_branch_is_one_commit_of_the_six_files(demo: tuple[Handled, Path], target: Path) -> None:
    git = ["-C", str(target)]
    assert run_git(*git, "rev-list", "--count", "main..port/silu_and_mul").decode().strip() == "1"
    assert run_git(*git, "status", "--porcelain") == b""
    kernel = run_git(*git, "show", f"port/silu_and_mul:{KERNEL}").decode()
    assert "translated from the cuTile Python source by `tileport-skill draft`;" in kernel  # where the agent began
    assert "let silu_a = gate * sigmoid;" in kernel  # what it made of it


def test_the_agent_began_at_a_whole_draft_and_was_told_so(attempt: AttemptFolder) -> None:
    draft = attempt.draft_run()
    assert draft is not None
    assert draft.refused == ()
    assert draft.report is not None
    assert [one.kernel for one in draft.report.kernels] == [
        "_silu_and_mul_kernel_row_wise",
        "_silu_and_mul_backward_kernel_row_wise",
    ]
    assert "A program has drafted the port already" in attempt.transcript.read_text()
    assert "A program drafted a whole port first." in (attempt.path / "report.md").read_text()


def test_what_was_hidden_is_recorded_and_the_shipped_port_was_among_it(attempt: AttemptFolder) -> None:
    hidden = {item.path: item for item in attempt.checkout().hidden}
    assert hidden[KERNEL].what == "file"
    assert any("mod silu_and_mul" in line for line in hidden["tilegym/ops/cutile_rs/cutile_kernels/src/lib.rs"].removed)


def test_the_report_stands_in_both_forms(attempt: AttemptFolder) -> None:
    assert "silu_and_mul is ported, but not yet proved" in (attempt.path / "report.html").read_text()
    markdown = (attempt.path / "report.md").read_text()
    assert "tilegym/ops/cutile_rs/silu_and_mul.py" in markdown


def test_neither_container_nor_socket_nor_tree_is_left(attempt: AttemptFolder) -> None:
    assert containers(attempt) == []
    assert not attempt.sockets.exists()
    assert not attempt.work.exists()


def test_the_port_went_through_its_roles_and_each_was_judged_by_its_files(attempt: AttemptFolder) -> None:
    run = attempt.agent_run()
    assert run is not None
    assert [(str(turn.role), str(turn.verdict)) for turn in run.roles] == [
        ("preflight", "pass"),
        ("analyzer", "pass"),
        ("kernel-writer", "equal"),
        ("host-builder", "pass"),
        ("performance-verifier", "not-run"),
    ]
    facts = {str(turn.role): "; ".join(turn.facts) for turn in run.roles}
    assert "16 compiled kernels equal by" in facts["kernel-writer"]
    assert "the library is built" in facts["host-builder"]
    assert "| 4 | host-builder | **pass** |" in (attempt.path / "report.md").read_text()
    assert "interpreted, 2 of 2 kernels agree with PyTorch" in facts["kernel-writer"]
    assert "the pipeline test builds, " in facts["kernel-writer"]


def test_the_contract_enumerates_what_there_is_and_lacks_only_what_needs_a_gpu(attempt: AttemptFolder) -> None:
    contract = json.loads((attempt.path / "contract.json").read_text())
    assert contract["outcome"] == "inconclusive"
    written = {one["path"]: one["by"] for one in contract["files"]}
    assert written[KERNEL] == "kernel-writer"
    assert written["transcript.jsonl"] == "the broker"
    assert (written["pipeline/main.rs"], written["evidence/build.log"]) == ("program", "the judge")
    assert {one["kind"] for one in contract["missing"]} == {"correctness log", "performance log"}
    hashes = {one["path"]: one["sha256"] for one in contract["files"]}
    assert hashes["pipeline/kernel.rs"] == hashes[KERNEL]


def test_what_each_role_used_is_on_record(attempt: AttemptFolder) -> None:
    costs = {cost.role: cost for cost in role_costs(attempt)}
    assert list(costs) == ["analyzer", "kernel-writer", "host-builder", "performance-verifier"]
    assert all(cost.tokens > 100 for cost in costs.values())


def test_the_transcript_names_every_tool_call_and_no_token(attempt: AttemptFolder) -> None:
    text = attempt.transcript.read_text()
    assert "tileport-skill check kernel-writer" in text
    assert (attempt.path / "broker.token").read_text() not in text


@pytest.mark.usefixtures("own_attempts")
def test_a_patch_with_a_seventh_file_is_rejected_and_nothing_of_it_lands(target: Path, tmp_path: Path) -> None:
    evil = bash("mkdir -p .github && echo x > .github/evil.yml")
    script = write_script(tmp_path, [{"reply": [evil]}, {"reply": [{"text": "done"}]}])
    before = run_git("-C", str(target), "for-each-ref")
    ended = port(order(target, script), Progress(), lambda: False)
    assert isinstance(ended.outcome, NotPorted)
    assert ".github/evil.yml: not one of the six files of a port." in ended.outcome.reasons[0]
    assert ended.attempt is not None
    acceptance = ended.attempt.acceptance()
    assert isinstance(acceptance, Rejected)
    assert [type(gate) for gate in acceptance.gates] == [Failed, *[NotRun] * 5]
    assert run_git("-C", str(target), "for-each-ref") == before


@pytest.mark.usefixtures("own_attempts")
@pytest.mark.soak  # for every kernel an input is looked for on which the two part
def test_a_kernel_whose_tile_ir_differs_is_rejected_naming_the_specialisation(target: Path, tmp_path: Path) -> None:
    kernel = "$(find . -path '*silu_and_mul_kernel/kernel.rs')"
    spoil = f"sed -i 's/let result = silu_a \\*/let result = silu_a +/' {kernel}"
    script = write_script(tmp_path, [{"reply": [bash(spoil)]}, {"reply": [{"text": "done"}]}])
    ended = port(replace(order(target, script), draft=True), Progress(), lambda: False)
    assert isinstance(ended.outcome, NotPorted), ended.outcome
    assert "_silu_and_mul_kernel_row_wise" in ended.outcome.reasons[0]


def test_a_script_that_no_longer_fits_is_refused_where_it_diverged(target: Path, tmp_path: Path) -> None:
    turns = [{"reply": [bash("echo hello")]}, {"expect": {"contains": ["good day"]}, "reply": [{"text": "done"}]}]
    ended = port(order(target, write_script(tmp_path, turns)), Progress(), lambda: False)
    assert isinstance(ended.outcome, Refused)
    assert "good day" in ended.outcome.reason
    assert "hello" in ended.outcome.reason
    assert ended.attempt is not None
    assert ended.attempt.outcome() == ended.outcome
    assert "good day" in (ended.attempt.path / "report.md").read_text()


@pytest.mark.usefixtures("own_attempts")
def test_a_driver_killed_while_its_agent_works_is_resumed_without_a_second_container(
    target: Path, tmp_path: Path
) -> None:
    turns = [
        {"reply": [bash("sleep 12; echo slept")]},
        {"expect": {"contains": ["slept"]}, "reply": [bash("touch a-seventh-file; echo made")]},
        {"expect": {"contains": ["made"]}, "reply": [{"text": "done"}]},
    ]
    process, attempt = running_attempt(target, write_script(tmp_path, turns))
    before = containers(attempt)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert containers(attempt) == before != []
    ended = go_on(attempt, Progress(), lambda: False)
    assert_rejected_for_the_seventh_file(ended)
    assert attempt.transcript.read_text().count('"kind": "exchange"') == 3


@pytest.mark.usefixtures("own_attempts")
def test_ctrl_c_stops_the_container_and_the_attempt_is_resumed(target: Path, tmp_path: Path) -> None:
    turns = [
        {"reply": [bash("echo first")]},
        {"expect": {"contains": ["first"]}, "reply": [bash("echo second; sleep 8; touch a-seventh-file; echo made")]},
        {"expect": {"contains": ["made"]}, "reply": [{"text": "done"}]},
    ]
    process, attempt = running_attempt(target, write_script(tmp_path, turns))
    wait_for(lambda: "echo second" in attempt.transcript.read_text())
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    assert containers(attempt) == []
    assert_rejected_for_the_seventh_file(go_on(attempt, Progress(), lambda: False))


@pytest.mark.usefixtures("own_attempts")
@pytest.mark.soak  # it searches every file of the toolchain
def test_a_model_that_hunts_for_the_key_in_its_container_finds_it_nowhere_and_leaves_it_nowhere(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, canary.CANARY)
    seen: dict[str, str] = {}
    remove = story.clean_up

    def look_first(client: docker.DockerClient, attempt: AttemptFolder) -> None:
        for container in client.containers.list(all=True, filters={"label": f"{ATTEMPT_LABEL}={attempt.id}"}):
            seen[f"inspect {container.name}"] = json.dumps(container.attrs)
            seen[f"log {container.name}"] = container.logs().decode(errors="replace")
        remove(client, attempt)

    monkeypatch.setattr(story, "clean_up", look_first)
    ended = port(order(target, canary.SCRIPT), Progress(), lambda: False)
    assert ended.attempt is not None
    attempt, outcome = ended.attempt, ended.outcome
    assert isinstance(outcome, NotPorted), outcome
    assert "hunt.py: not one of the six" in "\n".join(outcome.reasons)
    assert any(name.startswith("inspect") for name in seen)
    seen |= {str(path): path.read_text(errors="replace") for path in attempt.path.rglob("*") if path.is_file()}
    seen |= {"outcome": repr(outcome)}
    assert [name for name, text in seen.items() if canary._holds(text)] == []
    run, patch = attempt.agent_run(), attempt.patch()
    assert run is not None
    assert run.turns == len(load_script(canary.SCRIPT).turns), "the hunt was one"
    assert patch is not None
    assert patch.secret, "all it found was its own token, and what carries that is refused and not shown"


def test_a_draft_that_is_refused_ends_as_a_diagnosis_with_file_and_line(target: Path) -> None:
    tests = "tests/ops/test_relu.py"
    ended = port(
        drafted(
            "relu", changed(target, {tests: "def test_direct(backend):\n    tilegym.ops.cutile.relu(backend)"}), target
        ),
        Progress(),
        lambda: False,
    )
    assert isinstance(ended.outcome, NotPorted), ended.outcome
    assert ended.outcome.reasons[0].startswith(f"{tests}:")
    assert "calls the reference's module itself" in ended.outcome.reasons[0]
    assert ended.attempt is not None
    report = (ended.attempt.path / "report.md").read_text()
    assert "no model was in the loop" in report
    assert "A draft costs no attempt" in report
    assert containers(ended.attempt) == []


@pytest.mark.soak
def test_a_draft_is_delivered_through_the_same_gates_and_its_commit_says_how_it_was_made(target: Path) -> None:
    ended = port(drafted("relu", "HEAD", target), Progress(), lambda: False)
    assert isinstance(ended.outcome, Unproved), ended.outcome
    said = run_git("-C", str(target), "log", "-1", "--format=%B", "port/relu").decode()
    assert "no model was in the loop" in said
    assert "- _relu_fwd_kernel: from the Python source" in said


def drafted(operator: str, base: str, target: Path) -> Order:
    return Order(operator=operator, repository=target, engine="none", base=base)


def changed(target: Path, appended: dict[str, str]) -> str:
    """A commit beside the branches with a line more in some files; the work tree stays as it is."""
    git = ["-C", str(target)]
    for path, line in appended.items():
        (target / path).write_text(f"{(target / path).read_text()}{line}\n")
    run_git(*git, "add", "-A")
    commit = run_git(*git, "commit-tree", run_git(*git, "write-tree").decode().strip(), "-p", "HEAD", "-m", "changed")
    run_git(*git, "reset", "--quiet", "--hard")
    return commit.decode().strip()


def order(target: Path, script: Path) -> Order:
    """Of one conversation, without roles that would see what is wrong before the gates do, and without a draft."""
    return Order(operator="silu_and_mul", repository=target, engine="scripted", script=script, draft=False, roles=False)


def bash(command: str) -> dict[str, object]:
    return {"tool": "bash", "input": {"command": command}}


def write_script(folder: Path, turns: list[dict[str, object]]) -> Path:
    (folder / "script.yaml").write_text(yaml.safe_dump(turns))
    return folder


def start(target: Path, script: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tileport_driver", "port", "silu_and_mul", "--repo", str(target), "--no-draft"]
    command.append("--no-roles")
    return subprocess.Popen(
        [*command, "--script", str(script)], start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def running_attempt(target: Path, script: Path) -> tuple[subprocess.Popen[bytes], AttemptFolder]:
    """A driver in a process of its own, and its attempt once the agent has had its first answer."""
    before = attempts()
    process = start(target, script)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        assert process.poll() is None, process.stdout and process.stdout.read().decode()
        begun = attempts() - before
        attempt = find_attempt(begun.pop()) if begun else None
        if attempt and attempt.transcript.is_file() and attempt.transcript.stat().st_size:
            return process, attempt
        time.sleep(0.2)
    raise AssertionError("the agent never began")


def wait_for(holds: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def attempts() -> set[str]:
    return {path.parent.name for path in Path(os.environ["TILEPORT_STATE"], "attempts").glob("*/request.json")}


def containers(attempt: AttemptFolder) -> list[str]:
    with docker_engine() as client:
        found = client.containers.list(all=True, filters={"label": f"{ATTEMPT_LABEL}={attempt.id}"})
        return [str(container.id) for container in found]


def assert_rejected_for_the_seventh_file(ended: Ended) -> None:
    assert isinstance(ended.outcome, NotPorted), ended.outcome
    assert "a-seventh-file: not one of the six" in ended.outcome.reasons[0]
