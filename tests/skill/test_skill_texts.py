"""SKILL.md and what the roles read: in the form agents load, within their budgets, and true."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
import yaml
from typer.main import get_command

from tileport_skill.__main__ import app
from tileport_skill.capture.session import capture
from tileport_skill.emit.cli import built_emitter
from tileport_skill.emit.program import Emitter
from tileport_skill.lint.records import Port, Source
from tileport_skill.lint.registry import RULES
from tileport_skill.lint.run import findings
from tileport_skill.pipeline.roles import BRIEFS, SKILL, reading
from tileport_skill.pipeline.verdicts import Role, words
from tileport_skill.tilegym.operators import open_checkout, read_operators
from tileport_skill.tileir.verdicts import Equal
from tileport_skill.verify import verify_kernel

ROOT = Path(__file__).parents[2]
TEXTS = sorted([SKILL / "SKILL.md", *(SKILL / "roles").glob("*.md"), *(SKILL / "references").glob("*.md")])
UPSTREAM = {
    Role.ANALYZER: (14_893, 18_244),
    Role.KERNEL_WRITER: (24_952, 127_636),
    Role.IR_ANALYST: (11_270, 75_086),
    Role.HOST_BUILDER: (29_367, 99_427),
    Role.PERFORMANCE_VERIFIER: (17_246, 68_372),
    Role.PERFORMANCE_INVESTIGATOR: (9_817, 60_943),
}
"""Bytes in TileGym's own skill at 75a1430: the role's file, and all that its prompt tells it to read first."""
UPSTREAM_SKILL = 19_381


def front_matter() -> dict[str, str]:
    text = (SKILL / "SKILL.md").read_text(encoding="utf-8")
    found: dict[str, str] = yaml.safe_load(text.split("---\n")[1])
    return found


def test_the_skill_is_one_that_agents_load() -> None:
    front = front_matter()
    assert set(front) <= {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", front["name"])
    assert len(front["name"]) <= 64
    assert 1 <= len(front["description"]) <= 1024
    assert len(front["compatibility"]) <= 500
    assert len((SKILL / "SKILL.md").read_text().splitlines()) <= 500


@pytest.mark.parametrize("word", ["convert", "port", "translate", "cuTile", "Triton", "Rust", "kernels", "cutile-rs"])
def test_its_description_has_the_words_that_call_for_it(word: str) -> None:
    assert word in front_matter()["description"]


@pytest.mark.parametrize("role", BRIEFS, ids=str)
def test_a_role_reads_at_most_half_of_what_tilegyms_does(role: Role) -> None:
    own = (SKILL / BRIEFS[role].reads[0]).stat().st_size
    assert own <= UPSTREAM[role][0] / 2
    assert reading(role) <= UPSTREAM[role][1] / 2


def test_the_skill_itself_is_at_most_half_as_long() -> None:
    assert (SKILL / "SKILL.md").stat().st_size <= UPSTREAM_SKILL / 2


def test_the_readme_shows_what_each_role_reads() -> None:
    rows = [f"| {role} | {reading(role):,} | {UPSTREAM[role][1]:,} |" for role in BRIEFS]
    readme = (SKILL / "README.md").read_text(encoding="utf-8")
    assert "\n".join(rows) in readme


@pytest.mark.parametrize("role", BRIEFS, ids=str)
def test_a_roles_text_explains_every_verdict_it_may_give_and_no_other(role: Role) -> None:
    text = (SKILL / BRIEFS[role].reads[0]).read_text(encoding="utf-8")
    for verdict in words(role):
        assert f"`{verdict}`" in text
    others = {str(word) for other in BRIEFS for word in words(other)} - set(map(str, words(role)))
    assert not [word for word in others if f"`{word}`" in text]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_every_command_and_option_in_a_text_exists(path: Path) -> None:
    known = get_command(app)
    for line in re.findall(r"tileport-skill ([^`\n]+(?:\\\n[^`\n]+)*)", path.read_text(encoding="utf-8")):
        words_of = line.replace("\\\n", " ").split()
        command = known.commands.get(words_of[0])  # type: ignore[attr-defined]
        assert command is not None, line
        if words_of[0] == "ir":
            command = command.commands[words_of[1]]
        options = {name for parameter in command.params for name in parameter.opts}
        for word in words_of:
            if word.startswith("--"):
                assert word.rstrip(".,;") in {*options, "--help"}, line


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_every_text_that_is_named_is_there(path: Path) -> None:
    named = re.findall(r"(?<![\w/.])((?:kernel-language|host-code|tile-ir|example-\w+)\.md)", path.read_text())
    assert all((SKILL / "references" / name).is_file() for name in named)


def test_every_text_is_some_roles_reading() -> None:
    read = {SKILL / name for brief in BRIEFS.values() for name in brief.reads}
    assert read == {path for path in TEXTS if path.name != "SKILL.md"}


def blocks(name: str) -> tuple[str, str]:
    text = (SKILL / "references" / f"{name}.md").read_text(encoding="utf-8")
    return re.search(r"```python\n(.*?)```", text, re.DOTALL)[1], re.search(r"```rust\n(.*?)```", text, re.DOTALL)[1]  # type: ignore[index]


TEST = """
import pytest
import tilegym
import torch


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("backend", ["cutile"])
def test_op(dtype, backend):
    tilegym.set_backend(backend)
    tilegym.ops.{call}
"""
CALLS = {
    "floored": 'floored(torch.randn((1000,), device="cuda", dtype=dtype), 0.5)',
    "spread": 'spread(torch.randn((10, 100), device="cuda", dtype=dtype))',
}
EXAMPLES = {"floored": "example-pointers", "spread": "example-views"}


def test_the_worked_examples_are_equal_to_their_references(tmp_path: Path) -> None:
    root = tmp_path / "checkout"
    shutil.copytree(ROOT / "tests/data/checkout", root)
    for folder in ("tilegym/ops/cutile", "tests/ops", "tilegym/ops/cutile_rs"):
        for path in (root / folder).rglob("*.*"):
            if path.is_file() and path.name != "__init__.py":
                path.unlink()
    names = "\n".join(f"{name} = dispatch({name!r})" for name in CALLS)
    text = f"from tilegym.backend import dispatch\nfrom tilegym.ops.cutile import {', '.join(CALLS)}\n{names}\n"
    (root / "tilegym/ops/__init__.py").write_text(text)
    for name, call in CALLS.items():
        python, rust = blocks(EXAMPLES[name])
        (root / f"tilegym/ops/cutile/{name}.py").write_text(python)
        (root / f"tests/ops/test_{name}.py").write_text(TEST.format(call=call))
        (root / f"{name}.rs").write_text(rust)
    checkout = open_checkout(root)
    (captured,) = capture(checkout, read_operators(checkout), ["sm_90"], tmp_path / "out")
    emitter = Emitter(built_emitter())
    for name in CALLS:
        rows = [row for row in verify_kernel(captured, root / f"{name}.rs", emitter) if name in row.kernel]
        assert len(rows) == 2
        for row in rows:
            assert isinstance(row.verdict, Equal), row.verdict


@pytest.mark.parametrize("name", EXAMPLES.values())
def test_the_worked_examples_break_no_rule(name: str) -> None:
    python, rust = blocks(name)
    parts = {"kernel": Source(path="kernel.rs", text=rust), "reference": Source(path="reference.py", text=python)}
    assert findings([Port(parts=parts)], RULES) == []  # type: ignore[arg-type]
