"""Every variation keeps what it promises: shapes or values, the wish for a gradient, and the caller's own tensors."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tileport_skill.correctness.calls import tensors_in
from tileport_skill.correctness.variations import VARIATIONS

RELAID = ("padded rows", "every other element", "transposed", "misaligned")


def source() -> torch.Generator:
    return torch.Generator().manual_seed(1)


def vary(name: str, *args: Any, **kwargs: Any) -> Any:
    return VARIATIONS[name]((args, kwargs), source())


@pytest.mark.parametrize("name", RELAID)
def test_new_memory_holds_the_same_values_and_asks_for_the_same_gradient(name: str) -> None:
    given = torch.randn(6, 5, 8, requires_grad=True)
    ((made,), _) = vary(name, given)
    assert torch.equal(made, given)
    assert made.requires_grad
    assert made.data_ptr() != given.data_ptr()


def test_padded_rows_lie_further_apart_with_nan_between_them() -> None:
    ((made,), _) = vary("padded rows", torch.ones(4, 8))
    assert made.stride() == (16, 1)
    assert made.as_strided((4, 16), (16, 1))[:, 8:].isnan().all()


def test_every_other_element_is_skipped() -> None:
    assert vary("every other element", torch.ones(4, 8))[0][0].stride() == (16, 2)


def test_a_transposed_tensor_has_its_last_dimensions_swapped_in_memory() -> None:
    assert vary("transposed", torch.ones(3, 4, 8))[0][0].stride() == (32, 1, 4)
    assert vary("transposed", torch.ones(8)) is None


def test_a_misaligned_tensor_begins_one_element_late() -> None:
    ((made,), _) = vary("misaligned", torch.ones(4, 8, dtype=torch.float16))
    assert made.storage_offset() == 1
    assert made.data_ptr() % 16 == 2
    assert made.is_contiguous()


def test_fresh_values_are_the_same_ones_in_another_order() -> None:
    given, index = torch.randn(6, 8, requires_grad=True), torch.arange(6)
    (made, kept), _ = vary("fresh values", given, index)
    assert not torch.equal(made, given)
    assert torch.equal(made.flatten().sort().values, given.flatten().sort().values)
    assert made.requires_grad
    assert torch.equal(kept, index)


def test_fresh_values_keep_the_layout() -> None:
    given = torch.randn(8, 6).t()
    assert vary("fresh values", given)[0][0].stride() == given.stride()


@pytest.mark.parametrize(("name", "size"), [("size 1", 1), ("ragged", 5), ("empty", 0)])
def test_the_first_dimension_is_shortened_wherever_it_occurs(name: str, size: int) -> None:
    given, other = torch.randn(6, 8, requires_grad=True), torch.randn(3, 8)
    (made, kept), rest = vary(name, given, other, residual=torch.ones(6, 8))
    assert torch.equal(made, given[:size])
    assert made.requires_grad
    assert kept.shape == (3, 8)
    assert rest["residual"].shape == (size, 8)


def test_ragged_rows_are_two_elements_shorter_where_one_tensor_is_all_there_is() -> None:
    given = torch.randn(4, 8, requires_grad=True)
    ((made,), _) = vary("ragged rows", given)
    assert torch.equal(made, given[:, :-2])
    assert made.requires_grad
    assert vary("ragged rows", given, torch.ones(8)) is None


@pytest.mark.parametrize("name", sorted(set(VARIATIONS) - {"large"}))
def test_the_callers_tensors_stay_as_they_are_and_plain_arguments_are_passed_on(name: str) -> None:
    given = torch.randn(6, 8)
    before = given.clone()
    args, kwargs = vary(name, given, 0.5, flag=True)
    assert torch.equal(given, before)
    assert tensors_in(args)[0].data_ptr() != given.data_ptr() or not tensors_in(args)[0].numel()
    assert (args[1], kwargs) == (0.5, {"flag": True})


@pytest.mark.parametrize("name", sorted(set(VARIATIONS) - {"large"}))
def test_the_same_seed_makes_the_same_arguments(name: str) -> None:
    given = torch.randn(6, 8)
    once, again = vary(name, given), vary(name, given)
    assert torch.equal(once[0][0], again[0][0])


def test_calls_without_tensors_and_large_calls_of_two_are_left_alone() -> None:
    assert all(vary(name, 3) is None for name in RELAID)
    assert vary("large", torch.ones(4, 4), torch.ones(4)) is None
    assert vary("large", torch.ones(4, 4, dtype=torch.int32)) is None
