"""What a capture says it was made from."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.skill.capture.conftest import CHECKOUT

from tileport_skill.capture.sources import kernel_sources, versions_of
from tileport_skill.tilegym.operators import open_checkout

MODULE = "tilegym.ops.cutile.padded"


def test_a_kernels_hash_changes_with_its_own_text_only(tmp_path: Path) -> None:
    checkout = open_checkout(Path(shutil.copytree(CHECKOUT, tmp_path / "repository")))
    before = kernel_sources(checkout, [MODULE, "tilegym.not_there"])
    path = checkout.reference_dir / "padded.py"
    path.write_text(
        path.read_text().replace("(64,)))\n\n\n@ct.kernel\ndef _wide", "(32,)))\n\n\n@ct.kernel\ndef _wide")
    )
    after = kernel_sources(checkout, [MODULE])
    assert (
        before.keys() == after.keys() == {(MODULE, name) for name in ("_narrow_kernel", "_wide_kernel", "padded_copy")}
    )
    assert {name for (_, name), digest in after.items() if before[MODULE, name] != digest} == {"_narrow_kernel"}


def test_commit_and_pinned_crates_are_told_where_they_can_be(tmp_path: Path) -> None:
    root = Path(shutil.copytree(CHECKOUT, tmp_path / "repository"))
    assert versions_of(open_checkout(root)) == {}
    crate = root / "tilegym" / "ops" / "cutile_rs" / "cutile_kernels"
    crate.mkdir()
    (crate / "Cargo.toml").write_text('[dependencies]\ncutile = "=0.2.0"\ncutile-compiler = { version = "=0.2.1" }\n')
    git = ["git", "-C", str(root), "-c", "user.name=n", "-c", "user.email=e@example.org"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "m"]):
        subprocess.run([*git, *command], check=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    expected = {"tilegym-commit": commit, "cutile": "=0.2.0", "cutile-compiler": "=0.2.1"}
    assert versions_of(open_checkout(root)) == expected
    subprocess.run([*git, "pack-refs", "--all"], check=True)
    assert versions_of(open_checkout(root)) == expected
    (root / ".git" / "HEAD").write_text("ref: refs/../../outside\n")
    assert "tilegym-commit" not in versions_of(open_checkout(root))
