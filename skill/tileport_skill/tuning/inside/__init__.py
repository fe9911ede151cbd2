"""What runs where TileGym is imported: in the capture's child, and in processes with the GPU."""
