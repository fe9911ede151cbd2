"""A kept call comes back as it was made, and what cannot be kept says why."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tileport_skill.correctness import calls
from tileport_skill.correctness.calls import CallStore, load_calls, map_tensors, tensors_in


def kept(folder: Path, *args: Any, **kwargs: Any) -> dict[str, Any]:
    CallStore(folder).keep("op", args, kwargs, (None, 1e-2))
    (call,) = load_calls(folder)
    return call


def test_values_strides_offsets_and_wishes_for_a_gradient_come_back(tmp_path: Path) -> None:
    given = torch.randn(4, 16)[:, 3:11].t().requires_grad_()
    (back,) = kept(tmp_path, given)["args"]
    assert torch.equal(back, given)
    assert (back.stride(), back.storage_offset()) == (given.stride(), given.storage_offset())
    assert back.requires_grad
    assert back.is_leaf


def test_tensors_that_share_memory_share_it_again(tmp_path: Path) -> None:
    whole = torch.randn(4, 8)
    one, other = kept(tmp_path, whole[:, :4], whole[:, 4:])["args"]
    one.fill_(7)
    assert one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()
    assert not (other == 7).any()


def test_keywords_nested_values_and_tolerances_come_back(tmp_path: Path) -> None:
    call = kept(tmp_path, [torch.ones(2), (3, None)], scale=0.5, dtype=torch.float16)
    assert call["kwargs"] == {"scale": 0.5, "dtype": torch.float16}
    assert call["args"][0][1] == (3, None)
    assert (call["name"], call["tolerances"]) == ("op", (None, 1e-2))


def test_two_calls_of_a_kind_are_enough_and_a_dozen_in_all(tmp_path: Path) -> None:
    store = CallStore(tmp_path)
    for rows in (2, 3, 4):
        store.keep("op", (torch.ones(rows, 2),), {}, None)
    assert len(load_calls(tmp_path)) == 2
    for flag in range(20):
        store.keep(f"op{flag}", (torch.ones(2, 2),), {}, None)
    assert len(load_calls(tmp_path)) == calls.MAX_CALLS


def test_an_argument_of_another_type_is_refused_by_name(tmp_path: Path) -> None:
    store = CallStore(tmp_path)
    store.keep("op", (torch.ones(2), SimpleNamespace()), {}, None)
    assert list(store.refused) == ["op: an argument of type SimpleNamespace cannot be kept"]
    assert load_calls(tmp_path) == []


def test_a_call_that_is_too_large_is_refused_with_its_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "MAX_BYTES", 1 << 20)
    store = CallStore(tmp_path)
    store.keep("op", (torch.empty(1 << 19, dtype=torch.float32),), {}, None)
    assert list(store.refused) == ["op: its tensors take 2 MiB, more than 1"]


def test_tensors_are_found_in_order_and_replaced_in_named_tuples_too() -> None:
    from collections import namedtuple

    pair = namedtuple("pair", "a b")
    value = {"x": [torch.zeros(1)], "y": pair(torch.ones(1), 2)}
    assert [float(tensor) for tensor in tensors_in(value)] == [0.0, 1.0]
    assert map_tensors(value, lambda tensor: "t") == {"x": ["t"], "y": pair("t", 2)}


def test_a_new_kind_takes_the_place_of_a_second_of_another_when_there_are_a_dozen(tmp_path: Path) -> None:
    store = CallStore(tmp_path)
    for mode in "abcdef":
        for size in (1, 2, 3):
            store.keep("op", (torch.zeros(size),), {"mode": mode}, None)
    for mode in "ghijklmn":
        store.keep("op", (torch.zeros(1),), {"mode": mode}, None)
    kept = [(call["kwargs"]["mode"], len(call["args"][0])) for call in load_calls(tmp_path)]
    assert len(kept) == 12
    assert sorted(mode for mode, _ in kept) == list("abcdefghijkl")
    assert [size for mode, size in kept if mode in "abcdef"] == [1] * 6
