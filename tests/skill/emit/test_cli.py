"""`tileport-skill emit` as typed: one clear line for everything that a kernel.rs can be."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tileport_skill.__main__ import app
from tileport_skill.emit.cli import FAILED
from tileport_skill.errors import RequestError

CHECKOUT = Path(__file__).parents[2] / "data" / "checkout"
GOOD = (CHECKOUT / "tilegym" / "ops" / "cutile_rs" / "scale_kernel" / "kernel.rs").read_text(encoding="utf-8")
BODY = "let block: i32 = get_tile_block_id().0;"
SECOND_ENTRY = """
    #[cutile::entry()]
    pub unsafe fn other<E: ElementType, const TILE: i32>(
        x: &Tensor<E, { [-1] }>,
        y: &Tensor<E, { [-1] }>,
        factor: f32,
    ) {
        let _block: i32 = get_tile_block_id().0;
    }
}
"""
Emit = Callable[..., Result]


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(CHECKOUT, tmp_path_factory.mktemp("emit") / "repository"))


@pytest.fixture(scope="module")
def captured(repo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("captured")
    done = CliRunner().invoke(app, ["capture", "scale", "--repo", str(repo), "--out", str(out)])
    assert done.exit_code == 0, done.output
    return out


@pytest.fixture
def emit(repo: Path, captured: Path, tmp_path: Path, program: Path) -> Emit:
    def run(kernel: str, *more: str) -> Result:
        path = tmp_path / "kernel.rs"
        path.write_text(kernel, encoding="utf-8")
        given = ["--repo", str(repo), "--kernel", str(path), "--captured", str(captured), "--emitter", str(program)]
        out = ["--out", str(tmp_path / "out"), "--json", *more]
        return CliRunner().invoke(app, ["emit", "scale", *given, *out], catch_exceptions=False)

    return run


def problems(done: Result) -> set[str]:
    assert done.exit_code == FAILED, done.output
    found = {line["problem"] for line in json.loads(done.stdout)}
    assert all(len(problem) < 600 and "\n" not in problem for problem in found)
    return found


def test_a_good_kernel_is_emitted_for_every_captured_specialisation(emit: Emit, tmp_path: Path) -> None:
    done = emit(GOOD)
    assert done.exit_code == 0, done.output
    lines = json.loads(done.stdout)
    assert len(lines) == len({line["file"] for line in lines}) == 10
    assert all((tmp_path / "out" / line["file"]).stat().st_size for line in lines)


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        ("", r"no module is marked #\[cutile::module\]"),
        (GOOD.replace("#[cutile::entry(unchecked_accesses = true)]", ""), r"no function is marked #\[cutile::entry"),
        (GOOD.replace("factor: f32,", "factor f32,"), "line 11: "),
    ],
)
def test_a_file_that_cannot_be_read_is_a_request_error_with_its_line(emit: Emit, kernel: str, words: str) -> None:
    with pytest.raises(RequestError, match=words):
        emit(kernel)


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (
            GOOD.replace("const TILE: i32", "const TILE: i32, const MORE: i32"),
            "no constant of the reference is named MORE",
        ),
        (GOOD.replace("factor: f32,", "factor: f32, more: i32,"), "takes 'more', which the reference does not"),
        (GOOD.replace(BODY, 'let block: i32 = include_str!("/etc/hostname");'), "include_str"),
        (GOOD.replace(BODY, 'let block: i32 = panic!("no");'), "panic"),
        (GOOD.replace(BODY, "let block: i32 = no_such(1);"), "no_such"),
    ],
)
def test_a_kernel_that_does_not_fit_or_compile_is_one_line_for_each_launch(emit: Emit, kernel: str, words: str) -> None:
    (problem,) = problems(emit(kernel))
    assert words in problem


def test_two_entries_that_both_fit_are_told_apart_by_name_only(emit: Emit) -> None:
    both = GOOD.rstrip().removesuffix("}") + SECOND_ENTRY
    assert {line["entry"] for line in json.loads(emit(both).stdout)} == {"scale"}
    (problem,) = problems(emit(both.replace("fn scale<", "fn another<")))
    assert "could be any of another, other" in problem


def test_a_captured_folder_without_the_operator_says_how_to_make_it(emit: Emit, repo: Path, tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"capture.json does not exist\. Capture with `--out"):
        emit(GOOD, "--captured", str(tmp_path))
    with pytest.raises(RequestError, match=r"rows has no port here; name a kernel\.rs with --kernel"):
        CliRunner().invoke(app, ["emit", "rows", "--repo", str(repo)], catch_exceptions=False)
