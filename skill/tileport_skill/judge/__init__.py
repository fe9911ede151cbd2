"""What happens inside the acceptance container: build, then Tile IR. It writes what it found and decides nothing."""
