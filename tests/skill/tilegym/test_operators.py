"""Operators and their tests, read from sources alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tileport_skill.errors import RequestError
from tileport_skill.tilegym.operators import find_operator, open_checkout, read_operators
from tileport_skill.tilegym.port_files import port_files

KERNEL = "import cuda.tile as ct\n\n\n@ct.kernel\ndef k(x):\n    pass\n\n\n"


def checkout(root: Path, files: dict[str, str]) -> Path:
    for name, text in {"src/tilegym/ops/cutile_rs/__init__.py": "", **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def operator(name: str) -> str:
    return f'{KERNEL}@register_impl("{name}", backend="cutile")\ndef f(x):\n    return x\n'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return checkout(
        tmp_path,
        {
            "src/tilegym/ops/cutile/softmax.py": operator("softmax"),
            "src/tilegym/ops/cutile/activation/gelu.py": operator("gelu"),
            "src/tilegym/ops/cutile/rms_norm.py": operator("rms_norm"),
            "src/tilegym/ops/cutile/kernel_only.py": KERNEL,
            "src/tilegym/ops/cutile/registered_only.py": '@register_impl("x", backend="cutile")\ndef f(): ...\n',
            "tests/ops/test_softmax.py": "tilegym.ops.softmax(x)\n",
            "tests/ops/test_attention.py": "y = torch.softmax(x, -1)\n",
            "tests/ops/experimental/test_norm_backward.py": "tilegym.ops.rms_norm(x)\n",
            "tests/ops/test_activation.py": "run('gelu')\n",
        },
    )


def test_an_operator_is_a_module_with_kernels_and_a_dispatch_name(root: Path) -> None:
    assert [o.name for o in read_operators(open_checkout(root))] == ["gelu", "rms_norm", "softmax"]


def test_tests_are_those_named_after_it_or_calling_it(root: Path) -> None:
    found = {o.name: o.tests for o in read_operators(open_checkout(root))}
    assert found["softmax"] == ("tests/ops/test_softmax.py",)
    assert found["rms_norm"] == ("tests/ops/experimental/test_norm_backward.py",)


def test_without_such_a_test_any_that_mentions_it_is_taken(root: Path) -> None:
    found = {o.name: o.tests for o in read_operators(open_checkout(root))}
    assert found["gelu"] == ("tests/ops/test_activation.py",)


@pytest.mark.parametrize("spelling", ["rms_norm", "rmsnorm", "RMS-Norm", "Rms Norm"])
def test_rmsnorm_finds_rms_norm(root: Path, spelling: str) -> None:
    assert find_operator(read_operators(open_checkout(root)), spelling).name == "rms_norm"


def test_the_sixth_file_is_the_test_there_is_or_the_one_there_would_be(root: Path) -> None:
    opened = open_checkout(root)
    by_name = {o.name: o for o in read_operators(opened)}
    assert port_files(opened, by_name["softmax"]).test == "tests/ops/test_softmax.py"
    (root / "tests/ops/test_activation.py").unlink()
    gelu = next(o for o in read_operators(opened) if o.name == "gelu")
    assert port_files(opened, gelu).test == "tests/ops/test_gelu.py"


def test_a_folder_without_the_two_backends_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="not a TileGym checkout"):
        open_checkout(tmp_path)
