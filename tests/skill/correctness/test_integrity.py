"""Whoever replaces a function that judges, or the baseline, is seen; whoever does not, is not."""

from __future__ import annotations

import _thread
import importlib
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch

from tileport_skill.correctness.integrity import WATCHED, Snapshot, fingerprint, python_threads, resolve

WITHOUT_CUPTI = tuple(name for name in WATCHED if not name.startswith(("cupti", "tileport_skill.correctness.tracing")))

REFERENCE = """
from types import SimpleNamespace

CONFIGURATIONS = (SimpleNamespace(occupancy=1), SimpleNamespace(occupancy=2))
CACHE = {}

class Kernel:
    def __init__(self, function, options):
        self._pyfunc, self._compiler_options = function, options

def body(x):
    return x in {"add", "mul", "sub", "div"}

kernel = Kernel(body, "occupancy=None")

def settings():
    return CONFIGURATIONS

class Function:
    @staticmethod
    def forward(x):
        return x
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    (tmp_path / "a_reference.py").write_text(REFERENCE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("a_reference")
    del sys.modules["a_reference"]


def changed(before: dict[str, str]) -> list[str]:
    now = fingerprint("a_reference")
    return [name.removeprefix("a_reference.") for name, code in before.items() if now.get(name) != code]


def test_nothing_has_changed_when_nobody_changed_anything() -> None:
    assert Snapshot(WITHOUT_CUPTI).changed() == ()


@pytest.mark.parametrize("name", [n for n in WITHOUT_CUPTI if n.startswith(("torch.", "time.", "json."))])
def test_a_replaced_function_is_named_and_one_put_back_is_not(name: str) -> None:
    snapshot = Snapshot(WITHOUT_CUPTI)
    owner, attribute = resolve(name.rpartition(".")[0]), name.rpartition(".")[2]
    original = getattr(owner, attribute)
    setattr(owner, attribute, lambda *args, **kwargs: None)
    try:
        found = snapshot.changed()
    finally:
        setattr(owner, attribute, original)
    assert set(found) == {watched for watched in WITHOUT_CUPTI if watched == name or watched.startswith(f"{name}.")}


def test_other_code_in_the_same_function_is_seen() -> None:
    from tileport_skill.correctness import replay

    snapshot = Snapshot(WITHOUT_CUPTI)
    original = replay.observe.__code__

    def blind(item, function, arguments, seed, trace):  # type: ignore[no-untyped-def]
        return None

    replay.observe.__code__ = blind.__code__
    try:
        assert snapshot.changed() == ("tileport_skill.correctness.replay.observe",)
    finally:
        replay.observe.__code__ = original
    assert snapshot.changed() == ()


def test_every_watched_name_means_something() -> None:
    assert [name for name in WITHOUT_CUPTI if resolve(name) is None] == []


def test_functions_methods_kernels_and_tuples_are_in_a_references_fingerprint(module: ModuleType) -> None:
    names = {name.removeprefix("a_reference.") for name in fingerprint("a_reference")}
    assert names == {"CONFIGURATIONS", "Kernel.__init__", "body", "kernel", "settings", "Function.forward"}


def test_each_way_to_slow_a_baseline_shows(module: ModuleType) -> None:
    before = fingerprint("a_reference")
    module.CACHE["tuned"] = 1
    assert changed(before) == []
    module.CONFIGURATIONS = module.CONFIGURATIONS[-1:]
    assert changed(before) == ["CONFIGURATIONS"]
    module.kernel = module.Kernel(module.body, "occupancy=32")
    assert changed(before) == ["CONFIGURATIONS", "kernel"]
    module.settings = lambda: ()
    module.Function.forward = staticmethod(lambda x: None)
    assert changed(before) == ["CONFIGURATIONS", "kernel", "settings", "Function.forward"]


def test_another_process_finds_the_same_fingerprint(module: ModuleType) -> None:
    assert module.__file__
    program = (
        "from tileport_skill.correctness.integrity import fingerprint\n"
        "print(sorted(fingerprint('a_reference').items()))"
    )
    skill = Path(__file__).parents[3] / "skill"
    texts = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONPATH": f"{Path(module.__file__).parent}:{skill}", "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert texts == {f"{sorted(fingerprint('a_reference').items())}\n"}


def test_a_thread_that_waits_in_python_counts_however_it_was_started() -> None:
    before = python_threads()
    for start in (lambda f: threading.Thread(target=f).start(), lambda f: _thread.start_new_thread(f, ())):
        running, finish, ended = threading.Event(), threading.Event(), threading.Event()

        def wait(
            running: threading.Event = running, finish: threading.Event = finish, ended: threading.Event = ended
        ) -> None:
            running.set()
            finish.wait()
            ended.set()

        start(wait)
        running.wait()
        assert python_threads() == before + 1
        finish.set()
        ended.wait()


def test_torch_is_not_changed_by_these_tests() -> None:
    assert bool(torch.allclose(torch.ones(1), torch.ones(1)))
    assert not torch.allclose(torch.ones(1), torch.zeros(1))
