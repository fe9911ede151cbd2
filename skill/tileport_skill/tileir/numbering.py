"""Numbers for things: equal structure gets the equal number, on both sides of a comparison."""

from __future__ import annotations

from collections.abc import Callable

from tileport_skill.tileir.facts import Fact

Key = tuple[object, ...]
"""Structure: a name first, then numbers of other things, attributes and types."""

Simplify = Callable[["Numbering", Key], "int | Key | None"]
"""A rewrite: another key, the number of something that exists, or None where it does not apply."""


class Numbering:
    """Hash-consing. With `simplify`, each new key is first rewritten until no rule applies."""

    def __init__(self, simplify: Simplify | None = None) -> None:
        self.keys: list[Key] = []
        self.facts: dict[int, list[Fact]] = {}
        """What some side promises of a number outside every branch and loop."""
        self._numbers: dict[Key, int] = {}
        self._simplify = simplify

    def number(self, key: Key) -> int:
        """The number of `key`."""
        known = self._numbers.get(key)
        if known is not None:
            return known
        if self._simplify is not None:
            simpler = self._simplify(self, key)
            if simpler is not None:
                result = simpler if isinstance(simpler, int) else self.number(simpler)
                self._numbers[key] = result
                return result
        self.keys.append(key)
        self._numbers[key] = len(self.keys) - 1
        return len(self.keys) - 1
