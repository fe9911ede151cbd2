"""The judging that happens inside the acceptance container: build, then Tile IR. Writes what it found, decides nothing."""
