"""Hostile ports, each of which one named check must reject, and honest ones, which must pass everything.

All are small edits of the port in `tests/scripts/silu_and_mul/port`. `python -m tests.hostile` runs them on a GPU.
"""
