"""Entries written from captured Tile IR, for kernels that translation refuses. READ FIRST: `route.py`."""
