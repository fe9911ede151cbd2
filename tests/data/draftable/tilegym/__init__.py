"""A package in the form of TileGym, with four operators of our own that are drafted whole."""

from tilegym import ops
from tilegym.backend import set_backend

__all__ = ["ops", "set_backend"]
