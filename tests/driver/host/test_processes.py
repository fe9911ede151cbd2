"""A process is known by its number and by when it began, so that a number used again is another's."""

from __future__ import annotations

import os
import subprocess
import time

from tileport_driver.host.processes import alive, identity, is_elsewhere, process_state, running_for


def test_a_process_is_alive_under_its_own_identity_alone() -> None:
    mine = identity(os.getpid())
    assert alive(mine) == os.getpid()
    host, pid, began = mine.split(":")
    assert alive(f"{host}:{pid}:{int(began) + 1}") is None, "the number was used again"
    assert alive(f"elsewhere:{pid}:{began}") is None
    assert [is_elsewhere(each) for each in (mine, f"elsewhere:{pid}:{began}", "", "x")] == [False, True, True, True]


def test_one_that_ended_is_not_also_while_nobody_has_fetched_its_end() -> None:
    process = subprocess.Popen(["true"])
    known = identity(process.pid)
    while process_state(process.pid) != "Z":
        time.sleep(0.01)
    assert alive(known) is None
    process.wait()
    assert (alive(known), process_state(process.pid), running_for(process.pid)) == (None, "", None)


def test_its_age_is_counted_by_the_kernel() -> None:
    process = subprocess.Popen(["sleep", "9"])
    age = running_for(process.pid)
    process.kill()
    process.wait()
    assert age is not None
    assert 0 <= age < 60
