"""A first port, written by a program: so far its `kernel.rs`, translated from the Python source and proved."""
