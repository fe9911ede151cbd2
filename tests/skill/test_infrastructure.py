"""What ports share: written once, recognised when there, never over somebody's own; and who needs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tileport_skill.errors import RequestError
from tileport_skill.infrastructure import SHARED_RUST, infrastructure_of, is_there, needed_by, new_texts
from tileport_skill.tilegym.operators import Checkout, open_checkout

LAUNCHING = "tilegym/backend/cutile_rs/launching.py"
FFI_UTIL = "tilegym/ops/cutile_rs/ffi_util.rs"


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    for folder in ("ops/cutile", "ops/cutile_rs", "backend/cutile_rs"):
        (tmp_path / "tilegym" / folder).mkdir(parents=True)
    (tmp_path / FFI_UTIL).write_text("pub struct TensorDesc;\n\n")
    return open_checkout(tmp_path)


def write(checkout: Checkout, texts: dict[str, str]) -> None:
    for path, text in texts.items():
        (checkout.root / path).write_text(text, encoding="utf-8")


def test_the_change_is_two_files_and_once_there_nothing_is_left_to_do(checkout: Checkout) -> None:
    assert not is_there(checkout)
    texts = new_texts(checkout)
    assert tuple(texts) == infrastructure_of(checkout).allowed == (LAUNCHING, FFI_UTIL)
    assert texts[FFI_UTIL].startswith("pub struct TensorDesc;\n\n// What drafted launchers share")
    assert all(f"fn {name}" in texts[FFI_UTIL] for name in SHARED_RUST)
    compile(texts[LAUNCHING], LAUNCHING, "exec")
    write(checkout, texts)
    assert is_there(checkout)
    assert new_texts(checkout) == {}


def test_half_of_it_or_a_function_of_that_name_is_refused(checkout: Checkout) -> None:
    write(checkout, {FFI_UTIL: "pub fn fits(x: i32) -> bool {}\n"})
    with pytest.raises(RequestError, match="has a function fits of its own"):
        new_texts(checkout)
    write(checkout, {FFI_UTIL: "", LAUNCHING: "# mine\n"})
    with pytest.raises(RequestError, match=r"launching\.py is there already"):
        new_texts(checkout)


def test_a_repository_without_a_crate_is_refused(checkout: Checkout) -> None:
    (checkout.root / FFI_UTIL).unlink()
    with pytest.raises(RequestError, match="no cuTile Rust crate"):
        new_texts(checkout)


def test_a_port_that_carries_its_own_needs_nothing_and_one_that_imports_does() -> None:
    own = "use crate::ffi_util::{TensorDesc, rc};\n/// Whether\nfn fits(array: &TensorDesc) {}\n"
    assert needed_by({"ffi.rs": own, "w.py": "import torch\n"}) == ()
    shared = "use crate::ffi_util::{TensorDesc, fits, rc};\n"
    wrapper = "from tilegym.backend.cutile_rs.launching import Launcher\n"
    assert needed_by({"ffi.rs": shared, "w.py": wrapper}) == ("ffi.rs", "w.py")
