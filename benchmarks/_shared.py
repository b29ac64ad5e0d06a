"""What benchmarks and scripts share: the parser of a benchmark, and the folder of the rated corpora."""

import os
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import NoReturn


def benchmark_parser(doc: str | None) -> ArgumentParser:
    """Return a parser with the option `--quick`, described by the first line of the benchmark's docstring."""
    parser = ArgumentParser(description=(doc or "").partition("\n")[0])
    parser.add_argument(
        "--quick", action="store_true", help="a small input: are results right, never mind the speed"
    )
    return parser


def corpora_folder() -> Path:
    """Return the folder that DIALOSCOPE_CORPORA names; without one the program ends with exit code 2."""
    text = os.environ.get("DIALOSCOPE_CORPORA")
    if not text:
        fail("Set DIALOSCOPE_CORPORA to the folder of the rated corpora (it holds a folder 'rated').")
    folder = Path(text)
    if not (folder / "rated").is_dir():
        fail(f"DIALOSCOPE_CORPORA is {text!r}, which holds no folder 'rated'.")
    return folder


def fail(message: str) -> NoReturn:
    """End the program with a message and exit code 2, as for an option that is wrong."""
    sys.stderr.write(f"{message}\n")
    sys.exit(2)
