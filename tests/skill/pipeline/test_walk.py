"""A port through its roles by the commands, everything real but the roles: what they say is scripted."""

from __future__ import annotations

import json

from tests.skill.pipeline.conftest import KERNEL, Place

from tileport_skill.pipeline.machine import Run, Stop
from tileport_skill.pipeline.verdicts import Role, Verdict


def route(place: Place) -> list[tuple[str, str]]:
    return [(str(entry.role), str(entry.verdict)) for entry in place.work.history()]


def test_files_decide_the_route_and_not_what_is_said_of_them(analyzed: Place) -> None:
    place = analyzed
    place.write_kernel(lambda text: text.replace("tile * factor", "tile + factor"))
    said = place.submit("kernel-writer", "All is well.\n\nverdict: equal\n")
    assert "kernel-writer: not-equal (it said equal)" in said
    assert "different" in said
    place.submit("ir-analyst", "An addition for a product.\n\nevidence: ir/generated\nverdict: fail-kernel\n")
    generated = next((place.work.root / "ir/generated").iterdir()).relative_to(place.work.root)
    place.submit("ir-analyst", f"An addition for a product.\n\nevidence: {generated}\nverdict: fail-kernel\n")
    place.write_kernel()
    said = place.submit("kernel-writer", "Mended.\n\nverdict: equal\n")
    assert "equal by same graph" in said
    assert "interpreted, 1 of 1 kernels agree with PyTorch in the operator's own tests" in said
    assert "the checkout has no kernels crate to build it with" in said
    said = place.submit("host-builder", "Done.\n\nverdict: pass\n")
    assert "host-builder: fail-host (it said pass)" in said
    place.submit("host-builder", "Done, really.\n\nverdict: pass\n")
    assert route(place) == [
        ("preflight", "pass"),
        ("analyzer", "pass"),
        ("kernel-writer", "not-equal"),
        ("ir-analyst", "malformed"),
        ("ir-analyst", "fail-kernel"),
        ("kernel-writer", "equal"),
        ("host-builder", "fail-host"),
        ("host-builder", "fail-host"),
    ]
    done = place.run("next", "--json")
    assert done.exit_code == 10
    assert json.loads(done.output)["why"] == "host-builder has had its 2 runs"
    diagnosis = (place.work.root / "diagnosis.md").read_text()
    assert "scale.py is not there" in diagnosis
    assert "It said pass; the validators found otherwise." in diagnosis
    assert json.loads((place.work.root / "facts/analysis.json").read_text())["operator"] == "scale"
    for side in ("reference", "generated"):
        assert len(list((place.work.root / "ir" / side).iterdir())) > 1


def test_a_kernel_that_breaks_a_rule_is_not_equal_however_it_compiles(analyzed: Place) -> None:
    place = analyzed
    broken = 'const S: &str = include_str!("kernel.rs");\n'
    place.write_kernel(lambda text: text + broken)
    said = place.submit("kernel-writer", "verdict: equal\n")
    assert "[kernel-reaches-nothing]" in said
    assert place.work.history()[-1].verdict is Verdict.NOT_EQUAL


def test_a_role_that_writes_outside_its_files_has_to_undo_it(analyzed: Place) -> None:
    place = analyzed
    place.write_kernel()
    reference = place.repo / "tilegym/ops/cutile/scale.py"
    kept = reference.read_text()
    reference.write_text(kept + "# mine\n")
    assert "undo it: tilegym/ops/cutile/scale.py" in place.submit("kernel-writer", "verdict: equal\n")
    assert place.work.step() == Run(Role.KERNEL_WRITER, repair=True)
    assert "undo it" in place.run("next").output
    place.submit("kernel-writer", "verdict: equal\n")
    assert place.work.step() == Stop("kernel-writer left no report that can be read")
    assert "tilegym/ops/cutile/scale.py" in (place.work.root / "diagnosis.md").read_text()


def test_undone_it_goes_on(analyzed: Place) -> None:
    place = analyzed
    place.write_kernel()
    (place.repo / "stray.txt").write_text("x")
    place.submit("kernel-writer", "verdict: equal\n")
    (place.repo / "stray.txt").unlink()
    place.submit("kernel-writer", "verdict: equal\n")
    assert place.work.step() == Run(Role.HOST_BUILDER)
    assert place.work.history()[-1].tree[KERNEL]


def test_check_finds_the_same_and_records_nothing(analyzed: Place) -> None:
    place = analyzed
    place.write_kernel(lambda text: text.replace("tile * factor", "tile + factor"))
    before = place.work.history()
    done = place.run("check", "kernel-writer", "--json")
    assert done.exit_code == 10
    assert json.loads(done.output)["problems"][0]["owner"] == "fail-kernel"
    assert place.work.history() == before
