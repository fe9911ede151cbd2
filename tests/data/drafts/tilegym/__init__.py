"""A checkout of our own, with kernels for the translator."""
