"""Whose fault a build that failed is, by the file that its first error is in; and what the edits must hold."""

from __future__ import annotations

import pytest
from tests.skill.pipeline.conftest import Place

from tileport_skill.pipeline.validators.host import blame, check_host
from tileport_skill.pipeline.verdicts import Verdict
from tileport_skill.tilegym.port_files import port_files

ERROR = """\
   Compiling cutile-kernels v0.1.0
warning: unused
  --> src/../../scale_kernel/kernel.rs:1:1

error[E0283]: type annotations needed
  --> src/../../{file}:12:9
   |
12 |     let x = exti(y);

error: could not compile `cutile-kernels`
"""


@pytest.mark.parametrize(
    ("file", "owner"),
    [
        ("scale_kernel/kernel.rs", Verdict.FAIL_KERNEL),
        ("scale_kernel/ffi.rs", Verdict.FAIL_HOST),
        ("src/lib.rs", Verdict.FAIL_HOST),
        ("other_kernel/ffi.rs", Verdict.FAIL_ENVIRONMENT),
    ],
)
def test_the_first_error_names_the_owner(place: Place, file: str, owner: Verdict) -> None:
    place.begin()
    checkout, operator = place.work.place()
    problem = blame(ERROR.format(file=file), port_files(checkout, operator))
    assert problem.owner is owner
    assert "E0283" in problem.text


def test_what_a_port_lacks_is_named_before_anything_is_built(analyzed: Place) -> None:
    found = {problem.text: problem.owner for problem in check_host(analyzed.work).problems}
    assert found["tilegym/ops/cutile_rs/scale_kernel/kernel.rs is not there"] is Verdict.FAIL_KERNEL
    assert found["tilegym/ops/cutile_rs/scale.py is not there"] is Verdict.FAIL_HOST
    assert found["tilegym/ops/cutile_rs/__init__.py has no `import scale`"] is Verdict.FAIL_HOST
    assert found['tests/ops/test_scale.py has no `"cutile-rs"`'] is Verdict.FAIL_HOST
    assert not (analyzed.work.root / "logs").exists()
