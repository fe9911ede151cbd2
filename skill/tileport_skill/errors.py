"""The two ways things go wrong that a user hears about; everything else is a bug and keeps its traceback."""

from __future__ import annotations


class TileportError(Exception):
    """Base of both. Its text is shown to the user as it is, so it says what to do next."""


class RequestError(TileportError):
    """The request cannot be served as asked: unknown operator, unreadable file, a script that does not fit."""


class MachineryError(TileportError):
    """Our own machinery failed: no Docker, no disk, a tool that is missing. Costs no attempt, may be retried."""
