"""Operators of suites: named after suite and module, with the test files that exercise them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tileport_skill.tilegym.operators import find_operator, open_checkout
from tileport_skill.tilegym.suites import read_suites

KERNEL = "import cuda.tile as ct\n\n\n@ct.kernel\ndef _k(x):\n    pass\n\n\n"


def registered(*names: str) -> str:
    return KERNEL + "".join(
        f'@register_impl("{name}", backend="cutile")\ndef f(x):\n    return x\n\n\n' for name in names
    )


@pytest.fixture
def root(tmp_path: Path) -> Path:
    files = {
        "src/tilegym/ops/cutile/__init__.py": "",
        "src/tilegym/ops/cutile_rs/__init__.py": "",
        "src/tilegym/suites/liger/cutile/rope.py": registered("liger.rope"),
        "src/tilegym/suites/liger/cutile/llama4_rope.py": registered("liger.llama4_rope"),
        "src/tilegym/suites/liger/cutile/utils.py": KERNEL,
        "src/tilegym/suites/flashinfer/cutile/gemm/masked_bmm.py": registered("flashinfer.gemm.masked_bmm"),
        "src/tilegym/suites/flashinfer/cutile/decode.py": registered("flashinfer.attention.decode_paged"),
        "tests/suites/liger/test_rope.py": "rope(x)\n",
        "tests/suites/liger/test_llama4_rope.py": "llama4_rope(x)\n",
        "tests/suites/flashinfer/test_flashinfer_masked_bmm.py": "",
        "tests/suites/flashinfer/test_attention.py": "ops.decode_paged(x)\n",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_each_registering_module_is_one_with_its_tests(root: Path) -> None:
    found = {o.name: [Path(test).name for test in o.tests] for o in read_suites(open_checkout(root))}
    assert found == {
        "flashinfer.decode": ["test_attention.py"],
        "flashinfer.masked_bmm": ["test_flashinfer_masked_bmm.py"],
        "liger.llama4_rope": ["test_llama4_rope.py"],
        "liger.rope": ["test_rope.py"],
    }


def test_they_are_found_by_either_name(root: Path) -> None:
    suites = read_suites(open_checkout(root))
    assert find_operator(suites, "liger.rope").kernels == ("_k",)
    assert find_operator(suites, "flashinfer.gemm.masked_bmm").name == "flashinfer.masked_bmm"
