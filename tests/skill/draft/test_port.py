"""The six files together, in a checkout of our own."""

from __future__ import annotations

import dataclasses
import hashlib
import shutil
from pathlib import Path

import pytest
from tests.skill.tuning.tables import drafted_table

from tileport_skill.draft.operator import KernelDraft
from tileport_skill.draft.port import check_vacant, draft_port, kernel_alone
from tileport_skill.errors import RequestError
from tileport_skill.tilegym.operators import Checkout, Operator, open_checkout

DATA = Path(__file__).parents[2] / "data" / "drafts"
PORTS = "tilegym/ops/cutile_rs"
TESTS = 'from tilegym.backend import is_backend_available\n\n_backends = ["cutile"]\n'
OPERATOR = Operator(
    name="drafted",
    aliases=("leaky", "rows"),
    reference="tilegym/ops/cutile/drafted.py",
    kernels=(),
    tests=("tests/ops/test_drafted.py",),
    ported=False,
)


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    for path, text in {
        OPERATOR.reference: (DATA / "host.py.txt").read_text(encoding="utf-8"),
        f"{PORTS}/__init__.py": 'if is_backend_available("cutile-rs"):\n    from . import matmul\n',
        f"{PORTS}/cutile_kernels/src/lib.rs": "mod matmul {\n}\n",
        "tests/ops/test_drafted.py": TESTS,
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    return open_checkout(tmp_path)


def test_a_port_is_six_files(checkout: Checkout, draft: KernelDraft) -> None:
    port = draft_port(checkout, OPERATOR, draft)
    assert port.refused is None
    assert set(port.files) == {
        f"{PORTS}/drafted.py",
        f"{PORTS}/drafted_kernel/kernel.rs",
        f"{PORTS}/drafted_kernel/ffi.rs",
        f"{PORTS}/cutile_kernels/src/lib.rs",
        f"{PORTS}/__init__.py",
        "tests/ops/test_drafted.py",
    }
    assert "mod drafted {" in port.files[f"{PORTS}/cutile_kernels/src/lib.rs"]
    assert "cutile-rs" in port.files["tests/ops/test_drafted.py"]


def test_a_tuning_table_ships_in_the_wrapper_for_the_very_kernel_that_is_delivered(
    checkout: Checkout, draft: KernelDraft
) -> None:
    reference = checkout.root / OPERATOR.reference
    lines = "# SPDX-FileCopyrightText: Copyright (c) 2025 Somebody\n#\n# SPDX-License-Identifier: MIT\n\n"
    reference.write_text(lines + reference.read_text(encoding="utf-8"), encoding="utf-8")
    table = drafted_table(of="_rows_kernel", where=((0, 0, 1, 9),))
    files = draft_port(checkout, OPERATOR, draft, table).files
    assert set(files) == set(draft_port(checkout, OPERATOR, draft).files), "still six files"
    delivered = files[f"{PORTS}/drafted_kernel/kernel.rs"].encode()
    assert hashlib.sha256(delivered).hexdigest() in files[f"{PORTS}/drafted.py"]
    empty = draft_port(checkout, OPERATOR, draft, dataclasses.replace(table, lines=())).files
    assert empty == draft_port(checkout, OPERATOR, draft).files


def test_new_files_stand_under_the_references_licence(checkout: Checkout, draft: KernelDraft) -> None:
    reference = checkout.root / OPERATOR.reference
    lines = "# SPDX-FileCopyrightText: Copyright (c) 2025 Somebody\n#\n# SPDX-License-Identifier: MIT\n\n"
    reference.write_text(lines + reference.read_text(encoding="utf-8"), encoding="utf-8")
    files = draft_port(checkout, OPERATOR, draft).files
    assert files[f"{PORTS}/drafted.py"].startswith(lines)
    for name in ("kernel.rs", "ffi.rs"):
        assert files[f"{PORTS}/drafted_kernel/{name}"].startswith(lines.replace("#", "//"))


def test_without_tests_there_are_five(checkout: Checkout, draft: KernelDraft) -> None:
    shutil.rmtree(checkout.root / "tests")
    assert len(draft_port(checkout, dataclasses.replace(OPERATOR, tests=()), draft).files) == 5


def test_host_code_that_is_refused_leaves_the_kernels_and_says_where(checkout: Checkout, draft: KernelDraft) -> None:
    reference = checkout.root / OPERATOR.reference
    text = reference.read_text(encoding="utf-8").replace("@ct.kernel(occupancy=2)", "@ct.kernel(occupancy=ct.x)")
    reference.write_text(text, encoding="utf-8")
    port = draft_port(checkout, OPERATOR, draft)
    assert list(port.files) == [f"{PORTS}/drafted_kernel/kernel.rs"]
    line = next(number for number, one in enumerate(text.splitlines(), 1) if "ct.x" in one)
    assert port.refused == f"the hint occupancy=ct.x ({OPERATOR.reference}:{line})"


def test_a_port_that_is_there_is_not_overwritten(checkout: Checkout) -> None:
    check_vacant(checkout, OPERATOR)
    wrapper = checkout.port_dir / "drafted.py"
    wrapper.write_text("mine\n", encoding="utf-8")
    with pytest.raises(RequestError, match=r"has a port here already: .*drafted\.py"):
        check_vacant(checkout, OPERATOR)
    assert wrapper.read_text(encoding="utf-8") == "mine\n"


def test_a_kernel_alone_is_one_file(checkout: Checkout, draft: KernelDraft) -> None:
    assert list(kernel_alone(checkout, OPERATOR, draft).files) == [f"{PORTS}/drafted_kernel/kernel.rs"]
