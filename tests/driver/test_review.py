"""A port that stands in a commit becomes the patch that would bring it there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.driver.conftest import commit_all, write_files
from tileport_driver.git import resolve_commit
from tileport_driver.review import port_as_patch
from tileport_skill.errors import RequestError

PORT = {
    "src/tilegym/ops/cutile_rs/__init__.py",
    "src/tilegym/ops/cutile_rs/cutile_kernels/src/lib.rs",
    "src/tilegym/ops/cutile_rs/scale.py",
    "src/tilegym/ops/cutile_rs/scale_kernel/ffi.rs",
    "src/tilegym/ops/cutile_rs/scale_kernel/kernel.rs",
    "tests/ops/test_scale.py",
}


def test_the_patch_holds_the_ports_six_files_as_the_commit_has_them(target: Path, tmp_path: Path) -> None:
    changed = {"src/tilegym/ops/cutile_rs/scale_kernel/kernel.rs": "// of the pull request\n"}
    write_files(target, {**changed, "docs/scale.md": "The port of scale.\n", "setup.cfg": "[x]\n"})
    diff = port_as_patch(target, commit_all(target), "scale", tmp_path / "scratch").decode()
    assert {line.removeprefix("+++ b/") for line in diff.splitlines() if line.startswith("+++ ")} == PORT
    assert "+// of the pull request" in diff
    assert "+SECRET_OF_THE_PORT = 1" in diff


def test_an_operator_without_a_port_has_nothing_to_review(target: Path, tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="rms_norm has no cuTile Rust port"):
        port_as_patch(target, resolve_commit(target), "rms_norm", tmp_path / "scratch")


@pytest.mark.parametrize("text", ["def (:\n", "x = 1\0\n", "(" * 500 + ")" * 500])
def test_a_reference_that_does_not_parse_is_the_requests_fault(target: Path, tmp_path: Path, text: str) -> None:
    write_files(target, {"src/tilegym/ops/cutile/scale.py": text})
    with pytest.raises(RequestError, match="cannot be read"):
        port_as_patch(target, commit_all(target), "scale", tmp_path / "scratch")


def test_text_that_is_not_utf8_is_the_requests_fault(target: Path, tmp_path: Path) -> None:
    (target / "tests/ops/test_scale.py").write_bytes(b"\xff\xfe")
    with pytest.raises(RequestError, match="cannot be read"):
        port_as_patch(target, commit_all(target), "scale", tmp_path / "scratch")
