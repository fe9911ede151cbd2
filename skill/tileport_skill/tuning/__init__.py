"""Tuning: a better choice for the same kernels, per architecture and class of shapes. READ FIRST: `tune.py`."""
