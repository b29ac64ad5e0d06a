"""Fetches a described asset in a process of its own: `python fetch_one.py ASSET.json [limit]`."""

import json
import resource
import signal
import sys
from pathlib import Path

from dialoscope.core.errors import DialoscopeError
from dialoscope.models.registry import Asset, File, IndexFile, IndexFiles, fetching


def read(path):
    described = json.loads(Path(path).read_text(encoding="utf-8"))
    source = described["sources"][0]
    pieces = tuple(IndexFile(**one) for one in source["pieces"])
    described["sources"] = (IndexFiles(pieces, source["prefix"]),)
    described["files"] = tuple(File(*one) for one in described["files"])
    return Asset(**described)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
    try:
        sys.stdout.write(str(fetching.fetch(read(sys.argv[1]))))
    except DialoscopeError as error:
        sys.exit(str(error))
