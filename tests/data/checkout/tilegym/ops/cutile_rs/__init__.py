"""Ports: none yet."""
