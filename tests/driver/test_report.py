"""The report says what the records say, in a page that needs nothing from outside."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from decimal import Decimal
from html.parser import HTMLParser

import pytest

from tests.skill.timing.conftest import RECORDED
from tileport_driver.records import (
    AgentRun,
    Change,
    Delivery,
    Failed,
    Gate,
    Hidden,
    Inconclusive,
    MachineryFailed,
    NotPorted,
    NotRun,
    Outcome,
    Passed,
    Patch,
    Ported,
    Refused,
    Rejected,
    Unproved,
    Usage,
)
from tileport_driver.report import (
    MAX_DIFF_LINES,
    IrRow,
    ReportInput,
    RoleCost,
    StageTime,
    Turn,
    headline,
    report_html,
    report_markdown,
    split_diff,
)
from tileport_skill.pipeline.diagnosis import Diagnosis as GivenUp
from tileport_skill.pipeline.diagnosis import Turn as RoleTurn
from tileport_skill.pipeline.verdicts import Role, Verdict
from tileport_skill.timing import gate

Golden = Callable[[str, str], None]

DIFF = """\
diff --git a/src/tilegym/ops/cutile_rs/__init__.py b/src/tilegym/ops/cutile_rs/__init__.py
index 1111111..2222222 100644
--- a/src/tilegym/ops/cutile_rs/__init__.py
+++ b/src/tilegym/ops/cutile_rs/__init__.py
@@ -3,3 +3,4 @@
 from . import bmm
