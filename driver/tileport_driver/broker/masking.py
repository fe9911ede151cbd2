"""Secrets taken out of whatever is written down: their exact values, and their base64 and hexadecimal forms.

A secret cut into pieces is not recognised here (`pieces.py` refuses a patch for one); that none gets into the container
in the first place is the container's and the broker's doing, and this is the second line.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from typing import Any

MASK = "[masked]"
_BREAK = r"(?:\s|\\n)*"
"""What may lie between two characters: `base64` and `fold` wrap their lines, and a line break inside a
string that is itself JSON is two characters."""


class Masks:
    """Replaces every secret it was made with; empty strings are no secrets."""

    def __init__(self, secrets: Iterable[str]) -> None:
        forms = {form for secret in secrets if secret for form in forms_of(secret)}
        # Longest first, so that a form which holds another is replaced whole.
        ordered = sorted(forms, key=lambda form: (-len(form), form))
        self._patterns = [re.compile(_BREAK.join(map(re.escape, form))) for form in ordered]

    def text(self, value: str) -> str:
        for pattern in self._patterns:
            value = pattern.sub(MASK, value)
        return value

    def json(self, value: Any) -> Any:
        """The same for every string in a JSON value, keys included."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(key): self.json(part) for key, part in value.items()}
        if isinstance(value, list):
            return [self.json(part) for part in value]
        return value


def forms_of(secret: str) -> set[str]:
    """The secret as it is, in hexadecimal and in base64."""
    data = secret.encode()
    forms = {secret, data.hex(), data.hex().upper()}
    for lead in range(3):
        # In base64 a secret looks different after 0, 1 or 2 bytes of something else; the characters at its
        # edges mix in the neighbours' bits and are left.
        encoded = base64.b64encode(b"\0" * lead + data).decode()
        core = encoded[(0, 2, 3)[lead] : (lead + len(data)) * 8 // 6]
        if len(core) >= 8:
            forms |= {core, core.replace("+", "-").replace("/", "_")}
    return forms
