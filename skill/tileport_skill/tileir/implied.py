"""Facts that hold without being promised: block numbers, loop indices, shapes and constants."""

from __future__ import annotations

from collections.abc import Iterable

from tileport_skill.tileir.facts import Fact, constant_has
from tileport_skill.tileir.keys import whole_number
from tileport_skill.tileir.numbering import Numbering


def implied(numbering: Numbering, number: int, fact: Fact, sizes: frozenset[int]) -> bool:
    """Whether whatever has `number` has `fact` in every run that has a meaning at all.

    `sizes` are the numbers used as a dimension or stride of a tensor view: those are never negative.
    """
    key = numbering.keys[number]
    if number in sizes and fact.kind == "at least" and fact.number is not None and fact.number <= 0:
        return True
    value = whole_number(key)
    if value is not None:
        return constant_has(value, fact)
    if key[0] == "result" and isinstance(key[1], int):
        producer = numbering.keys[key[1]][0]
        least = {"get_tile_block_id": 0, "get_num_tile_blocks": 1, "get_index_space_shape": 0}
        if isinstance(producer, str) and producer in least:
            return fact.kind == "at least" and fact.number is not None and fact.number <= least[producer]
    if key[0] == "index" and isinstance(key[2], int):
        return _index_has(numbering, key[2], fact)
    return False


def _index_has(numbering: Numbering, head: int, fact: Fact) -> bool:
    """A loop's index starts at the lower bound, grows by the step, and stays below the upper bound."""
    name, unsigned, *bounds = numbering.keys[head]
    if name != "for" or unsigned or fact.number is None:
        return False
    lower, upper, step = (bound if isinstance(bound, int) else -1 for bound in bounds)

    def has(bound: int, wanted: Fact) -> bool:
        return bound >= 0 and implied(numbering, bound, wanted, frozenset())

    if not has(step, Fact("at least", 1)):
        return False
    if fact.kind == "at most":
        most = _constant(numbering, upper)
        return most is not None and most - 1 <= fact.number
    if fact.kind == "at least":
        return has(lower, fact)
    return fact.kind == "multiple of" and has(lower, fact) and has(step, fact)


def _constant(numbering: Numbering, number: int) -> int | None:
    return whole_number(numbering.keys[number]) if number >= 0 else None


def sizes_of(numbering: Numbering, numbers: Iterable[int]) -> frozenset[int]:
    """The numbers that the tensor views among `numbers` use as dimension or stride."""
    found: set[int] = set()
    for number in numbers:
        key = numbering.keys[number]
        if key[0] == "tensor":
            for dims in key[3:]:
                if isinstance(dims, tuple):
                    found.update(dim for dim in dims if isinstance(dim, int))
    return frozenset(found)
