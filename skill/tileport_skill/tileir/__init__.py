"""Tile IR: read it, compare two kernels, run one on NumPy. READ FIRST: `ladder.py`, the rungs in order.

Text becomes records (`formats` → `parse` → `records`, back by `printing` and `encode`); records become a graph
(`graph`, over `keys`, `numbering`, `liveness`), which `rules` rewrite and `differences` reads; `search` runs both
sides (`inputs` → `interpret` → `semantics`, `access`, `memory`) until they part.
"""
