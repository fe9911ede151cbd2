"""Kernels assembled ahead of time, and what is remembered of them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import cuda.tile as ct
import pytest
from tests.skill.tileir.conftest import _export, a_times_b, array

from tileport_skill.capture.cache import cache_folder
from tileport_skill.tuning import cubins
from tileport_skill.tuning.cubins import Assembled, Dropped, Store, assemble_all, hashes

Kernel = Callable[[bytes], str]


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    """Puts bytecode into a cache of its own and says its hash."""
    monkeypatch.setenv("TILEPORT_CACHE", str(tmp_path))

    def keep(content: bytes) -> str:
        name = hashlib.sha256(content).hexdigest()
        (cache_folder("ir") / f"{name}.tileirbc").write_bytes(content)
        return name

    return keep


def test_what_a_compiler_refuses_is_dropped_with_its_words_and_not_tried_again(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = kernel(b"no bytecode")
    found = assemble_all([bad], "sm_90", 600)[bad]
    assert isinstance(found, Dropped)
    assert found.reason.startswith("tileiras: ")
    monkeypatch.setattr(cubins, "_made", lambda *_: pytest.fail("it was tried again"))
    assert assemble_all([bad], "sm_90", 600)[bad] == found


def test_a_budget_that_is_spent_drops_the_rest_and_remembers_nothing(kernel: Kernel) -> None:
    late = kernel(b"no bytecode either")
    assert assemble_all([late], "sm_90", 0)[late] == Dropped(reason="the time for compiling was spent before its turn")
    assert Store("sm_90").known(late) is None


def test_a_kernel_is_made_once_and_its_cubin_kept(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = array(ct.float16, 2)
    good = kernel(_export(a_times_b, (matrix, matrix, matrix), "kernel_entry", "sm_90"))
    found = assemble_all([good], "sm_90", 600)
    made = found[good]
    assert isinstance(made, Assembled)
    assert hashlib.sha256(Store("sm_90").path(made.sha256).read_bytes()).hexdigest() == made.sha256
    assert list(hashes(found)) == [made.sha256]
    monkeypatch.setattr(cubins, "_made", lambda *_: pytest.fail("it was made again"))
    assert assemble_all([good], "sm_90", 600) == found
    Store("sm_90").path(made.sha256).unlink()
    assert Store("sm_90").known(good) is None, "a note without its cubin is no cubin"
