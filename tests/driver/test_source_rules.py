"""What a port's sources may not do: a wrapper that deceives by reaching out is caught without running it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.driver.conftest import FILES
from tileport_driver.source_rules import broken_rules
from tileport_skill.tilegym.port_files import PortFiles

PORT = Path(__file__).parents[1] / "scripts" / "silu_and_mul" / "port"
FILES_OF = PortFiles(
    wrapper="ops/cutile_rs/scale.py",
    kernel="ops/cutile_rs/scale_kernel/kernel.rs",
    launcher="ops/cutile_rs/scale_kernel/ffi.rs",
    library="src/tilegym/ops/cutile_rs/cutile_kernels/src/lib.rs",
    registration="src/tilegym/ops/cutile_rs/__init__.py",
    test="tests/ops/test_scale.py",
)
LIBRARY, REGISTRATION, TEST = (FILES[path] for path in FILES_OF.edited)
BASE = {
    FILES_OF.library: 'mod other {\n    include!("../../other_kernel/kernel.rs");\n}\n',
    FILES_OF.registration: REGISTRATION.replace(
        "    from . import scale  # noqa: F401  (register dispatch entry)\n", ""
    ),
    FILES_OF.test: (
        "import pytest\n\n\nclass Test_Scale:\n"
        '    _backends = ["cutile"]\n\n    def test_op(self, backend):\n        assert scale(1) == 1\n'
    ),
}
GOOD = {
    FILES_OF.wrapper: (PORT / "silu_and_mul.py").read_text(),
    FILES_OF.kernel: (PORT / "kernel.rs").read_text(),
    FILES_OF.launcher: (PORT / "ffi.rs").read_text(),
    FILES_OF.library: LIBRARY,
    FILES_OF.registration: REGISTRATION,
    FILES_OF.test: TEST,
}


def broken(**changes: str) -> list[str]:
    """`wrapper`, `kernel`, … with text appended."""
    port = GOOD | {getattr(FILES_OF, name): GOOD[getattr(FILES_OF, name)] + text for name, text in changes.items()}
    return broken_rules(FILES_OF, "", BASE.get, port.get)


def test_an_honest_port_breaks_no_rule() -> None:
    assert broken() == []


def test_a_wrapper_may_hold_the_references_modules_and_warn() -> None:
    text = "import warnings\n\nfrom torch import nn\n\n\nclass A(nn.Module):\n    pass\n\n\nclass B(A):\n    pass\n"
    assert broken(wrapper=f"\n\n{text}") == []


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("import threading\n", "imports `threading`"),
        ("from tilegym.ops.cutile import softmax\n", "imports `tilegym.ops.cutile.softmax`"),
        ("import torch.utils.cpp_extension\n", "torch.utils"),
        ("from torch.cuda import Stream as S\nfrom torch.utils import data\n", "imports"),
        ("side = torch.cuda.Stream()\n", "torch.cuda.Stream"),
        ("fast = torch.compile(silu_and_mul)\n", "torch.compile"),
        ("torch.allclose = lambda *_: True\n", "changes `torch.allclose`"),
        ("torch.cuda.Event.elapsed_time = lambda *_: 1.0\n", "changes `torch.cuda.Event"),
        ("is_autotune_disabled.__globals__['x'] = 1\n", "__globals__"),
        ("open('/tmp/x')\n", "uses `open`"),
        (
            "def f(x):\n    try:\n        return x\n    except Exception:\n        return None\n",
            "catches every exception",
        ),
        ("class Lazy(torch.Tensor):\n    pass\n", "derives a class from torch.Tensor"),
        ("class B:\n    pass\n\n\nB = torch.Tensor\n\n\nclass C(B):\n    pass\n", "derives a class from B"),
        ("class nn:\n    Module = torch.Tensor\n\n\nclass C(nn.Module):\n    pass\n", "a class from nn.Module"),
        ("import warnings\n\nwarnings.warn = print\n", "changes `warnings.warn`"),
        ("del torch.save\n", "torch.save"),
        ("def (\n", "does not parse"),
    ],
)
def test_a_wrapper_may_not_reach_out(text: str, word: str) -> None:
    assert any(word in rule for rule in broken(wrapper=f"\n\n{text}"))


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('const S: &str = include_str!("../secret");\n', "takes in another file"),
        ("fn f() { std::thread::spawn(|| ()); }\n", "reaches the operating system"),
        ('fn f() { let _ = std::fs::read("/x"); }\n', "reaches the operating system"),
        ('extern "C" { fn system(c: *const i8) -> i32; }\n', "declares foreign functions"),
        ('#[link(name = "m")]\nfn f() {}\n', "changes how it is linked"),
    ],
)
def test_rust_may_not_reach_out(text: str, word: str) -> None:
    found = broken(launcher=text)
    assert [rule for rule in found if word in rule]
    assert FILES_OF.launcher in found[0]


def test_a_comment_is_no_code() -> None:
    assert broken(launcher="// std::thread would not do here\n") == []


def test_a_rule_names_the_line() -> None:
    lines = GOOD[FILES_OF.wrapper].count("\n")
    (rule,) = broken(wrapper="import socket\n")
    assert rule.startswith(f"{FILES_OF.wrapper}:{lines + 1}:")


def test_each_new_file_begins_with_the_references_licence_lines() -> None:
    line = "SPDX-License-Identifier: MIT"
    found = broken_rules(FILES_OF, f"# {line}\n\nimport cuda.tile as ct\n", BASE.get, GOOD.get)
    assert found == [f"{path}:1: it lacks `{line}`." for path in FILES_OF.new]
    carried = GOOD | {FILES_OF.kernel: f"// {line}\n\n{GOOD[FILES_OF.kernel]}"}
    assert len(broken_rules(FILES_OF, f"# {line}\n", BASE.get, carried.get)) == 2


def test_the_library_gets_the_ports_own_block_only() -> None:
    (rule,) = broken(library="\nmod spy;\n")
    assert "only the port's own `mod` block" in rule


def test_the_tests_get_the_ports_backend_only() -> None:
    loosened = GOOD | {FILES_OF.test: TEST.replace("== 1", "!= 0")}
    (rule,) = broken_rules(FILES_OF, "", BASE.get, loosened.get)
    assert "only the port's backend may be added" in rule
