"""The command line: each verb parses, calls the function of that name, and prints."""

import errno
import io
import os
import signal
import sys
from typing import Annotated, NoReturn

import typer

from dialoscope import __version__
from dialoscope.cli.agree import agree
from dialoscope.cli.assets import assets
from dialoscope.cli.audit import audit
from dialoscope.cli.augment import augment
from dialoscope.cli.compare import compare
from dialoscope.cli.correlate import correlate
from dialoscope.cli.doctor import doctor
from dialoscope.cli.help import Verb, VerbGroup
from dialoscope.cli.lint import lint
from dialoscope.cli.metrics import metrics
from dialoscope.cli.raters import raters
from dialoscope.cli.respond import respond
from dialoscope.cli.score import score
from dialoscope.cli.show import show
from dialoscope.cli.train import train
from dialoscope.cli.trust import trust
from dialoscope.cli.verify import verify
from dialoscope.core.errors import DialoscopeError
from dialoscope.core.progress import print_notice
from dialoscope.core.safe_text import printable

_INTERRUPTED = 128 + signal.SIGINT
_END_SIGNALS = [number for name in ("SIGTERM", "SIGHUP") if (number := getattr(signal, name, None))]
"""The signals that stop the workers and remove work folders."""
_FULL_OR_CLOSED = (errno.EPIPE, errno.ENOSPC, errno.EIO)

app = typer.Typer(
    name="dialoscope",
    cls=VerbGroup,
    help="Evaluate dialogue systems, and measure how far to trust the metrics.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
_VERBS = {
    "Score and compare": (score, show, compare, agree, audit, verify),
    "People": (correlate, raters, trust),
    "Systems": (respond, augment),
    "Models and data": (metrics, lint, doctor),
}
for panel, verbs in _VERBS.items():
    for verb in verbs:
        app.command(cls=Verb, rich_help_panel=panel)(verb)
app.add_typer(assets, name="assets", rich_help_panel="Models and data")
app.add_typer(
    train, name="train", help="Train models that metrics then use.", rich_help_panel="Models and data"
)


def _version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"dialoscope {__version__}\n")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    offline: Annotated[
        bool, typer.Option("--offline", help="Use no network, only the models and data on this machine.")
    ] = False,
) -> None:
    if offline:
        os.environ.update(DIALOSCOPE_OFFLINE="1", HF_HUB_OFFLINE="1")


def main() -> None:
    """Run the command line; errors that a user can correct are printed without a traceback."""
    for number in _END_SIGNALS:
        if signal.getsignal(number) is signal.SIG_DFL:  # not where it is ignored, as after nohup
            signal.signal(number, lambda number, _: sys.exit(128 + number))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # not every terminal has every character
    try:
        app()
    except DialoscopeError as error:
        _end(str(error))
    except OSError as error:
        _end(_describe(error))
    except (KeyboardInterrupt, SystemExit) as stop:  # typer makes the second of the first
        if isinstance(stop, SystemExit) and stop.code != _INTERRUPTED:
            raise
        if not _is_explained(stop):
            print_notice("Interrupted.")
        sys.exit(_INTERRUPTED)


def _is_explained(error: BaseException | None) -> bool:
    """Whether an interrupt has a note, in which the interrupted verb has said what happens to its work."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return bool(getattr(error, "__notes__", ()))


def _describe(error: OSError) -> str:
    """The message for an error of the operating system: files have names, streams have none."""
    reason = error.strerror or str(error) or type(error).__name__
    name = error.filename  # text, bytes, or the number of an open file
    if name is not None:
        return f"{printable(os.fsdecode(name) if isinstance(name, bytes) else str(name))}: {reason}."
    return f"The output cannot be written: {reason}." if error.errno in _FULL_OR_CLOSED else f"{reason}."


def _end(message: str) -> NoReturn:
    from dialoscope.cli.screen import complain

    complain(message)
    sys.exit(2)
