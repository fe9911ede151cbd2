"""Which other ports of a checkout are near twins of one operator's: measured on their texts, listed nowhere."""

from __future__ import annotations

import numpy as np

from tileport_driver.leaks.fingerprints import Shingles, shingles, words_of
from tileport_skill.tilegym.operators import Checkout, Operator
from tileport_skill.tilegym.port_files import PortFiles, port_files

_NEAR = 0.08
"""Share of the port's runs of words that another port has too; any two of TileGym's share 4 to 7 %."""


def near_twins(checkout: Checkout, operator: Operator, operators: tuple[Operator, ...]) -> dict[str, float]:
    """Other ports of the checkout that share more text with this one's than ports do anyway, and how much."""
    own = _shingles(checkout, port_files(checkout, operator))
    if not own.size:
        return {}
    others = {
        other.name: _shingles(checkout, port_files(checkout, other))
        for other in operators
        if other.name != operator.name and other.ported
    }
    shared = {name: len(np.intersect1d(own, theirs, assume_unique=True)) / len(own) for name, theirs in others.items()}
    return {name: share for name, share in sorted(shared.items()) if share >= _NEAR}


def _shingles(checkout: Checkout, files: PortFiles) -> Shingles:
    texts = [(checkout.root / path).read_bytes() for path in files.new if (checkout.root / path).is_file()]
    return np.unique(np.concatenate([shingles(words_of(text)) for text in texts] or [np.empty(0, np.uint64)]))
