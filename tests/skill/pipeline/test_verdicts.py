"""A report says one thing in one way, or it says nothing."""

from __future__ import annotations

import pytest

from tileport_skill.pipeline.verdicts import Role, Verdict, parse_verdict, words


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.PREFLIGHT])
def test_every_word_of_a_role_is_read(role: Role) -> None:
    for verdict in words(role):
        assert parse_verdict(f"Some text.\n\nverdict: {verdict}\n", role) is verdict


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no line"),
        ("All is well.", "no line"),
        ("verdict: equal\nverdict: blocked", "2 verdict lines"),
        ("verdict: equal\n\nVERDICT: equal", "2 verdict lines"),
        ("VERDICT: EQUAL", "is not `verdict: `"),
        ("Verdict: equal", "is not `verdict: `"),
        ("**verdict: equal**", "is not `verdict: `"),
        ("verdict: equal.", "is not `verdict: `"),
        ("verdict:equal", "is not `verdict: `"),
        ("verdict: equal or not-equal", "is not `verdict: `"),
        ("verdict: pass", "one of equal, not-equal, blocked"),
        ("verdict: malformed", "one of equal, not-equal, blocked"),
    ],
)
def test_anything_else_is_no_verdict(text: str, says: str) -> None:
    found = parse_verdict(text, Role.KERNEL_WRITER)
    assert not isinstance(found, Verdict)
    assert says in found
