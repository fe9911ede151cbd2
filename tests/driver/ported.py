"""A repository in TileGym's form whose ports are as long as real ones: ours of `silu_and_mul`, under two names."""

from __future__ import annotations

from pathlib import Path

from tests.driver.conftest import FILES, commit_all, write_files

PORT = Path(__file__).parents[1] / "scripts" / "silu_and_mul" / "port"
KERNEL = "src/tilegym/ops/cutile_rs/silu_and_mul_kernel/kernel.rs"
WRAPPER = "src/tilegym/ops/cutile_rs/silu_and_mul.py"
SKILL = "skills/converting-to-cutile-rs"
LIBRARY = "src/tilegym/ops/cutile_rs/cutile_kernels/src/lib.rs"
REGISTRATION = "src/tilegym/ops/cutile_rs/__init__.py"


def kernel_text() -> str:
    return (PORT / "kernel.rs").read_text()


def ported_files() -> dict[str, str]:
    """By path: the port, and everything else of a repository that tells of it."""
    module = '\nmod silu_and_mul {\n    include!("../../silu_and_mul_kernel/kernel.rs");\n}\n'
    return {
        **FILES,
        "src/tilegym/ops/cutile/silu_and_mul.py": FILES["src/tilegym/ops/cutile/scale.py"].replace(
            "scale", "silu_and_mul"
        ),
        WRAPPER: (PORT / "silu_and_mul.py").read_text(),
        KERNEL: kernel_text(),
        "src/tilegym/ops/cutile_rs/silu_and_mul_kernel/ffi.rs": (PORT / "ffi.rs").read_text(),
        "src/tilegym/ops/cutile_rs/silu_and_mul_kernel/reference/analysis.json": '{"kernel": "silu_and_mul"}\n',
        LIBRARY: FILES[LIBRARY] + module,
        REGISTRATION: FILES[REGISTRATION] + "    from . import silu_and_mul  # noqa: F401\n",
        "tests/ops/test_silu_and_mul.py": FILES["tests/ops/test_scale.py"].replace("scale", "silu_and_mul"),
        "README.md": (
            "# TileGym\n\n`silu_and_mul` is an operator.\n\n## cuTile-rs\n\n```python\n"
            "import tilegym\n\nfrom tilegym.ops import silu_and_mul\n# now dispatches to the cuTile-rs kernel\n```\n"
        ),
        "README_fr.md": "# TileGym\n\nLe noyau cuTile-rs de `silu_and_mul` est écrit en Rust.\n\nUn autre alinéa.\n",
        f"{SKILL}/SKILL.md": (
            "# Skill\n\n- softmax is an example.\n- silu_and_mul is another.\n\n| op | how |\n|---|---|\n"
            "| softmax | rows |\n| silu_and_mul | columns |\n\n### The silu_and_mul example\n\nLong story.\n\n"
            "### Next\n"
        ),
        f"{SKILL}/examples/silu_and_mul/kernel.rs": "// an example\n" + kernel_text(),
        f"{SKILL}/scripts/check.sh": "#!/bin/sh\n# as silu_and_mul does\necho ok\n",
        "dist/tilegym-1.0-py3-none-any.whl": "a wheel",
        "build/lib/tilegym/ops/cutile_rs/silu_and_mul.py": "a copy of the wrapper\n",
    }


def ported_target(root: Path) -> Path:
    """The repository at its first commit; ignored files are committed too."""
    write_files(root, ported_files())
    commit_all(root)
    return root
