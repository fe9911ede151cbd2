"""What runs in the child that interprets kernels on CPU tensors."""
