"""Registration."""

from tilegym.backend.dispatcher import register_impl

__all__ = ["register_impl"]
