"""Reference implementations."""

from . import centred, leaky, product, swapped  # noqa: F401
