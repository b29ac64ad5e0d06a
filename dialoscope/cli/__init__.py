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
from dialoscope.core.progress import notice
from dialoscope.core.safe_text import printable

_INTERRUPTED = 128 + signal.SIGINT
_END_SIGNALS = [number for name in ("SIGTERM", "SIGHUP") if (number := getattr(signal, name, None))]
"""Those after which workers are stopped and work folders removed."""
_FULL_OR_CLOSED = (errno.EPIPE, errno.ENOSPC, errno.EIO)

app = typer.Typer(
    name="dialoscope",
    help="How good is a dialogue system, and how far can that number be trusted?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for verb in (
    score,
    show,
    correlate,
    raters,
    agree,
    compare,
    trust,
    verify,
    respond,
    audit,
    augment,
    lint,
    metrics,
    doctor,
):
    app.command()(verb)
app.add_typer(assets, name="assets")
app.add_typer(train, name="train", help="Train models, which the metrics then use.")


def _version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"dialoscope {__version__}\n")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
    offline: Annotated[
        bool, typer.Option("--offline", help="Never touch the network; use what is on this machine.")
    ] = False,
) -> None:
    if offline:
        os.environ.update(DIALOSCOPE_OFFLINE="1", HF_HUB_OFFLINE="1")


def main() -> None:
    """Run the command line; what a user can put right is told without a traceback."""
    for number in _END_SIGNALS:
        if signal.getsignal(number) is signal.SIG_DFL:  # not where it is ignored, as after nohup
            signal.signal(number, lambda number, _: sys.exit(128 + number))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal need not know every character
    try:
        app()
    except DialoscopeError as error:
        _end(str(error))
    except OSError as error:
        _end(_told(error))
    except (KeyboardInterrupt, SystemExit) as stop:  # typer makes the second of the first
        if isinstance(stop, SystemExit) and stop.code != _INTERRUPTED:
            raise
        if not _is_explained(stop):
            notice("Interrupted.")
        sys.exit(_INTERRUPTED)


def _is_explained(error: BaseException | None) -> bool:
    """Whether an interrupt has a note: what was interrupted has then said what becomes of its work."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return bool(getattr(error, "__notes__", ()))


def _told(error: OSError) -> str:
    """What the system refused: a file has a name, a stream that ends or is full has none."""
    reason = error.strerror or str(error) or type(error).__name__
    name = error.filename  # text, bytes, or the number of an open file
    if name is not None:
        return f"{printable(os.fsdecode(name) if isinstance(name, bytes) else str(name))}: {reason}."
    return f"The output cannot be written: {reason}." if error.errno in _FULL_OR_CLOSED else f"{reason}."


def _end(complaint: str) -> NoReturn:
    from dialoscope.cli.screen import complain

    complain(complaint)
    sys.exit(2)
