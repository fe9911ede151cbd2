"""The door to the backends."""

from tilegym.backend.dispatcher import dispatch, register_impl, set_backend

__all__ = ["dispatch", "is_backend_available", "register_impl", "set_backend"]


def is_backend_available(backend):
    return backend in ("cutile", "cutile-rs")
