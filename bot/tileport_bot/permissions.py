"""Who may have the bot do something: whoever GitHub itself lets write to the repository.

The permission asked for is the sender's, from GitHub's API at the time of the event. The `author_association`
in the event is not enough: a member of an organisation need not have write access to this repository.
"""

from __future__ import annotations

from enum import StrEnum

from tileport_bot.events import Place


class Permission(StrEnum):
    """As the API answers; `maintain` counts as `write` there, `triage` as `read`."""

    ADMIN = "admin"
    WRITE = "write"
    READ = "read"
    NONE = "none"


def why_not(place: Place, permission: Permission) -> str | None:
    """Why the sender may not ask for anything; None if they may."""
    if permission in (Permission.ADMIN, Permission.WRITE):
        return None
    return f"{place.sender} may not write to {place.repository} (permission: {permission})"
