"""The program: `python -m dialoscope`, and the command `dialoscope`.

This module imports next to nothing, so that Ctrl-C is answered with one line even while the command line is
being imported. An exception would be shown as a traceback there, or be lost.
"""

import _signal  # type: ignore[import-not-found] # signal itself, a file, takes long enough for Ctrl-C
import os
import sys

TYPE_CHECKING = False  # typing itself takes a while to import
if TYPE_CHECKING:
    from types import FrameType


def main() -> None:
    """Run the command line in a process of its own."""
    # As in the background of a script.
    ignored = _signal.getsignal(_signal.SIGINT) is not _signal.default_int_handler
    if not ignored:
        _signal.signal(_signal.SIGINT, _end_at_once)
    from dialoscope.cli import main as run

    try:
        if not ignored:
            sys.unraisablehook = _repeat_interrupt
            _signal.signal(_signal.SIGINT, _signal.default_int_handler)
        run()
    except KeyboardInterrupt:  # a second Ctrl-C during the answer to the first
        _end_at_once(_signal.SIGINT, None)
    finally:
        if not ignored:  # an exception while Python ends would be shown as a traceback
            _signal.signal(_signal.SIGINT, _signal.SIG_DFL)


def _end_at_once(number: int, frame: "FrameType | None") -> None:
    """End the process while there is nothing to clean up."""
    try:
        if sys.stderr is not None:
            os.write(sys.stderr.fileno(), b"Interrupted.\n")
    finally:
        os._exit(130)


def _repeat_interrupt(ignored: "sys.UnraisableHookArgs") -> None:
    """Send Ctrl-C again after it was lost in a callback, from which no exception gets out."""
    if not issubclass(ignored.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(ignored)
        return
    from threading import Timer

    Timer(0.01, os.kill, (os.getpid(), _signal.SIGINT)).start()


if __name__ == "__main__":
    main()
