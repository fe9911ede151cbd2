"""A patch from anywhere: what is refused before anything is built, and what a source may not do reaches the verdict."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.driver.conftest import write_files
from tests.driver.ported import LIBRARY, ported_target
from tests.skill.correctness.evidence import recorded
from tileport_driver import judge_patch as judging
from tileport_driver.acceptance import Judge, judge
from tileport_driver.checkout import clean_tree, prepare
from tileport_driver.git import open_trusted, resolve_commit
from tileport_driver.judge_patch import Question, judge_patch
from tileport_driver.patch import capture, read_patch
from tileport_driver.progress import Progress
from tileport_driver.records import Failed, NotRun
from tileport_driver.requests import Order, make_request
from tileport_driver.store import AttemptFolder, new_judgement
from tileport_skill.correctness.files import EVIDENCE
from tileport_skill.correctness.records import write_json
from tileport_skill.errors import RequestError

HONEST = {
    "src/tilegym/ops/cutile_rs/scale.py": "def scale(x):\n    return x\n",
    "src/tilegym/ops/cutile_rs/scale_kernel/kernel.rs": "// kernel\n",
    "src/tilegym/ops/cutile_rs/scale_kernel/ffi.rs": "// launcher\n",
}
Change = Callable[..., bytes]


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TILEPORT_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def folder(target: Path) -> AttemptFolder:
    """Where a patch of `scale` is judged, its own tree made."""
    folder = new_judgement(make_request(Order(operator="scale", repository=target, engine="none")))
    folder.work.mkdir()
    record = prepare(target, resolve_commit(target), "scale", folder.trusted, folder.work / "asked")
    folder.write("checkout", record)
    return folder


@pytest.fixture
def change(folder: AttemptFolder, tmp_path: Path) -> Change:
    """`change(PATH=text)` as git prints it against the tree with the port hidden."""

    def diff(**files: str) -> bytes:
        record = folder.checkout()
        clean_tree(record, folder.trusted, tmp_path / "tree")
        write_files(tmp_path / "tree", HONEST | {f"src/tilegym/ops/cutile_rs/{k}.py": v for k, v in files.items()})
        trusted = open_trusted(folder.trusted, tmp_path / "tree")
        trusted.run("read-tree", record.agent_tree)
        trusted.write_tree()
        return trusted.run("diff", "--cached", "--binary", record.agent_tree)

    return diff


def never(*_: Any) -> Any:
    raise AssertionError("this is not to be reached")


def judged(folder: AttemptFolder, diff: bytes) -> dict[str, Any]:
    """The gates by name; a seat without Docker and GPU, so that reaching for either is an error."""
    record = folder.checkout()
    patch = read_patch(record, open_trusted(folder.trusted, folder.work / "asked"), diff)
    folder.diff.write_bytes(diff)
    seat = Judge(client=None, image="", toolchain=None, archs=(), tick=never, stop=never, gpu=never)  # type: ignore[arg-type]
    return {gate.gate: gate for gate in judge(seat, folder, record, patch).gates}


def test_a_source_that_breaks_a_rule_is_rejected_by_policy_before_anything_is_built(
    folder: AttemptFolder, change: Change
) -> None:
    gates = judged(folder, change(scale="import threading\n\n\ndef scale(x):\n    return x\n"))
    assert isinstance(gates["policy"], Failed)
    assert "scale.py:1: imports `threading`" in gates["policy"].reasons[0]
    assert all(isinstance(gates[name], NotRun) for name in ("build", "tile-ir", "correctness", "performance"))


def test_a_seventh_file_is_rejected_by_policy(folder: AttemptFolder, change: Change) -> None:
    gates = judged(folder, change(extra="x = 1\n"))
    assert isinstance(gates["policy"], Failed)
    assert "extra.py" in gates["policy"].reasons[0]


def ask(target: Path, tmp_path: Path, diff: bytes, operator: str = "scale", **more: Any) -> None:
    (tmp_path / "patch.diff").write_bytes(diff)
    question = Question(patch=tmp_path / "patch.diff", operator=operator, repository=target, **more)
    judge_patch(question, Progress(lambda _: None), lambda: False)


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """No host may be opened."""
    monkeypatch.setattr(judging, "open_host", never)


@pytest.mark.usefixtures("closed")
def test_a_patch_that_does_not_apply_leaves_no_trees_behind(target: Path, tmp_path: Path, state: Path) -> None:
    diff = b"diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n"
    with pytest.raises(RequestError, match="does not apply"):
        ask(target, tmp_path, diff)
    (kept,) = (state / "judgements").iterdir()
    assert not (kept / "work").exists()


@pytest.mark.usefixtures("closed")
def test_a_patch_of_one_from_whom_a_twin_was_hidden_is_judged_with_it_hidden(tmp_path: Path) -> None:
    target = ported_target(tmp_path / "target")
    tree = tmp_path / "tree"
    record = prepare(target, resolve_commit(target), "silu_and_mul", tmp_path / "trusted.git", tree, ("scale",))
    write_files(tree, {LIBRARY: (tree / LIBRARY).read_text() + "mod silu_and_mul;\n"})
    _, diff = capture(record, tmp_path / "trusted.git", tree, tmp_path / "aside")
    with pytest.raises(RequestError, match="does not apply"):
        ask(target, tmp_path, diff, operator="silu_and_mul")
    with pytest.raises(AssertionError, match="not to be reached"):  # the host is opened, so all before it was right
        ask(target, tmp_path, diff, operator="silu_and_mul", also_hidden=("scale",))


@pytest.mark.usefixtures("closed")
def test_evidence_about_another_patch_is_refused_before_anything_is_built(
    target: Path, tmp_path: Path, change: Change
) -> None:
    (tmp_path / "evidence").mkdir()
    write_json(tmp_path / "evidence" / EVIDENCE, recorded())
    with pytest.raises(RequestError, match="is about tree"):
        ask(target, tmp_path, change(), evidence=tmp_path / "evidence")


@pytest.mark.usefixtures("closed")
def test_a_full_folder_for_the_pack_is_refused_before_anything_is_built(
    target: Path, tmp_path: Path, change: Change
) -> None:
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "mine").touch()
    with pytest.raises(RequestError, match="is not empty"):
        ask(target, tmp_path, change(), pack=tmp_path / "pack")


def test_a_port_that_relies_on_what_the_repository_lacks_is_rejected_and_told_what_to_merge(
    folder: AttemptFolder, change: Change
) -> None:
    wrapper = "from tilegym.backend.cutile_rs.launching import Launcher\n\nlauncher = Launcher\n"
    gates = judged(folder, change(scale=wrapper))
    assert isinstance(gates["policy"], Failed)
    assert any("`tileport infra --repo REPO`" in reason for reason in gates["policy"].reasons)
