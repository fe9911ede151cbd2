"""A failed launch is told by the launcher's own words."""

from __future__ import annotations

from tileport_skill.capture.inside.words import with_launchers_words

FAILED = "RuntimeError: cutile_rows failed (rc=-3): kernel launch failed"


def test_what_the_launcher_wrote_under_its_name_is_added() -> None:
    stderr = "cutile_rows: first\nsome log\ncutile_rows: Anyhow(no such type)\ncutile_other: else\n"
    assert with_launchers_words(FAILED, stderr) == f"{FAILED}; cutile_rows: Anyhow(no such type)"


def test_another_failure_stays_as_it_is() -> None:
    assert with_launchers_words("AssertionError: 1 is not 2", "cutile_rows: x") == "AssertionError: 1 is not 2"
    assert with_launchers_words(FAILED, "") == FAILED
