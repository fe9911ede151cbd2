"""The two gates that need a GPU: packing what such a machine runs, running it, and judging what comes back."""
