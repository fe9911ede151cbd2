"""Why a test failed, in the words that say most."""

from __future__ import annotations

import re


def with_launchers_words(reason: str, stderr: str) -> str:
    """TileGym's loader says of a launcher only that it failed; why is what the launcher wrote under its own name."""
    failed = re.search(r"(\w+) failed \(rc=", reason)
    said = [line for line in stderr.splitlines() if failed and line.startswith(f"{failed[1]}: ")]
    return f"{reason}; {said[-1]}"[:600] if said else reason
