"""What is refused before any work, and what a request holds."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tests.driver.conftest import FILES, commit_all, write_files
from tileport_driver.git import resolve_commit
from tileport_driver.requests import Order, make_request
from tileport_skill.errors import RequestError


def order(target: Path, operator: str = "scale", **more: object) -> Order:
    return Order(operator=operator, repository=target, engine="anthropic", **more)  # type: ignore[arg-type]


def test_a_request_pins_commit_and_reference(target: Path) -> None:
    request = make_request(order(target / "src"))
    assert request.repository == str(target)
    assert request.base_commit == resolve_commit(target)
    reference = FILES["src/tilegym/ops/cutile/scale.py"].encode()
    assert request.reference_hash == hashlib.sha256(reference).hexdigest()


@pytest.mark.parametrize("spelling", ["rms_norm", "rmsnorm", "RMS-Norm", "get_rms_norm_module"])
def test_case_underscores_and_hyphens_do_not_matter(target: Path, spelling: str) -> None:
    assert make_request(order(target, spelling)).operator == "rms_norm"


def test_an_unknown_operator_is_refused_with_the_nearest_names(target: Path) -> None:
    with pytest.raises(RequestError, match=r"No operator is named 'scael'\. The nearest: scale\."):
        make_request(order(target, "scael"))


def test_an_operator_without_a_reference_is_refused(target: Path) -> None:
    write_files(
        target,
        {"src/tilegym/ops/cutile_rs/lonely.py": '@register_impl("lonely", backend="cutile-rs")\ndef f(): ...\n'},
    )
    commit_all(target, "A port without a reference")
    with pytest.raises(RequestError, match="lonely has no cuTile Python reference"):
        make_request(order(target, "lonely"))


def test_a_name_that_two_operators_share_is_refused_naming_both(target: Path) -> None:
    text = FILES["src/tilegym/ops/cutile/scale.py"].replace('"scale"', '"get_rms_norm_module"')
    write_files(target, {"src/tilegym/ops/cutile/other.py": text})
    with pytest.raises(RequestError, match="more than one operator: other, rms_norm"):
        make_request(order(target, "get_rms_norm_module"))


def test_a_folder_that_is_no_repository_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="no git repository"):
        make_request(order(tmp_path))


def test_a_repository_that_is_not_tilegym_is_refused(tmp_path: Path) -> None:
    (tmp_path / "README").write_text("x")
    commit_all(tmp_path)
    with pytest.raises(RequestError, match="not a TileGym checkout"):
        make_request(order(tmp_path))


def test_an_unknown_commit_is_refused(target: Path) -> None:
    with pytest.raises(RequestError, match="no commit 'v9'"):
        make_request(order(target, base="v9"))


def test_a_reference_that_is_not_committed_is_refused(target: Path) -> None:
    write_files(target, {"src/tilegym/ops/cutile/fresh.py": FILES["src/tilegym/ops/cutile/scale.py"]})
    with pytest.raises(RequestError, match=r"fresh\.py is not part of commit"):
        make_request(order(target, "fresh"))


def test_a_script_that_cannot_be_read_is_refused_before_any_work(target: Path, tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="cannot be read"):
        make_request(Order(operator="scale", repository=target, engine="scripted", script=tmp_path))
