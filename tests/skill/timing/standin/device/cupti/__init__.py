"""As much of cupti-python as the tracer uses."""
