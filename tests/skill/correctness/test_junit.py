"""Reports of real pytest runs are read whole; anything else is refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tileport_skill.correctness.junit import key_of, read_junit

CASES = """
import pytest


class Test_Odd:
    @pytest.mark.parametrize("x", ["a::b", "[c]", "torch.float32", "d-é"])
    def test_passes(self, x):
        pass

    def test_fails(self):
        assert 1 == 2, "off by one"

    def test_skips(self):
        pytest.skip("no GPU")


@pytest.fixture
def broken():
    raise RuntimeError("fixture")


def test_breaks_down(broken):
    pass
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("root")
    (root / "tests" / "ops").mkdir(parents=True)
    for folder in (root / "tests", root / "tests" / "ops"):
        (folder / "__init__.py").touch()
    (root / "tests" / "ops" / "test_odd.py").write_text(CASES, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir=.", "--junitxml=report.xml"]
    (root / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    subprocess.run([*command, "-rA", "--collect-only", "tests"], cwd=root, check=True, capture_output=True)
    done = subprocess.run([*command, "-v", "tests"], cwd=root, capture_output=True, text=True)
    assert done.returncode == 1, done.stdout
    return root / "report.xml"


def test_outcomes_and_messages_are_those_of_pytest(report: Path) -> None:
    found = read_junit(report)
    outcomes = {key.split("::", 1)[1]: outcome for key, (outcome, _) in found.items()}
    assert outcomes["test_fails"] == "failed"
    assert outcomes["test_skips"] == "skipped"
    assert outcomes["test_breaks_down"] == "error"
    assert outcomes["test_passes[a::b]"] == outcomes["test_passes[[c]]"] == "passed"
    assert "off by one" in found["tests.ops.test_odd.Test_Odd::test_fails"][1]
    assert "no GPU" in found["tests.ops.test_odd.Test_Odd::test_skips"][1]


@pytest.mark.parametrize("parameter", ["a::b", "[c]", "torch.float32"])
def test_a_node_id_leads_to_its_case_in_the_report(report: Path, parameter: str) -> None:
    assert key_of(f"tests/ops/test_odd.py::Test_Odd::test_passes[{parameter}]") in read_junit(report)
    assert key_of("tests/ops/test_odd.py::test_breaks_down") in read_junit(report)


def test_a_case_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    case = '<testcase classname="a" name="b"/>'
    (tmp_path / "r.xml").write_text(f"<testsuites><testsuite>{case}{case}</testsuite></testsuites>", encoding="utf-8")
    with pytest.raises(ValueError, match=r"holds a::b twice"):
        read_junit(tmp_path / "r.xml")


def test_a_truncated_report_is_refused(report: Path, tmp_path: Path) -> None:
    content = report.read_bytes()
    (tmp_path / "r.xml").write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match="not a JUnit report"):
        read_junit(tmp_path / "r.xml")


@pytest.mark.parametrize("content", [b"", b"26 passed", b"\x7fELF"])
def test_what_is_no_xml_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "r.xml").write_bytes(content)
    with pytest.raises(ValueError, match="not a JUnit report"):
        read_junit(tmp_path / "r.xml")


def test_a_missing_report_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not a JUnit report"):
        read_junit(tmp_path / "r.xml")