-from . import old
+from . import double_it
+--- a line that begins with three dashes
diff --git a/src/tilegym/ops/cutile_rs/double_it/kernel.rs b/src/tilegym/ops/cutile_rs/double_it/kernel.rs
new file mode 100644
index 0000000..3333333
--- /dev/null
+++ b/src/tilegym/ops/cutile_rs/double_it/kernel.rs
@@ -0,0 +1,3 @@
+pub fn double_it(x: &Tensor<f32, { [-1] }>) {
+    // ``` and <b>html</b> and @everyone
+}
"""

MISSING = (
    NotRun(
        gate="correctness",
        why="There is no GPU on this machine.",
        how="On a machine with a Hopper or Blackwell GPU: `tileport port double_it --repo .`",
    ),
    NotRun(gate="performance", why="There is no GPU on this machine.", how="The same command measures it."),
)

GATES: tuple[Gate, ...] = (
    Passed(gate="policy", evidence=("The patch touches 2 of the 6 files it may touch.",), seconds=0.01),
    Passed(
        gate="apply",
        evidence=("The tree after applying is `9f8e7d6c5b4a`, as the agent left it.",),
        seconds=0.3,
    ),
    Passed(
        gate="build",
        evidence=("`cargo build --release` of the kernels crate ended with 0.",),
        files=("evidence/build.log",),
        seconds=64.2,
    ),
    Passed(
        gate="tile-ir",
        evidence=("3 of 3 specialisations are equal: the same cubin, byte for byte.",),
        files=("evidence/tile-ir.json", "evidence/a file with spaces.mlir"),
        seconds=4.75,
    ),
    *MISSING,
)


HIDDEN = (
    Hidden(path="src/tilegym/ops/cutile_rs/double_it.py", what="file", why="the port's wrapper"),
    Hidden(
        path="src/tilegym/ops/cutile_rs/__init__.py",
        what="lines",
        why="its registration",
        removed=("from . import double_it",),
    ),
)
PATCH = Patch(
    base_tree="a" * 40,
    result_tree="9f8e7d6c5b4a" + "0" * 28,
    changes=(Change(path="src/tilegym/ops/cutile_rs/__init__.py", old_mode="100644", new_mode="100644", status="M"),),
    bytes=len(DIFF),
    sha256="c" * 64,
    ignored=("target/debug/build.log",),
)
IR_ROWS = (
    IrRow(
        kernel="double_it_kernel",
        dtype="float32",
        arch="sm_100",
        verdict="equal",
        proof="the same cubin",
        reference_sha256="ab" * 32,
        port_sha256="ab" * 32,
    ),
    IrRow(
        kernel="double_it_kernel",
        dtype="bfloat16",
        arch="sm_120",
        verdict="unknown",
        proof="no cubin",
    ),
)


def sample(**changes: object) -> ReportInput:
    report = ReportInput(
        operator="double_it",
        repository="example/TileGym",
        base_commit="0123456789abcdef0123456789abcdef01234567",
        attempt_id="double_it-0123456-1",
        attempt=1,
        started="2026-08-22 12:03 UTC",
        stages=(StageTime("checkout", 1.2), StageTime("agent", 41.0), StageTime("acceptance", 69.3)),
        outcome=Unproved(
            delivery=Delivery(branch="port/double_it", commit="89abcdef0123456789abcdef0123456789abcdef"),
            missing=MISSING,
        ),
        hidden=HIDDEN,
        agent_run=AgentRun(
            status="finished",
            exit_code=0,
            seconds=40.6,
            turns=3,
            usage=Usage(input_tokens=12_345, output_tokens=678),
            summary="All done, everything passes!",
        ),
        turns=(
            Turn("assistant", "bash", "ls src/tilegym/ops/cutile"),
            Turn("bash", "result", "double_it.py"),
            Turn("assistant", "edit", "create kernel.rs | 3 lines"),
            Turn("assistant", "says", "All done, everything passes!"),
        ),
        patch=PATCH,
        diff=DIFF,
        acceptance=Inconclusive(gates=GATES),
        ir_rows=IR_ROWS,
    )
    return dataclasses.replace(report, **changes)


def test_an_unproved_port_reads_as_its_golden(golden: Golden) -> None:
    golden("report-unproved.md", report_markdown(sample()))


def test_a_rejected_port_reads_as_its_golden(golden: Golden) -> None:
    gates = (
        GATES[0],
        Failed(
            gate="build",
            reasons=("`cargo build` failed:\nerror[E0308]: mismatched types\n --> kernel.rs:2:13\n```",),
            files=("evidence/build.log",),
            seconds=9.0,
        ),
        NotRun(gate="tile-ir", why="The build failed before it.", how="It runs by itself once the build passes."),
    )
    outcome = NotPorted(
        reasons=("The build failed: `cargo build` failed:\nerror[E0308]: mismatched types\n --> kernel.rs:2:13\n```",)
    )
    golden(
        "report-rejected.md",
        report_markdown(sample(acceptance=Rejected(gates=gates), outcome=outcome, ir_rows=())),
    )


ROLES = (
    RoleTurn(number=1, role=Role.PREFLIGHT, verdict=Verdict.PASS, claimed=None, facts=("disk: 90 GiB free",)),
    RoleTurn(
        number=2,
        role=Role.KERNEL_WRITER,
        verdict=Verdict.NOT_EQUAL,
        claimed=Verdict.EQUAL,
        problems=("1 of _double (sm_90) different: value 7 | a sum for a product",),
    ),
    RoleTurn(
        number=3,
        role=Role.IR_ANALYST,
        verdict=Verdict.MALFORMED,
        claimed=None,
        problems=("reports/ir-analyst-1.md is not there",),
        conversation="the model refused",
    ),
)


def given_up(why: str = "ir-analyst left no report that can be read") -> ReportInput:
    agent_run = sample().agent_run
    assert agent_run is not None
    run = dataclasses.replace(
        agent_run,
        status="failed",
        exit_code=1,
        roles=ROLES,
        given_up=GivenUp(why=why, owner="agent", seen=True, runs=ROLES),
    )
    costs = (
        RoleCost("kernel-writer", 9, 412_345, 390_000, Decimal("1.25")),
        RoleCost("ir-analyst", 1, 9_000, 0, Decimal(0)),
    )
    return sample(
        agent_run=run,
        role_costs=costs,
        outcome=NotPorted(reasons=("The roles gave the port up.",)),
        acceptance=None,
        ir_rows=(),
        patch=None,
        diff="",
    )


def test_a_port_that_roles_gave_up_reads_as_its_golden(golden: Golden) -> None:
    golden("report-given-up.md", report_markdown(given_up()))


def test_both_forms_show_every_run_of_a_role_and_whose_the_end_is() -> None:
    for text in (report_markdown(given_up()), report_html(given_up())):
        assert "not-equal, said equal" in text
        assert "its conversation ended: the model refused" in text
        assert "Whose it is: agent" in text
        assert "412,345" in text
    assert "<b>" not in report_html(given_up("<b>"))


@pytest.mark.parametrize("render", [report_markdown, report_html])
def test_an_attempt_that_ended_before_anything_ran_still_has_a_report(
    render: Callable[[ReportInput], str],
) -> None:
    report = ReportInput(
        operator="double_it", repository="r", base_commit="0" * 40, attempt_id="a", attempt=1, started="now",
        stages=(), outcome=MachineryFailed(reason="Docker does not answer."),
    )  # fmt: skip
    text = render(report)
    assert "could not be finished" in text
    assert "Gates" not in text
    assert "The patch" not in text


@pytest.mark.parametrize(
    ("outcome", "verdict"),
    [
        (Ported(delivery=Delivery(branch="b", commit="0" * 40)), "ported"),
        (Unproved(delivery=Delivery(branch="b", commit="0" * 40), missing=MISSING), "unproved"),
        (NotPorted(reasons=("no",)), "not ported"),
        (Refused(reason="no such operator"), "refused"),
        (MachineryFailed(reason="no disk"), "failed"),
    ],
)
def test_every_outcome_has_a_headline_that_names_the_operator(outcome: Outcome, verdict: str) -> None:
    line = headline(outcome, "double_it")
    assert line.verdict == verdict
    assert "double_it" in line.title


def test_the_diff_is_split_by_file_with_its_lines_counted() -> None:
    registration, kernel = split_diff(DIFF)
    assert registration[:3] == ("src/tilegym/ops/cutile_rs/__init__.py", 2, 1)
    assert kernel[:3] == ("src/tilegym/ops/cutile_rs/double_it/kernel.rs", 3, 0)
    assert ("added", "+--- a line that begins with three dashes") in registration.lines


def test_a_removed_file_and_a_binary_one_keep_their_paths() -> None:
    removed, binary = split_diff(
        "diff --git a/x y.py b/x y.py\ndeleted file mode 100644\n--- a/x y.py\n+++ /dev/null\n"
        "@@ -1 +0,0 @@\n-1\n"
        "diff --git a/i.png b/i.png\nnew file mode 100644\nGIT binary patch\nliteral 0\nHcmV?d00001\n"
    )
    assert removed[:3] == ("x y.py", 0, 1)
    assert binary[:3] == ("i.png", 0, 0)


def test_of_a_huge_diff_the_page_shows_a_part_and_says_so() -> None:
    body = "".join(f"+line {number}\n" for number in range(5_000))
    (file,) = split_diff(f"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -0,0 +1,5000 @@\n{body}")
    assert (file.added, len(file.lines), file.left_out) == (5_000, MAX_DIFF_LINES, 5_001 - MAX_DIFF_LINES)
    assert f"{file.left_out} more lines are in" in report_html(
        sample(diff=f"diff --git a/x b/x\n+++ b/x\n@@ @@\n{body}")
    )


class _Page(HTMLParser):
    """What a browser would find: open tags at the end, and every address it would fetch or run."""

    VOID = frozenset({"meta", "br", "hr", "img", "link", "input"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.loads += [value or "" for name, value in attrs if name in {"src", "srcset", "action", "data"}]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_and_asks_for_nothing() -> None:
    html = report_html(sample())
    page = _Page()
    page.feed(html)
    assert page.open == []
    assert page.loads == []
    assert not page.tags & {"script", "link", "img", "iframe", "b"}
    assert not re.search(r"url\(|@import", html)


def test_measured_rows_stand_in_both_forms_as_a_plot_and_as_bars() -> None:
    measured = sample(timings=gate.read(RECORDED / "ours"))
    text = report_html(measured)
    page = _Page()
    page.feed(text)
    assert page.open == []
    assert page.loads == []
    assert "svg" in page.tags
    assert "the rule is 0.95" in text
    rows = [row for timing in measured.timings for row in timing.rows]
    assert len(rows) == 9
    for row in rows:
        assert row.cold is not None
        assert row.row in text
        assert re.search(rf"{re.escape(row.row)} .*[|o].* {row.cold.ratio:.3f} passed", report_markdown(measured))
    assert "Speed" not in report_html(sample()) + report_markdown(sample())


def test_what_the_patch_and_the_agent_wrote_is_shown_and_not_obeyed() -> None:
    html = report_html(sample())
    assert "&lt;b&gt;html&lt;/b&gt;" in html
    markdown = report_markdown(sample())
    # The patch holds three backticks, so its fence has four.
    assert "\n````diff\n" in markdown
    hostile = sample(hidden=(Hidden(path="a`|b\n# x", what="file", why="<script>@octocat"),))
    assert "| ``a`\\|b # x`` | file | &lt;script>@\u200boctocat |" in report_markdown(hostile)
    assert "<script" not in report_html(hostile)


def test_a_link_to_an_evidence_file_survives_spaces() -> None:
    assert 'href="evidence/a%20file%20with%20spaces.mlir"' in report_html(sample())
    assert "(<evidence/a%20file%20with%20spaces.mlir>)" in report_markdown(sample())
