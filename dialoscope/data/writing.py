"""Files that are there whole or not at all."""

import os
from collections.abc import Iterable
from pathlib import Path
from uuid import uuid4


def write_atomically(path: Path, lines: Iterable[bytes]) -> None:
    """Write a file beside its place, and put it there once it is on the disk."""
    beside = path.with_name(f".{path.name[:100]}.{uuid4().hex}")
    try:
        with beside.open("wb") as file:
            file.writelines(lines)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        if error.filename is not None:
            error.filename = str(path)  # the one beside it is nothing to whoever asked for this
        raise
    finally:
        beside.unlink(missing_ok=True)
