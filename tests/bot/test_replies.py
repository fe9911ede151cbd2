"""What the bot says, word for word, and that no text from outside can break it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from tests.bot.conftest import rejected, unproved

from tileport_bot import replies
from tileport_bot.commands import HELP
from tileport_bot.diagnose import diagnose, first_failed_gate
from tileport_bot.driver import Finished
from tileport_bot.excerpts import Excerpt, first_failure
from tileport_bot.github import PullRequest
from tileport_bot.replies import Result, status_comment
from tileport_bot.status import Record, Stage, read_record
from tileport_driver.records import DraftRun, Failed, MachineryFailed, NotPorted, Refused, Rejected
from tileport_skill.draft.measure import Measured
from tileport_skill.draft.operator import Refusal
from tileport_skill.draft.report import DraftReport
from tileport_skill.pages.markdown import COMMENT_LIMIT

Golden = Callable[[str, str], None]

RECORD = Record(
    operator="silu_and_mul",
    reference="c0ffee" * 10,
    stage=Stage.RUNNING,
    attempt=1,
    asked_by="alice",
    trigger="t",
)
UPDATED = "2026-08-22 12:03 UTC"


def result_of(finished: Finished) -> Result:
    outcome = finished.outcome
    assert isinstance(outcome, NotPorted | Refused | MachineryFailed)
    failed = first_failed_gate(finished.acceptance)
    excerpt = first_failure(failed, finished.attempt_dir) if failed else None
    return Result(outcome=outcome, diagnosis=diagnose(outcome, failed, excerpt), finished=finished)


def html(text: str) -> str:
    return MarkdownIt("gfm-like", {"linkify": False}).render(text)


def test_a_running_attempt(golden: Golden) -> None:
    golden(
        "replies/running.md",
        status_comment(replace(RECORD, attempt=2, history=("1: not ported",)), updated=UPDATED),
    )


def test_an_unproved_port(golden: Golden) -> None:
    finished = unproved()
    pull = PullRequest(34, "https://github.com/example/TileGym/pull/34", "")
    result = Result(outcome=finished.outcome, pull_request=pull, finished=finished)
    golden(
        "replies/unproved.md",
        status_comment(replace(RECORD, stage=Stage.DONE), updated=UPDATED, result=result),
    )


def test_a_rejected_port(golden: Golden, tmp_path: Path) -> None:
    finished = rejected(tmp_path / "attempt")
    record = replace(RECORD, stage=Stage.FAILED, spent=1)
    text = status_comment(record, updated=UPDATED, result=result_of(finished))
    golden("replies/rejected.md", text.replace(str(tmp_path), "/var/lib/tileport"))


def test_our_own_failure(golden: Golden) -> None:
    finished = Finished(outcome=MachineryFailed(reason="Docker does not answer: start it, then `/retry`."))
    record = replace(RECORD, stage=Stage.FAILED)
    golden("replies/failed.md", status_comment(record, updated=UPDATED, result=result_of(finished)))


def test_an_agent_that_left_nothing(golden: Golden) -> None:
    finished = Finished(
        outcome=NotPorted(reasons=("The agent's container outlived its limit of 2 h.", "It was killed."))
    )
    record = replace(RECORD, stage=Stage.FAILED, spent=1)
    golden("replies/no-patch.md", status_comment(record, updated=UPDATED, result=result_of(finished)))


def test_a_pull_request_body(golden: Golden) -> None:
    body = replies.pull_request_body(RECORD, issue=12, finished=unproved(), delivery_branch="port/silu_and_mul")
    golden("replies/pull-request.md", body)


def test_help_and_did_you_mean(golden: Golden) -> None:
    golden("replies/did-you-mean.md", replies.did_you_mean("/prot `x` @octocat", "/port x"))
    assert all(usage in replies.help_text() for usage in HELP)


@pytest.mark.parametrize("stage", Stage)
def test_every_stage_has_its_comment_with_the_record_in_it(stage: Stage) -> None:
    text = status_comment(replace(RECORD, stage=stage), updated=UPDATED)
    assert f"**{stage}**" in text
    assert read_record(text) == replace(RECORD, stage=stage)
    assert "silu_and_mul" in text.split("\n")[1]
    # Nothing of the record shows: the marker is one HTML comment.
    assert "c0ffee" not in html(text).partition("-->")[2]


HOSTILE_LOG = "\n".join(
    [
        "error: here",
        "```",
        "````",
        "</details>",
        "<script>alert(1)</script>",
        "@octocat #1",
        "😀" * 5_000,
        "\x1b[31mred",
    ]
)


@pytest.mark.parametrize("size", [1, 500])
def test_a_comment_is_short_and_whole_whatever_the_log_holds(tmp_path: Path, size: int) -> None:
    finished = rejected(tmp_path / "attempt", log=f"{HOSTILE_LOG}\n" * size)
    assert isinstance(finished.acceptance, Rejected)
    many = tuple(f"reason {n} `{'x' * 3_000}` <b> @octocat | [x](y)" for n in range(500))
    gates = tuple(replace(g, reasons=many) if isinstance(g, Failed) else g for g in finished.acceptance.gates)
    finished = replace(finished, acceptance=replace(finished.acceptance, gates=gates))
    text = status_comment(replace(RECORD, stage=Stage.FAILED), updated=UPDATED, result=result_of(finished))
    assert len(text) <= COMMENT_LIMIT
    assert read_record(text) is not None
    rendered = html(f"{text}\n\nafter")
    assert rendered.endswith("<p>after</p>\n")
    assert rendered.count("<details>") == rendered.count("</details>")
    assert "<script>" not in rendered
    assert "<b>" not in rendered


def test_a_drafts_pull_request_says_that_no_model_wrote_it_and_what_it_leaves_out() -> None:
    measured = Measured(
        kernel="_rows", entry="rows", python_lines=9, rust_lines=9, names=1, names_kept=1, numbered=(), unsafe=1
    )
    refused = (Refusal(kernel="_running", reason="a call of cuda.tile.cumsum", line=41),)
    report = DraftReport(
        operator="rows", files=("rows.py",), kernels=(measured,), refused=refused, host=None, seconds=1
    )
    finished = replace(unproved(), draft=DraftRun(seconds=1, report=report, refused=()), usage=None)
    body = replies.pull_request_body(RECORD, issue=1, finished=finished, delivery_branch="b")
    assert "no model was in the loop" in body
    assert "| `_rows` | Python source |" in body
    assert "| `_running` | **not drafted** (line 41 of the reference): a call of cuda.tile.cumsum |" in body
    assert "Tokens" not in body


def test_a_pull_request_body_with_thousands_of_rows_fits() -> None:
    finished = unproved()
    rows = tuple(replace(finished.ir_rows[0], proof="a long proof " * 40) for _ in range(3_241))
    body = replies.pull_request_body(RECORD, issue=1, finished=replace(finished, ir_rows=rows), delivery_branch="b")
    assert len(body) <= COMMENT_LIMIT
    assert "3181 more rows are in the report." in body
    assert body.endswith(f"{replies.SIGN_OFF}\n")


def test_an_excerpt_shows_the_log_and_not_the_key_in_it(tmp_path: Path) -> None:
    finished = rejected(tmp_path / "attempt", log=f"error: pushed with ghp_{'a1' * 18}\n")
    text = status_comment(RECORD, updated=UPDATED, result=result_of(finished))
    assert "error: pushed with [masked]" in text


def test_a_label_that_tries_to_end_the_marker_does_not() -> None:
    record = replace(RECORD, trigger='labeled port: x --> <img src=x> "}', asked_by="--><b>")
    text = status_comment(record, updated=UPDATED)
    assert read_record(text) == record
    assert text.split("\n")[0].count("-->") == 1
    assert "<b>" not in html(text).partition("-->")[2]


def test_somebody_elses_marker_or_a_broken_one_is_no_record() -> None:
    text = status_comment(RECORD, updated=UPDATED)
    assert read_record(f"> {text}") is None
    assert read_record(text.replace('"attempt": 1', '"attempt": "one"')) is None
    assert read_record("") is None


def test_the_excerpt_is_named_after_its_file(tmp_path: Path) -> None:
    finished = rejected(tmp_path / "attempt")
    failed = first_failed_gate(finished.acceptance)
    assert failed is not None
    assert first_failure(failed, finished.attempt_dir) == Excerpt(
        "build.log", "error[E0308]: mismatched types\n --> kernel.rs:2:13"
    )
