"""A package in the form of TileGym, with kernels of our own: what the tests of capture and emission run on."""

from tilegym import ops
from tilegym.backend import set_backend

__all__ = ["ops", "set_backend"]
