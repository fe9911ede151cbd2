"""Runs inside the capturing child process: fakes a GPU, runs the operator's tests, records what they launch."""
