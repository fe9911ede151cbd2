"""Reading a TileGym checkout: which operators it has, and where a port of one would lie."""
