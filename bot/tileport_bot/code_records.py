"""What reviews and the drift watch write to GitHub and read from it: check runs, issues of our own, heads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

Conclusion = Literal["success", "failure", "neutral"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """A sentence beside a line of the code."""

    path: str
    line: int
    level: Literal["failure", "warning", "notice"]
    title: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRun:
    """One of a name and a commit: made again, it is the one there is that changes."""

    name: str
    head: str
    conclusion: Conclusion
    title: str
    summary: str
    annotations: tuple[Annotation, ...]


class PullHead(NamedTuple):
    """Where a pull request stands now."""

    head: str
    base: str
    base_sha: str
    is_open: bool
    branch: str = ""
    link: str = ""
    draft: bool = False


class OwnIssue(NamedTuple):
    """An issue that we opened ourselves."""

    number: int
    title: str
    body: str
    is_open: bool
