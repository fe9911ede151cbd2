"""Events about code, to the review of a pull request or the watch over the default branch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tileport_bot.code_events import CodeEvent, PullChanged, Pushed
from tileport_bot.code_host import CodeHost
from tileport_bot.drift import Watch, watch
from tileport_bot.events import Ignored
from tileport_bot.review import Desk, review
from tileport_bot.reviewer import Judge


def about_code(
    host: CodeHost, judge: Judge | None, checkout: Path, event: CodeEvent, log: Callable[[str], None]
) -> str:
    """A line for the log."""
    if isinstance(event, Ignored):
        return f"ignored: {event.why}"
    if judge is None:
        return "ignored: code is not judged here"
    match event:
        case PullChanged():
            return review(Desk(host=host, judge=judge, checkout=checkout, log=log), event)
        case Pushed():
            return watch(Watch(host=host, judge=judge, checkout=checkout, log=log), event)
