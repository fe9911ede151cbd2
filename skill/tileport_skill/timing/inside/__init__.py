"""What runs in a process of its own with the GPU: needs the standard library, torch and cupti-python only."""
