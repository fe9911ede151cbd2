"""What the agent inside the container and the broker outside agree on; nothing else is shared between
them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

SOCKET_NAME = "broker.sock"
"""The socket's name in the directory that is mounted into the container. The directory is mounted and not the
socket, so that a socket made anew by a restarted driver is seen inside."""

TOKEN_VARIABLE = "TILEPORT_BROKER_TOKEN"
"""Environment variable with the attempt's throw-away token. It opens the broker and nothing else."""

REFUSAL_HEADER = "x-tileport-refusal"
"""Response header in which the broker says that the refusal is its own and final. The API's `message` texts
may change and must not be matched on, and its error types do not tell these cases apart."""

Refused = Literal["budget", "role-budget", "divergence"]
"""`budget`: tokens or money of the attempt are spent; `role-budget`: one role's share of them. `divergence`: the script
no longer fits."""

ROLE_HEADER = "x-tileport-role"
"""Request header with the role whose conversation it is: for the record and for the role's share of the budget. It goes
no further than the broker, and what all roles may spend together does not depend on it."""

CONTEXT_EDITING = "context-management-2025-06-27"
"""The API's name for the beta that `context_management` of a request is part of."""

_LONGEST_SOCKET_PATH = 107


def connectable(path: Path) -> str:
    """A name of `path` short enough for a socket address (the kernel takes 107 bytes); it leaks one
    descriptor where the path is longer, as the name must outlive the call."""
    if len(os.fsencode(path)) <= _LONGEST_SOCKET_PATH:
        return str(path)
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    return f"/proc/self/fd/{folder}/{path.name}"
