"""What benchmarks and scripts share: arguments, the rated corpora, timing, and how a program ends."""

import json
import os
import resource
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn, TypeVar

T = TypeVar("T")

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = ROOT / "examples" / "sample.jsonl"
RATED_PAIRS = (
    "grade/grade_*.jsonl",
    "usr_personachat/data.jsonl",
    "fbd/fbd_dailyz.jsonl",
    "fbd/fbd_personaz.jsonl",
)
"""Files below `rated` whose replies have references, as patterns."""
QUICK_DIALOGUES = 60
"""The number of dialogues in each file of dialogues that `quick_corpora` makes."""

_temporary: list[tempfile.TemporaryDirectory[str]] = []
"""Folders that are removed when the program ends."""


def benchmark_parser(doc: str | None) -> ArgumentParser:
    """Return a parser with the option `--quick`, described by the first line of the benchmark's docstring."""
    parser = ArgumentParser(description=(doc or "").partition("\n")[0])
    parser.add_argument(
        "--quick", action="store_true", help="a small input: results are checked, nothing is timed"
    )
    return parser


def corpora_folder() -> Path:
    """Return the folder that DIALOSCOPE_CORPORA names; without one the program ends with exit code 2."""
    return _corpora(fail)


def quick_corpora(contexts: int) -> Path:
    """Replace the rated corpora by a temporary copy with few contexts in each file, and return its folder.

    Afterwards `corpora_folder` returns it too. Contexts are taken at equal distances, with all their replies.
    Without the corpora the program is skipped.
    """
    source = _corpora(skip)
    _temporary.append(tempfile.TemporaryDirectory())
    folder = Path(_temporary[-1].name)
    for path in source.glob("rated/*/*.jsonl"):
        _write_lines(folder / path.relative_to(source), _spaced_contexts(_lines(path), contexts))
    for path in source.glob("dialogues/*/*.jsonl"):
        _write_lines(folder / path.relative_to(source), _lines(path)[:QUICK_DIALOGUES])
    (folder / "gold").symlink_to((source / "gold").resolve())
    os.environ["DIALOSCOPE_CORPORA"] = str(folder)
    return folder


def skip_without_corpora() -> None:
    """End a quick run as skipped where DIALOSCOPE_CORPORA names no corpora."""
    _corpora(skip)


def _corpora(end: Callable[[str], NoReturn]) -> Path:
    text = os.environ.get("DIALOSCOPE_CORPORA")
    if not text:
        end("Set DIALOSCOPE_CORPORA to the folder of the rated corpora (it holds a folder 'rated').")
    folder = Path(text)
    if not (folder / "rated").is_dir():
        end(f"DIALOSCOPE_CORPORA is {text!r}, which holds no folder 'rated'.")
    return folder


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def _write_lines(path: Path, lines: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _spaced_contexts(lines: list[str], count: int) -> list[str]:
    """Return the rows of so many contexts, at equal distances in the file."""
    contexts = [json.dumps(json.loads(line).get("context")) for line in lines]
    different = list(dict.fromkeys(contexts))
    chosen = set(different[:: max(1, len(different) // count)][:count])
    return [line for line, context in zip(lines, contexts, strict=True) if context in chosen]


def fastest(
    work: Callable[[], T], rounds: int, prepare: Callable[[], None] = lambda: None
) -> tuple[T, float]:
    """Return what the work returns and the seconds of its fastest round; preparing is not timed."""
    seconds = []
    for _ in range(rounds):
        prepare()
        clock = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - clock)
    return result, min(seconds)


def peak_memory(who: int = resource.RUSAGE_SELF) -> float:
    """Return the peak resident memory of this process, or of its children, in GB."""
    return resource.getrusage(who).ru_maxrss / 2**20


def fail(message: str) -> NoReturn:
    """End the program with a message and exit code 2, as for an option that is wrong."""
    sys.stderr.write(f"{message}\n")
    sys.exit(2)


def skip(reason: str) -> NoReturn:
    """End a quick run that lacks something optional: the last line says what, and the exit code is 0."""
    print(f"skipped: {reason}")
    sys.exit(0)
