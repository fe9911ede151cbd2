"""What hiding takes out of a repository, and what it leaves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.driver.conftest import commit_all, write_files
from tests.driver.ported import KERNEL, LIBRARY, REGISTRATION, SKILL, WRAPPER, kernel_text, ported_files, ported_target
from tileport_driver.checkout import clean_tree, delivery_tree, prepare_fingerprinted
from tileport_driver.git import open_trusted, resolve_commit, run_git
from tileport_driver.hide import apply_hiding, plan_hiding
from tileport_driver.near_twins import near_twins
from tileport_driver.patch import capture
from tileport_driver.records import AgentCheckout
from tileport_driver.requests import Order, make_request
from tileport_skill.tilegym.operators import find_operator, open_checkout, read_operators


@pytest.fixture(scope="module")
def hidden(tmp_path_factory: pytest.TempPathFactory) -> tuple[AgentCheckout, Path]:
    """`silu_and_mul` hidden: the record, and a folder with the agent's `tree` in it."""
    folder = tmp_path_factory.mktemp("hidden")
    target = ported_target(folder / "target")
    record, _ = prepare_fingerprinted(
        target, resolve_commit(target), "silu_and_mul", folder / "trusted.git", folder / "tree"
    )
    return record, folder


@pytest.mark.parametrize(
    ("path", "what"),
    [
        (WRAPPER, "file"),
        (KERNEL, "file"),
        ("src/tilegym/ops/cutile_rs/silu_and_mul_kernel/ffi.rs", "file"),
        ("src/tilegym/ops/cutile_rs/silu_and_mul_kernel/reference/analysis.json", "file"),
        ("build/lib/tilegym/ops/cutile_rs/silu_and_mul.py", "file"),
        (f"{SKILL}/examples/silu_and_mul/kernel.rs", "file"),
        ("dist/tilegym-1.0-py3-none-any.whl", "build product"),
        ("src/tilegym/ops/cutile_rs/cutile_kernels/Cargo.lock", "build product"),
        (LIBRARY, "lines"),
        (REGISTRATION, "lines"),
        ("tests/ops/test_silu_and_mul.py", "lines"),
        ("README.md", "lines"),
        ("README_fr.md", "lines"),
        (f"{SKILL}/SKILL.md", "lines"),
        (f"{SKILL}/scripts/check.sh", "lines"),
    ],
)
def test_everything_that_shows_or_tells_of_the_port_goes(
    hidden: tuple[AgentCheckout, Path], path: str, what: str
) -> None:
    record, folder = hidden
    assert {item.path: item.what for item in record.hidden}[path] == what
    assert (folder / "tree" / path).exists() == (what == "lines")


def test_nothing_else_goes(hidden: tuple[AgentCheckout, Path]) -> None:
    record, folder = hidden
    assert len(record.hidden) == 15
    gone = {item.path for item in record.hidden if item.what != "lines"}
    left = {path for path in ported_files() if (folder / "tree" / path).is_file()}
    assert left == set(ported_files()) - gone


def test_of_documents_the_passage_goes_and_the_rest_stands(hidden: tuple[AgentCheckout, Path]) -> None:
    tree = hidden[1] / "tree"
    assert (tree / "README.md").read_text() == (
        "# TileGym\n\n`silu_and_mul` is an operator.\n\n## cuTile-rs\n\n```python\nimport tilegym\n\n```\n"
    )
    assert (tree / "README_fr.md").read_text() == "# TileGym\n\n\nUn autre alinéa.\n"
    assert (tree / SKILL / "SKILL.md").read_text() == (
        "# Skill\n\n- softmax is an example.\n\n| op | how |\n|---|---|\n| softmax | rows |\n\n### Next\n"
    )
    assert (tree / SKILL / "scripts/check.sh").read_text() == "#!/bin/sh\necho ok\n"


def test_a_passage_that_repeats_the_ports_text_goes_whatever_it_calls_it(tmp_path: Path) -> None:
    target = ported_target(tmp_path / "target")
    quoted = "\n".join(f"    {line}" for line in kernel_text().splitlines()[60:90] if line.strip())
    write_files(target, {"docs/notes.md": f"# Notes\n\nA kernel I saw:\n\n{quoted}\n\nThe end.\n"})
    checkout = open_checkout(target)
    operator = find_operator(read_operators(checkout), "silu_and_mul")
    apply_hiding(target, plan_hiding(checkout, operator))
    assert (target / "docs/notes.md").read_text() == "# Notes\n\nA kernel I saw:\n\n\nThe end.\n"


