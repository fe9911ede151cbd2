"""A package as much like TileGym as tuning looks at: an operator with a tuned kernel, and another way to the result."""

from tilegym import ops as ops
