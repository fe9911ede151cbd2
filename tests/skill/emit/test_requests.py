"""Which entry a captured launch is compiled with."""

from __future__ import annotations

import dataclasses

from tests.skill.emit.test_mapping import GENERICS, LAUNCH, POINTER, SPECIALISATION, scalars

from tileport_skill.capture.records import Capture
from tileport_skill.emit.entries import Entry, KernelModule
from tileport_skill.emit.requests import requests_for


def test_where_several_entries_would_bind_the_chosen_one_is_asked_for_and_without_a_choice_none() -> None:
    first = Entry(name="first", parameters=(POINTER, *scalars("x_len", "x_stride", "n")), generics=GENERICS)
    modules = (KernelModule(name="m", entries=(first, dataclasses.replace(first, name="second"))),)
    captured = Capture(
        operators=("scale",),
        arch="sm_90",
        profile="h200",
        symbol="k",
        tests=(),
        launches=(LAUNCH,),
        specialisations=(SPECIALISATION,),
        versions={},
        seconds=0.0,
    )
    (asked,) = requests_for(captured, modules, chosen={SPECIALISATION.id: "second"})
    assert asked.request is not None
    assert asked.request.entry == "second"
    (undecided,) = requests_for(captured, modules)
    assert undecided.request is None
    assert "any of first, second" in undecided.reason
