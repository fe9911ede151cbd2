"""Rules on a port's sources, read without running them: `rules/` holds them, `registry.py` lists them."""
