"""Loader and tuner of cuTile Rust libraries."""