def test_a_document_that_is_no_utf_8_keeps_its_other_bytes(tmp_path: Path) -> None:
    target = ported_target(tmp_path / "target")
    (target / "notes.txt").write_bytes(b"caf\xe9\r\n\r\ncutile-rs has silu_and_mul\r\n")
    checkout = open_checkout(target)
    edits = plan_hiding(checkout, find_operator(read_operators(checkout), "silu_and_mul"))
    apply_hiding(target, edits)
    assert (target / "notes.txt").read_bytes() == b"caf\xe9\r\n\r\n"


def test_an_operator_without_a_port_loses_no_file(tmp_path: Path) -> None:
    checkout = open_checkout(ported_target(tmp_path / "target"))
    edits = plan_hiding(checkout, find_operator(read_operators(checkout), "rms_norm"))
    assert {edit.hidden.what for edit in edits} == {"build product"}


def test_a_twin_named_is_hidden_too_and_in_the_judges_tree_as_well(tmp_path: Path) -> None:
    target = ported_target(tmp_path / "target")
    record, _ = prepare_fingerprinted(
        target, resolve_commit(target), "silu_and_mul", tmp_path / "trusted.git", tmp_path / "tree", ("scale",)
    )
    assert "src/tilegym/ops/cutile_rs/scale.py" in {item.path for item in record.hidden}
    assert "mod scale" not in (tmp_path / "tree" / LIBRARY).read_text()
    assert clean_tree(record, tmp_path / "trusted.git", tmp_path / "judge").write_tree() == record.agent_tree


def test_near_twins_are_measured_and_a_stranger_is_none(tmp_path: Path) -> None:
    target = ported_target(tmp_path / "target")
    twin = kernel_text().replace("silu_and_mul", "scale").replace("sigmoid", "tanh")
    write_files(target, {"src/tilegym/ops/cutile_rs/scale_kernel/kernel.rs": twin})
    commit_all(target, "A twin")
    checkout = open_checkout(target)
    operators = read_operators(checkout)
    assert list(near_twins(checkout, find_operator(operators, "silu_and_mul"), operators)) == ["scale"]
    assert near_twins(checkout, find_operator(operators, "rms_norm"), operators) == {}
    order = Order(operator="silu_and_mul", repository=target, engine="none", hide_twins=True)
    assert make_request(order).also_hidden == ("scale",)
    assert make_request(replace(order, hide_twins=False, also_hidden=("SCALE",))).also_hidden == ("scale",)


@pytest.mark.parametrize("also", [(), ("scale",)])
def test_what_is_delivered_changes_the_six_files_and_takes_no_document_along(
    tmp_path: Path, also: tuple[str, ...]
) -> None:
    target = ported_target(tmp_path / "target")
    trusted_dir, tree = tmp_path / "trusted.git", tmp_path / "tree"
    record, _ = prepare_fingerprinted(target, resolve_commit(target), "silu_and_mul", trusted_dir, tree, also)
    new = {
        KERNEL: "// another kernel\n",
        LIBRARY: (tree / LIBRARY).read_text() + "\nmod silu_and_mul {\n    // again\n}\n",
    }
    write_files(tree, new)
    patch, _ = capture(record, trusted_dir, tree, tmp_path / "aside")
    made = delivery_tree(record, trusted_dir, tmp_path / "delivery", patch)
    trusted = open_trusted(trusted_dir, tree)
    changed = trusted.run("diff", "--name-only", record.base_tree, made).decode().split()
    old = {WRAPPER, "src/tilegym/ops/cutile_rs/silu_and_mul_kernel/ffi.rs"}
    assert set(changed) == {KERNEL, LIBRARY, REGISTRATION, "tests/ops/test_silu_and_mul.py"} | old
    library = trusted.run("show", f"{made}:{LIBRARY}").decode()
    assert "mod scale" in library
    assert library.count("mod silu_and_mul") == 1
    assert run_git("-C", str(target), "status", "--porcelain") == b""
