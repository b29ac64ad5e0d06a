"""The command line: each verb parses, calls the function of that name, and prints."""

import sys
from typing import Annotated

import typer

from dialoscope import __version__
from dialoscope.cli.lint import lint
from dialoscope.cli.metrics import metrics
from dialoscope.cli.score import score
from dialoscope.cli.show import show
from dialoscope.cli.verify import verify
from dialoscope.errors import DialoscopeError

app = typer.Typer(
    name="dialoscope",
    help="How good is a dialogue system, and how far can that number be trusted?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for verb in (score, show, verify, lint, metrics):
    app.command()(verb)


def _version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"dialoscope {__version__}\n")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line; what a user can put right is told without a traceback."""
    try:
        app()
    except DialoscopeError as error:
        from dialoscope.cli.screen import complain

        complain(str(error))
        sys.exit(2)
