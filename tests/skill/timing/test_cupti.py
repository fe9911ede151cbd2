"""Activity records cut into calls by their markers; whatever is missing is an error, never a shorter list."""

from __future__ import annotations

import pytest

from tileport_skill.timing.inside.cupti import Span, TraceError, split

MARKER = "void at::cuda::spin_kernel(long)"


def spans(*names: str) -> list[Span]:
    """Each takes 10 ns and begins 5 ns after the one before."""
    return [Span(name, 15 * index, 15 * index + 10) for index, name in enumerate(names)]


def test_what_lies_between_two_markers_is_one_call() -> None:
    found = split(spans("fill", MARKER, "a", "b", MARKER, "fill", MARKER, "a", MARKER), 2)
    assert [(one.ns, one.names) for one in found] == [(20, ("a", "b")), (10, ("a",))]
    assert found[0].marker_ns == 10


def test_overlapping_kernels_count_in_full() -> None:
    together = [Span(MARKER, 0, 10), Span("a", 20, 120), Span("b", 30, 130), Span(MARKER, 200, 201)]
    assert split(together, 1)[0].ns == 200


def test_lost_markers_are_an_error() -> None:
    with pytest.raises(TraceError, match="recorded 3 markers where 4 were launched"):
        split(spans(MARKER, "a", MARKER, MARKER), 2)


def test_a_call_that_launches_nothing_is_an_error() -> None:
    with pytest.raises(TraceError, match="launched nothing on the device"):
        split(spans(MARKER, MARKER), 1)
