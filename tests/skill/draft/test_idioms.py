"""The functions that kernels share, taken from one file."""

from __future__ import annotations

from tileport_skill.draft.idioms import all_idioms, with_their_own


def names(texts: tuple[str, ...]) -> list[str]:
    return [next(line.split("fn ")[1].split("<")[0] for line in text.splitlines() if "fn " in line) for text in texts]


def test_an_idiom_brings_what_it_calls_and_nothing_else() -> None:
    found = names(with_their_own(["gather"], declare=False))
    assert found == ["unsigned_lanes", "inside", "addresses", "zero_of", "read_masked", "gather"]


def test_a_latency_stands_in_the_access_and_in_its_name() -> None:
    texts = with_their_own(["gather_unchecked_latency_3"], declare=False)
    assert "read_latency_3" in names(texts)
    assert "Latency::<3>" in "".join(texts)
    assert "Latency::<0>" not in "".join(texts)


def test_only_kernels_that_may_declare_operations_get_exact_constants() -> None:
    plain, declared = ("".join(with_their_own(["minus_infinity_of"], declare=d)) for d in (False, True))
    assert "convert_tile" in plain
    assert "cuda_tile.constant" not in plain
    assert "cuda_tile.constant" in declared


def test_every_idiom_says_what_it_is() -> None:
    assert all(text.startswith("///") for text in all_idioms().values())
