"""Host code without its copies."""

from __future__ import annotations

from tileport_skill.tuning.copies import without_copies

TEXT = """\
def forward(q, k):
    q = q.transpose(1, 2).contiguous()
    k = k.contiguous() if not k.is_contiguous() else k
    é = "ü"; v = f(é).contiguous()
    return q.to(memory_format=torch.contiguous_format)


class F:
    def backward(self, dq):
        return dq.contiguous()
"""


def test_copies_go_and_nothing_else_does() -> None:
    text = without_copies(TEXT)
    assert "q = q.transpose(1, 2)\n" in text
    assert "k = k if not k.is_contiguous() else k\n" in text
    assert 'é = "ü"; v = f(é)\n' in text
    assert "torch.contiguous_format" in text
    assert "return dq.contiguous()" in text, "nobody tunes backward passes"


def test_text_without_copies_stays_as_it_is() -> None:
    assert without_copies("x = 1\n") == "x = 1\n"
