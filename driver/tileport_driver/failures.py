"""Failures of our machinery that may well be over when the same is tried again."""

from __future__ import annotations

from tileport_skill.errors import MachineryError


class Transient(MachineryError):
    """A daemon restarted, a model out of reach: retried with back-off, and never counted as an attempt."""
