"""A small repository in TileGym's form, written for these tests, as a real git repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from tileport_driver.git import run_git

FILES = {
    "src/tilegym/ops/cutile/scale.py": (
        "import cuda.tile as ct\nfrom tilegym.backend import register_impl\n\n\n"
        "@ct.kernel\ndef scale_kernel(x, y, TILE: ct.Constant[int]):\n    pass\n\n\n"
        '@register_impl("scale", backend="cutile")\ndef scale(x):\n    return x\n'
    ),
    "src/tilegym/ops/cutile/rms_norm.py": (
        "import cuda.tile as ct\nfrom tilegym.backend import register_impl\n\n\n"
        "@ct.kernel(occupancy=2)\ndef rms_kernel(x):\n    pass\n\n\n"
        '@register_impl("rms_norm", backend="cutile")\n@register_impl("get_rms_norm_module", "cutile")\n'
        "def rms_norm(x):\n    return x\n"
    ),
    "src/tilegym/ops/cutile/helpers.py": "def next_power_of_2(n):\n    return 1 << (n - 1).bit_length()\n",
    "src/tilegym/ops/cutile_rs/__init__.py": (
        "from tilegym.backend import is_backend_available\n\n"
        'if is_backend_available("cutile-rs"):\n'
        "    from . import other  # noqa: F401  (register dispatch entry)\n"
        "    from . import scale  # noqa: F401  (register dispatch entry)\n"
    ),
    "src/tilegym/ops/cutile_rs/scale.py": "SECRET_OF_THE_PORT = 1\n",
    "src/tilegym/ops/cutile_rs/scale_kernel/kernel.rs": "// the port's kernel\n",
    "src/tilegym/ops/cutile_rs/scale_kernel/ffi.rs": "// the port's launcher\n",
    "src/tilegym/ops/cutile_rs/cutile_kernels/Cargo.lock": "# lock\n",
    "src/tilegym/ops/cutile_rs/cutile_kernels/src/lib.rs": (
        'mod other {\n    include!("../../other_kernel/kernel.rs");\n}\n\n'
        'mod scale {\n    include!("../../scale_kernel/kernel.rs");\n    include!("../../scale_kernel/ffi.rs");\n}\n'
    ),
    "tests/ops/test_scale.py": (
        "import pytest\n\n\nclass Test_Scale:\n"
        '    _backends = ["cutile"]\n'
        '    if is_backend_available("cutile-rs"):\n        _backends = _backends + ["cutile-rs"]\n\n'
        "    def test_op(self, backend):\n"
        '        if backend == "cutile-rs" and True:\n            pytest.skip("not yet")\n'
        "        assert scale(1) == 1\n"
    ),
    ".gitattributes": "*.rs text eol=lf\n",
    ".gitignore": "target/\n__pycache__/\n",
}


def write_files(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def commit_all(root: Path, message: str = "Start") -> str:
    """Commits everything below `root`, a repository made if need be; gives the commit."""
    if not (root / ".git").exists():
        run_git("init", "--quiet", "--initial-branch=main", str(root))
    run_git("-C", str(root), "add", "-A", "-f")
    run_git("-C", str(root), "commit", "--quiet", "--no-verify", "-m", message)
    return run_git("-C", str(root), "rev-parse", "HEAD").decode().strip()


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """A target repository at its first commit."""
    root = tmp_path / "target"
    write_files(root, FILES)
    commit_all(root)
    return root
