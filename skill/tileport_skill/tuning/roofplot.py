"""The roofline before and after, as a picture: one line a call, two dots on a scale from 0 to 1."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tileport_skill.pages.render import render
from tileport_skill.tuning.judged import Tuning

_TEMPLATE = Path(__file__).parent / "templates" / "roofs.svg.j2"
_LEFT, _PLOT, _RIGHT, _LINE, _TOP = 370, 440, 120, 24, 74


def roofs(tunings: Sequence[Tuning]) -> str:
    """Of every call whose choice is not the reference's own."""
    lines: list[dict[str, object]] = []
    y = _TOP
    for tuning in tunings:
        lines.append({"heading": tuning.operator, "y": y})
        y += _LINE
        for call in dict.fromkeys(row.call for row in tuning.rows):
            row = tuning.chosen(call)
            if row is None or row.before is None or row.after is None:
                continue
            lines.append(
                {
                    "name": call[:46],
                    "y": y,
                    "before": _LEFT + _PLOT * min(row.before, 1.0),
                    "after": _LEFT + _PLOT * min(row.after, 1.0),
                    "text": f"{row.before:.2f} → {row.after:.2f}",
                }
            )
            y += _LINE
    ticks = [{"x": _LEFT + _PLOT * step / 4, "text": f"{step / 4:g}"} for step in range(5)]
    return render(
        _TEMPLATE,
        width=_LEFT + _PLOT + _RIGHT,
        height=y + 50,
        left=_LEFT,
        plot=_PLOT,
        top=_TOP - 20,
        bottom=y,
        ticks=ticks,
        lines=lines,
    )
