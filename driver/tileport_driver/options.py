"""Options that several commands share, and what they mean."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tileport_driver.requests import repository_root_of
from tileport_skill.errors import RequestError

INTERRUPTED = 130
"""Exit status of what a person stopped."""
Repo = Annotated[Path, typer.Option("--repo", help="A TileGym checkout, a git repository.")]
Declare = Annotated[
    bool, typer.Option("--declare", help="A draft may itself declare what cuTile Rust has no word for yet.")
]
HideTwins = Annotated[bool, typer.Option("--hide-twins", help="Hide every port that is a near twin of this one too.")]
Also = Annotated[list[str] | None, typer.Option("--also", help="Hide the port of this operator too; repeatable.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of a table.")]


def root(repo: Path) -> Path:
    """A repository's root from anywhere inside; a folder that is no repository may still be an unpacked wheel."""
    try:
        return repository_root_of(repo)
    except RequestError:
        return repo
