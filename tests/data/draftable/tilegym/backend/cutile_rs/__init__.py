"""Loader and tuner of the Rust library."""
