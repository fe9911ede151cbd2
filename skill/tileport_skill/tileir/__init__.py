"""Tile IR: read it, compare two kernels, run one on NumPy. READ FIRST: `ladder.py`, then `assemble.py`."""
