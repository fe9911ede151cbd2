"""A stateful GitHub on loopback for tests, with a real git server behind it. READ FIRST: server.py."""
