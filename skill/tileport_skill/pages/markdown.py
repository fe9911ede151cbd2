"""Markdown that stays what it was meant to be, whatever text is put into it.

File names, log lines and label texts come from other people: they must not close a fence, open an HTML tag,
notify anybody, or make a comment longer than GitHub takes.
"""

from __future__ import annotations

import re

COMMENT_LIMIT = 65_536
"""GitHub answers 422 to a comment or pull request body of more characters than this."""

_CODE_SPAN = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_CONTROL = re.compile(
    r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]"
)
_SECRET = re.compile(
    r"\b(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|sk-ant-[\w-]{8,}|AKIA[A-Z0-9]{16})|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"
)


def clean(text: str) -> str:
    """`text` without terminal colours, control and direction characters; what looks like a key is masked."""
    return _SECRET.sub("[masked]", _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n")))


def plain(text: str) -> str:
    """One line of prose; its code spans stay, everything else that Markdown or GitHub acts on does not."""
    line = " ".join(clean(text).split())
    parts, at = [], 0
    for span in _CODE_SPAN.finditer(line):
        parts += [_escape(line[at : span.start()]), code(span.group(2).strip())]
        at = span.end()
    return "".join([*parts, _escape(line[at:])])


def code(text: str) -> str:
    """One line as a code span, with more backticks around it than it holds in a row."""
    line = " ".join(clean(text).split()) or " "
    ticks = "`" * (_longest_run(line) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def cell(markdown: str) -> str:
    """Markdown made fit for one cell of a table: GitHub splits cells at `|` even inside code spans."""
    return " ".join(markdown.replace("|", "\\|").split())


def fence(text: str, language: str = "", *, max_lines: int = 400, max_chars: int = 20_000) -> str:
    """A fenced block that `text` cannot close. Of too long a text the middle is left out, and it says so."""
    body = shorten(clean(text).strip("\n"), max_lines=max_lines, max_chars=max_chars)
    ticks = "`" * max(3, _longest_run(body) + 1)
    return f"{ticks}{language}\n{body}\n{ticks}"


def shorten(text: str, *, max_lines: int, max_chars: int) -> str:
    """The head and the tail of `text`; the tail is the longer half, because logs end with what went wrong."""
    lines = [line if len(line) <= 400 else f"{line[:399]}…" for line in text.split("\n")]
    if len(lines) > max_lines:
        head, tail = max_lines // 3, max_lines - max_lines // 3
        lines = [*lines[:head], f"… {len(lines) - head - tail} lines left out …", *lines[-tail:]]
    short = "\n".join(lines)
    if len(short) <= max_chars:
        return short
    head, tail = max_chars // 3, max_chars - max_chars // 3
    return f"{short[:head]}\n… {len(short) - head - tail} characters left out …\n{short[-tail:]}"


def fit(body: str, limit: int = COMMENT_LIMIT) -> str:
    """`body` if it is short enough, else its beginning with every open fence and `<details>` closed."""
    if len(body) <= limit:
        return body
    note = "\n\n*Cut here: GitHub takes no longer text. The whole record lies in the attempt's folder.*\n"
    kept = body[: limit - 400 - len(note)].rsplit("\n", 1)[0]
    return f"{kept}\n{_closing(kept)}{note}"


def _closing(text: str) -> str:
    fence_open, details = "", 0
    for line in text.split("\n"):
        mark = re.match(r" {0,3}(`{3,}|~{3,})(.*)$", line)
        if fence_open:
            if mark and mark[1].startswith(fence_open) and not mark[2].strip():
                fence_open = ""
        elif mark:
            fence_open = mark[1]
        else:
            details += len(re.findall(r"<details\b", line)) - line.count("</details>")
    return (f"{fence_open}\n" if fence_open else "") + "\n</details>\n" * max(0, details)


def _escape(text: str) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;")
    text = re.sub(r"([\\`*\[\]|~]|^[#>+-]+(?=\s|$)|!(?=\[))", r"\\\1", text)
    text = re.sub(r"^(\d+)([.)])(?=\s|$)", r"\1\\\2", text)
    # Underscores inside a word mean nothing to GitHub; those at its ends would start or end emphasis.
    text = re.sub(r"(?<![A-Za-z0-9_])_+|_+(?![A-Za-z0-9_])", lambda found: "\\_" * len(found.group()), text)
    # GitHub resolves @name, #12 and GH-12 after Markdown is done: only a character in between stops it.
    return re.sub(r"@(?=\w)|#(?=\d)|\bGH-(?=\d)", lambda found: f"{found.group()}\u200b", text)


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall(r"`+", text)), default=0)
