"""A correctness run that is told to end leaves nothing on the GPU."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import subprocess, time
from tileport_skill.correctness.orphans import end_when_told
end_when_told()
child = subprocess.Popen(["sleep", "300"], start_new_session=True)
print(child.pid, flush=True)
child.wait()
"""


def test_a_process_that_is_told_to_end_takes_with_it_what_it_has_started() -> None:
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        assert Path(f"/proc/{child}").exists()
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 128 + signal.SIGTERM
    assert not Path(f"/proc/{child}").exists()
