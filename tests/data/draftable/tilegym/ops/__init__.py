"""The operators."""

from tilegym.backend import dispatch
from tilegym.ops import cutile, cutile_rs  # noqa: F401

leaky = dispatch("leaky")
centred = dispatch("centred")
product = dispatch("product")
swapped = dispatch("swapped")
