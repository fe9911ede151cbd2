"""A stand-in for TileGym, of our own, on which the ports' wrappers run without a GPU: torch computes on the CPU."""
