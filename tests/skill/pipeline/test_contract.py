"""What belongs to a port is enumerated with writer and hash; what is missing is said, the rest counts for nothing."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from pydantic import TypeAdapter
from tests.skill.pipeline.conftest import GOOD, KERNEL, Place
from tests.skill.pipeline.test_work import entry

from tileport_skill.pipeline.contract import WANTED, Contract, contract_of, joined
from tileport_skill.pipeline.ending import conclude
from tileport_skill.pipeline.machine import Complete
from tileport_skill.pipeline.verdicts import Role, Verdict

FFI = "tilegym/ops/cutile_rs/scale_kernel/ffi.rs"
ALL = {
    **{wanted.patterns[0].replace("*", "x"): wanted.kind for wanted in WANTED},
    "performance/x/x": "performance log",
    "diagnosis.md": "diagnosis",
}


@pytest.fixture
def finished(place: Place) -> Place:
    """A port whose kernel the analyzer drafted and the writer changed; nothing was launched, so little is there."""
    place.begin()
    tree = dict(place.work.history()[0].tree)
    place.write_kernel()
    report = place.work.root / "reports/kernel-writer-1.md"
    report.parent.mkdir()
    report.write_text("verdict: equal\n")
    (report.parent / "nobody-1.md").write_text("verdict: pass\n")
    place.work.append(entry(2, Role.ANALYZER, Verdict.PASS, tree={**tree, KERNEL: "1"}))
    written = {**tree, KERNEL: "2"}
    place.work.append(entry(3, Role.KERNEL_WRITER, Verdict.EQUAL, tree=written, report="reports/kernel-writer-1.md"))
    place.work.append(entry(4, Role.HOST_BUILDER, Verdict.PASS, tree={**written, "x": "3"}))
    return place


def test_each_file_has_who_wrote_it_and_its_hash(finished: Place) -> None:
    path = conclude(finished.work, Complete("inconclusive"))
    found = {line.path: line for line in TypeAdapter(Contract).validate_json(path.read_bytes()).files}
    assert found[KERNEL].by == "kernel-writer"
    assert found[KERNEL].sha256 == hashlib.sha256(GOOD.encode()).hexdigest()
    assert found["tilegym/ops/cutile_rs/__init__.py"].by == "the checkout"
    assert found["history.jsonl"].by == "program"
    assert found["reports/kernel-writer-1.md"].by == "kernel-writer"
    assert found["reports/nobody-1.md"].by == "nobody that was asked"


def test_what_is_missing_is_said_with_the_reason(finished: Place) -> None:
    lacks = {lack.path: lack for lack in contract_of(finished.work, "inconclusive", finished.work.history()).missing}
    assert lacks[FFI].why == "a role leaves it"
    assert lacks["logs/build.log"].kind == "build log"
    assert lacks["performance/**/*"].why == "it needs a GPU"
    assert "port.json" not in lacks


def test_every_kind_of_the_table_is_looked_for_and_found_where_it_belongs(finished: Place) -> None:
    for name in ALL:
        path = finished.work.root / name.replace("**", "x")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.exists() or path.write_text("x")
    found = contract_of(finished.work, "accepted", finished.work.history())
    kinds = {line.path: line.kind for line in found.files}
    assert {name.replace("**", "x"): kind for name, kind in ALL.items()}.items() <= kinds.items()
    assert [lack.kind for lack in found.missing] == ["port"] * 3  # launcher, wrapper and library


def test_a_compiled_kernel_that_the_port_has_not_is_missing(finished: Place) -> None:
    for name in ("ir/reference/a.tileir", "ir/reference/b.tileir", "ir/generated/a.tileir"):
        path = finished.work.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    lacks = [lack.path for lack in contract_of(finished.work, "", finished.work.history()).missing]
    assert "ir/generated/b.tileir" in lacks
    assert "ir/generated/a.tileir" not in lacks


def test_what_nobody_asked_for_counts_for_nothing(finished: Place, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("key")
    for name in ("notes/idea.md", "logs/build.log.bak", "ir/other/a.tileir", "scratch/x.so"):
        path = finished.work.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    (finished.work.root / "transcript.jsonl").symlink_to(secret)
    found = contract_of(finished.work, "", finished.work.history())
    assert found.uncounted == ("ir/other/a.tileir", "logs/build.log.bak", "notes/idea.md")
    assert "transcript" in {lack.kind for lack in found.missing}


def test_what_others_kept_is_joined_and_no_longer_missing(finished: Place, tmp_path: Path) -> None:
    kept = tmp_path / "transcript.jsonl"
    kept.write_text("{}\n")
    before = contract_of(finished.work, "", finished.work.history())
    gone = ("performance log", "nothing", "the driver")
    after = joined(before, tmp_path, [("transcript", kept.name, "the broker"), gone])
    assert after.files[-1].by == "the broker"
    assert {lack.kind for lack in before.missing} - {lack.kind for lack in after.missing} == {"transcript"}
