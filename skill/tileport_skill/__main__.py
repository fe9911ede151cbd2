"""`tileport-skill`: the commands an agent and the driver run."""

from __future__ import annotations

import sys

import typer

from tileport_skill.errors import TileportError
from tileport_skill.tileir.cli import ir_app

app = typer.Typer(no_args_is_help=True, help=__doc__)
app.add_typer(ir_app, name="ir")


def main() -> None:
    """Runs the command line; what users hear about goes to stderr without a traceback."""
    try:
        app()
    except TileportError as error:
        typer.echo(str(error), err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
