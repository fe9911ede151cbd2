"""The driver: one attempt at one operator, from a fresh checkout to an outcome. READ FIRST: attempt.py."""
