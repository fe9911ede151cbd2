"""Configurations made from the host code's own objects."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from tileport_skill.tuning.candidates import Value


def with_fields(configuration: Any, fields: Mapping[str, Value]) -> Any:
    """A copy of the host's own object with these values."""
    made = copy.copy(configuration)
    for name, value in fields.items():
        object.__setattr__(made, name, value)  # frozen dataclasses too
    return made
