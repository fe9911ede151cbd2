"""The three edits in files as TileGym writes them: sorted, once, and refused where the place is not found."""

from __future__ import annotations

import pytest

from tileport_skill.draft.edits import with_backend, with_module, with_registration
from tileport_skill.errors import RequestError

LIBRARY = """#[path = "../../ffi_util.rs"]
mod ffi_util;

mod beta {
    include!("../../beta_kernel/kernel.rs");
    include!("../../beta_kernel/ffi.rs");
}

mod delta {
    include!("../../delta_kernel/kernel.rs");
    include!("../../delta_kernel/ffi.rs");
}
"""
PACKAGE = """from tilegym.backend import is_backend_available

if is_backend_available("cutile-rs"):
    from . import beta  # noqa: F401  (register dispatch entry)
    from . import delta  # noqa: F401  (register dispatch entry)
"""
TESTS = """import torch

from tilegym.backend import is_backend_available

_backends = ["cutile", "triton"]


class Test_One:
    _backends = ["cutile"]
    if is_backend_available("tilecpp"):
        _backends = _backends + ["tilecpp"]
    _perf_backends = _backends + ["pytorch"]
"""


@pytest.mark.parametrize(
    ("operator", "order"),
    [
        ("alpha", ["alpha", "beta", "delta"]),
        ("carrot", ["beta", "carrot", "delta"]),
        ("omega", ["beta", "delta", "omega"]),
    ],
)
def test_modules_and_imports_stay_sorted(operator: str, order: list[str]) -> None:
    library = with_module(LIBRARY, operator, "lib.rs")
    assert [line.split()[1] for line in library.splitlines() if line.startswith("mod ") and "{" in line] == order
    assert f'    include!("../../{operator}_kernel/ffi.rs");\n}}\n' in library
    package = with_registration(PACKAGE, operator, "__init__.py")
    assert [line.split()[3] for line in package.splitlines() if "from . import" in line] == order
    assert set(PACKAGE.splitlines()) < set(package.splitlines())


def test_a_module_goes_to_the_end_where_the_others_are_not_sorted() -> None:
    unsorted = LIBRARY.replace("beta", "zeta")
    assert with_module(unsorted, "gamma", "lib.rs").startswith(unsorted.rstrip())


def test_the_first_import_goes_under_the_condition() -> None:
    empty = "".join(line for line in PACKAGE.splitlines(keepends=True) if "from . import" not in line)
    assert with_registration(empty, "beta", "__init__.py").endswith(
        'if is_backend_available("cutile-rs"):\n    from . import beta  # noqa: F401  (register dispatch entry)\n'
    )


def test_the_backend_is_added_to_the_modules_list_and_to_each_classes() -> None:
    assert with_backend(TESTS, "test_one.py") == TESTS.replace(
        '_backends = ["cutile", "triton"]\n',
        '_backends = ["cutile", "triton"]\nif is_backend_available("cutile-rs"):\n'
        '    _backends = _backends + ["cutile-rs"]\n',
    ).replace(
        '        _backends = _backends + ["tilecpp"]\n',
        '        _backends = _backends + ["tilecpp"]\n    if is_backend_available("cutile-rs"):\n'
        '        _backends = _backends + ["cutile-rs"]\n',
    )


def test_a_list_that_has_the_backend_is_left_alone() -> None:
    once = with_backend(TESTS, "test_one.py")
    assert with_backend(once, "test_one.py") == once


def test_the_condition_is_imported_where_the_tests_do_not() -> None:
    without = TESTS.replace("from tilegym.backend import is_backend_available", "from tilegym import ops").replace(
        '    if is_backend_available("tilecpp"):\n        _backends = _backends + ["tilecpp"]\n', ""
    )
    added = with_backend(without, "test_one.py").splitlines()
    assert added.index("from tilegym.backend import is_backend_available") < added.index("class Test_One:")


def test_a_file_that_only_imports_the_package_gets_the_import_after_it() -> None:
    added = with_backend('import pytest\nimport tilegym\n\n_backends = ["cutile"]\n', "test_one.py")
    assert added.startswith("import pytest\nimport tilegym\nfrom tilegym.backend import is_backend_available\n")


@pytest.mark.parametrize(
    ("edit", "text", "says"),
    [
        (with_module, LIBRARY, "has a module beta already"),
        (with_registration, PACKAGE, "imports beta already"),
        (with_registration, "import torch\n", "has no `if"),
    ],
)
def test_a_file_that_is_not_as_expected_is_refused(edit: object, text: str, says: str) -> None:
    assert callable(edit)
    with pytest.raises(RequestError, match=says):
        edit(text, "beta", "some/file")


def test_tests_without_a_list_of_backends_are_refused() -> None:
    with pytest.raises(RequestError, match="has no list"):
        with_backend("import torch\n\nfrom tilegym import ops\n", "test_one.py")


def test_tests_that_call_the_reference_itself_are_refused_with_the_line() -> None:
    direct = TESTS + "    def test_op(self, backend):\n        tilegym.ops.cutile.one.one(2)\n"
    with pytest.raises(RequestError, match=r"test_one\.py:14, `test_op`, calls the reference's module itself"):
        with_backend(direct, "test_one.py")
