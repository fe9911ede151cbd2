"""`tileport-skill ir` as a shell sees it: exit codes, one JSON document, a page, and no traceback."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from tileport_skill.__main__ import app


def call(*arguments: object):
    return CliRunner().invoke(app, ["ir", *map(str, arguments)])


@pytest.fixture
def files(gemm, tmp_path):
    """Bytecode files by name."""

    def write(name: str, content: bytes):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


def test_equal_kernels_exit_0_with_a_proof(files, gemm):
    a, b = files("a", gemm("a_times_b")), files("b", gemm("renamed"))
    done = call("compare", a, b, "--arch", "sm_90", "--json")
    assert done.exit_code == 0
    document = json.loads(done.stdout)
    assert document["verdict"] == "equal"
    assert document["proof"]["rung"] == "same cubin"
    assert document["witness"] is None


def test_different_kernels_exit_10_with_a_witness_that_can_be_replayed(files, gemm):
    a, b = files("a", gemm("a_times_b")), files("b", gemm("b_times_a"))
    done = call("compare", a, b, "--json")
    assert done.exit_code == 10
    document = json.loads(done.stdout)
    words = document["witness"]["inputs"]
    assert call("run", a, "--inputs", words).exit_code == 0
    again = call("run", b, "--like", a, "--inputs", words)
    assert again.exit_code == 10 or document["witness"]["where"].startswith("%")


def test_undecided_kernels_exit_11(files, gemm):
    a, b = files("a", gemm("a_times_b", symbol="one")), files("b", gemm("a_times_b", symbol="two"))
    assert call("compare", a, b).exit_code == 11


@pytest.mark.parametrize("content", [b"", b"not bytecode", b"\x7fTileIR\x00\x0d\x03\x00\x00"])
def test_unreadable_input_exits_12_and_says_so(files, gemm, content):
    a, b = files("a", gemm("a_times_b")), files("b", content)
    for arguments in (("compare", a, b), ("compare", b, a), ("run", b), ("compare", a, "/nowhere/at/all")):
        done = call(*arguments)
        assert done.exit_code == 12, done.output
        assert done.stderr.strip()
        assert "Traceback" not in done.output


@pytest.mark.parametrize("words", ["", "seed=x", "seed=1 style=odd grid=1,1,1", "seed=1 style=grid grid=0,1,1"])
def test_an_input_that_is_none_exits_12(files, gemm, words):
    assert call("run", files("a", gemm("a_times_b")), "--inputs", words).exit_code == 12


def test_the_page_holds_both_texts_and_the_differences(files, gemm, tmp_path):
    a, b = files("a", gemm("a_times_b")), files("b", gemm("b_times_a"))
    page = tmp_path / "page.html"
    call("compare", a, b, "--html", page)
    html = page.read_text()
    assert html.count("load_view_tko") >= 4
    assert 'class="wrong"' in html
    assert "<script>" in html
    assert "partition_view&lt;" in html  # text is escaped
