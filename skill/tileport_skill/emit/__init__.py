"""Tile IR of a port's `kernel.rs` without a build per edit. Read `mapping.py` first."""

from tileport_skill.emit.program import Emitter, build_emitter

__all__ = ["Emitter", "build_emitter"]
