"""`tileport-skill`: what agents, people and the driver run on one checkout. Each part brings its own commands."""

from __future__ import annotations

import sys

import typer

from tileport_skill import verify_cli
from tileport_skill.capture import cli as capture_cli
from tileport_skill.capture import survey_cli
from tileport_skill.draft import cli as draft_cli
from tileport_skill.draft import table_cli
from tileport_skill.emit import cli as emit_cli
from tileport_skill.errors import MachineryError, RequestError
from tileport_skill.lint import cli as lint_cli
from tileport_skill.pipeline import cli as pipeline_cli
from tileport_skill.tileir.cli import ir_app
from tileport_skill.timing import bench_cli
from tileport_skill.tuning import cli as tuning_cli

REQUEST_ERROR, MACHINERY_ERROR = 12, 13

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help=__doc__)
app.add_typer(ir_app, name="ir")
capture_cli.add_commands(app)
survey_cli.add_commands(app)
emit_cli.add_commands(app)
verify_cli.add_commands(app)
bench_cli.add_commands(app)
draft_cli.add_commands(app)
lint_cli.add_commands(app)
pipeline_cli.add_commands(app)
table_cli.add_commands(app)
tuning_cli.add_commands(app)


def main() -> None:
    """Runs the command line; what users hear about goes to stderr without a traceback."""
    try:
        app()
    except RequestError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(REQUEST_ERROR)
    except MachineryError as error:
        print(f"our machinery failed: {error}", file=sys.stderr)
        sys.exit(MACHINERY_ERROR)


if __name__ == "__main__":
    main()
