"""Who may have the bot do something: whoever GitHub itself lets write to the repository.

The permission asked for is the sender's, from GitHub's API at the time of the event. The `author_association`
in the event is not enough: a member of an organisation need not have write access to this repository.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from enum import StrEnum

from tileport_bot.events import Place

REMEMBERED_SECONDS = 60.0


class Permission(StrEnum):
    """As the API answers; `maintain` counts as `write` there, `triage` as `read`."""

    ADMIN = "admin"
    WRITE = "write"
    READ = "read"
    NONE = "none"


class Permissions:
    """Answers of GitHub's, remembered for a minute: somebody who loses access is not heard for long."""

    def __init__(self, ask: Callable[[str, str], Permission], *, now: Callable[[], float] = time.monotonic) -> None:
        self._ask = ask
        self._now = now
        self._known: dict[tuple[str, str], tuple[float, Permission]] = {}

    def of(self, repository: str, login: str) -> Permission:
        asked, permission = self._known.get((repository, login), (None, Permission.NONE))
        if asked is None or self._now() - asked >= REMEMBERED_SECONDS:
            permission = self._ask(repository, login)
            self._known = {key: kept for key, kept in self._known.items() if self._now() - kept[0] < REMEMBERED_SECONDS}
            self._known[repository, login] = (self._now(), permission)
        return permission


def why_not(place: Place, permission: Permission) -> str | None:
    """Why the sender may not ask for anything; None if they may."""
    if permission in (Permission.ADMIN, Permission.WRITE):
        return None
    return f"{place.sender} may not write to {place.repository} (permission: {permission})"
