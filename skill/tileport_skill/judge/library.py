"""Where the kernels crate's shared library lies, for whoever builds, packs or loads it."""

from __future__ import annotations

from pathlib import Path

LIBRARY = Path("target/release/libcutile_kernels.so")
"""Relative to the crate, `cutile_kernels`."""
