"""One process at a time: a lock that the operating system takes back when its holder dies."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from dialoscope.progress import notice

_PAUSE = 0.1  # seconds between two tries


@contextmanager
def lock(path: Path, waiting: str) -> Iterator[None]:
    """Hold the lock of that file; where another process holds it, say so once and wait."""
    with path.open("a+b") as file:
        if not _acquired(file):
            notice(waiting)
            while not _acquired(file):
                time.sleep(_PAUSE)
        yield  # closing the file gives the lock back


if sys.platform == "win32":  # pragma: no cover - the tests run elsewhere
    import msvcrt

    def _acquired(file: IO[bytes]) -> bool:
        file.seek(0)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _acquired(file: IO[bytes]) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
