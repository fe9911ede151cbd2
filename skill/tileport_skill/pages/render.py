"""Templates in, text out. HTML pages share one frame, one stylesheet and one set of parts.

A page is one file: it asks for nothing over the network, needs no script, and follows the reader's light or
dark setting. Markdown templates (`*.md.j2`) use the filters of `markdown.py`; in HTML everything is escaped.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from jinja2 import ChoiceLoader, Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from tileport_skill.pages import markdown

TEMPLATES = Path(__file__).parent / "templates"


def render(template: Path, **context: object) -> str:
    """The text of `template`, which may use everything in `TEMPLATES` and in its own folder."""
    return _environment(template.parent).get_template(template.name).render(**context)


@cache
def _environment(folder: Path) -> Environment:
    environment = Environment(
        loader=ChoiceLoader([FileSystemLoader(folder), FileSystemLoader(TEMPLATES)]),
        autoescape=lambda name: name is None or not name.endswith(".md.j2"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    for name in ("plain", "code", "cell", "fence"):
        environment.filters[f"md_{name}"] = getattr(markdown, name)
    environment.filters["html_prose"] = html_prose
    environment.filters["duration"] = duration
    # Our own file, the only text that enters a page unescaped.
    environment.globals["stylesheet"] = Markup((TEMPLATES / "style.css").read_text(encoding="utf-8"))
    return environment


def html_prose(text: str) -> Markup:
    """Escaped text in which the code spans of our own sentences, `` `like this` ``, are set as code."""
    parts = str(escape(text)).split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return Markup("".join(f"<code>{part}</code>" if index % 2 else part for index, part in enumerate(parts)))


def duration(seconds: float) -> str:
    """Seconds as people say them: `under 0.1 s`, `0.4 s`, `12 s`, `3 min 05 s`, `2 h 10 min`."""
    if seconds < 0.1:
        return "under 0.1 s"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
