"""What `draft` says when it is done."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tileport_skill.__main__ import app
from tileport_skill.draft.cli import NOT_PROVED

REPOSITORY = Path(__file__).parents[2] / "data" / "draftable"


@pytest.mark.parametrize("as_json", [False, True])
def test_a_draft_that_was_not_checked_says_that_nothing_is_proved(tmp_path: Path, as_json: bool) -> None:
    command = ["draft", "swapped", "--repo", str(REPOSITORY), "--out", str(tmp_path / "port"), "--no-tuning"]
    done = CliRunner().invoke(app, [*command, *(["--json"] if as_json else [])])
    assert done.exit_code == 0, done.output
    if as_json:
        assert json.loads(done.stdout)["checked"] is False
    else:
        assert NOT_PROVED in done.stdout
    assert (tmp_path / "port/tilegym/ops/cutile_rs/swapped_kernel/kernel.rs").is_file()
