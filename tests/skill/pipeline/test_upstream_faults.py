"""The faults that were measured in TileGym's own skill (75a1430), each with the tests that show ours is without it.

Numbers are those of the list that was made of them. `rule ID` is a rule with its bad and good example, which are tests
(`tests/skill/lint/test_rules.py`); `here` are the tests below.
"""

from __future__ import annotations

import ast
import dataclasses
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.skill.pipeline.conftest import KERNEL, Place

from tileport_skill.lint.records import Port, Source
from tileport_skill.lint.registry import RULES
from tileport_skill.lint.run import findings
from tileport_skill.pipeline.machine import Run
from tileport_skill.pipeline.roles import SKILL
from tileport_skill.pipeline.submit import check
from tileport_skill.pipeline.verdicts import Role, Verdict

TESTS = Path(__file__).parents[2]
FAULTS: dict[int, dict[str, Any]] = yaml.safe_load((TESTS / "data/upstream_faults.yaml").read_text())
BAD_INPUT: dict[str, dict[str, Any]] = yaml.safe_load((TESTS / "data/bad_input.yaml").read_text())
"""What a role or its model may do wrong, and the tests that show what it gets for it."""


def test_every_fault_is_accounted_for() -> None:
    assert list(FAULTS) == list(range(1, 31))


@pytest.mark.parametrize("one", [*FAULTS.values(), *BAD_INPUT.values()], ids=map(str, [*FAULTS, *BAD_INPUT]))
def test_what_shows_that_ours_is_without_it_is_there(one: dict[str, Any]) -> None:
    for named in one["shown_by"]:
        where, name = named.split(" ", 1)
        if where == "rule":
            assert name in {rule.id for rule in RULES}, named
            continue
        path = Path(__file__) if where == "here" else TESTS / where
        functions = {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)}
        assert name in functions, named


def test_written_figures_are_no_measurement(analyzed: Place) -> None:
    folder = analyzed.work.root / "performance"
    folder.mkdir()
    (folder / "performance.md").write_text("VERDICT: DONE\ngeomean_ratio=1.21\nPerformance Test Results\n")
    (folder / "results.json").write_text(json.dumps({"geomean_ratio": 1.21, "verdict": "passed"}))
    found = check(analyzed.work, Role.PERFORMANCE_VERIFIER, folder / "performance.md")
    assert found.measured in (Verdict.INCONCLUSIVE, Verdict.NOT_RUN)


def test_every_launch_is_compared_and_with_the_file_as_it_is(analyzed: Place) -> None:
    analyzed.write_kernel()
    before = check(analyzed.work, Role.KERNEL_WRITER, analyzed.work.root)
    launched = len(list((analyzed.work.root / "ir/generated").glob("*.tileirbc")))
    assert before.problems == ()
    assert launched == len(list((analyzed.work.root / "ir/reference").glob("*.tileirbc"))) > 1
    analyzed.write_kernel(lambda text: text.replace("tile * factor", "tile + factor"))
    after = check(analyzed.work, Role.KERNEL_WRITER, analyzed.work.root)
    assert sum(int(re.match(r"\d+", problem.text)[0]) for problem in after.problems) == launched  # type: ignore[index]


def test_a_comment_satisfies_no_rule() -> None:
    (rule,) = (rule for rule in RULES if rule.id == "element-type-is-generic")
    texts = {part: Source(path=part, text=text) for part, text in rule.bad.items()}
    said = "// unsafe fn k<E: ElementType>(x: *mut E)\n"
    port = Port(parts={**texts, "kernel": Source(path="kernel.rs", text=said + rule.bad["kernel"])})  # type: ignore[dict-item, arg-type]
    assert rule.id in {one.rule for one in findings([port])}


def test_a_second_run_of_the_kernel_writer_is_taken_with_host_code_there(analyzed: Place) -> None:
    analyzed.write_kernel(lambda text: text.replace("tile * factor", "tile + factor"))
    analyzed.submit("kernel-writer", "verdict: equal\n")
    wrapper = analyzed.repo / "tilegym/ops/cutile_rs/scale.py"
    wrapper.write_text("# as a host builder left it\n")
    history = analyzed.work.history()
    tree = {**history[-1].tree, "tilegym/ops/cutile_rs/scale.py": _hash(wrapper)}
    analyzed.work.history_file.write_text("")
    for entry in history:
        analyzed.work.append(dataclasses.replace(entry, tree=tree))
    analyzed.submit("ir-analyst", f"evidence: {KERNEL}\nverdict: fail-kernel\n")
    analyzed.write_kernel()
    analyzed.submit("kernel-writer", "verdict: equal\n")
    assert analyzed.work.step() == Run(Role.HOST_BUILDER)


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_nothing_of_the_skill_is_shell() -> None:
    assert [path for path in SKILL.rglob("*") if path.suffix in {".sh", ".bash"} and "/target/" not in str(path)] == []
