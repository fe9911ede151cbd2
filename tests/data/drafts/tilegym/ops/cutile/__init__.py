"""Kernels of our own."""
