"""Ports register themselves here."""

from tilegym.backend import is_backend_available

if is_backend_available("cutile-rs"):
    pass
