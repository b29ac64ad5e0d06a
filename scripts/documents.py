"""Run the commands that the documents show, and put what they print into their places.

    python scripts/documents.py [--check] [PAGE ...]

With --check nothing is written: the differences are printed, and the exit code is 1 if there are any. Run it
as `make docs-check`.

A block with lines that begin with `$ ` holds commands and their output. docs/metrics/README.md holds the
table of metrics between two comments. A command of the README draws its figure, which is copied to docs.
tests/stories/test_documents.py fails where a document is out of date.

    python scripts/documents.py --sentences [PAGE ...]

prints the number of sentences of each page and the mean number of their words.
"""

import os
import re
import shutil
import subprocess
import sys
from argparse import ArgumentParser
from difflib import unified_diff
from itertools import zip_longest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DEMO = "dialoscope score examples/sample.jsonl --suite lexical -o runs/demo --overwrite"
"""The first command of the demo, shown in the tutorial; it needs no model."""
TABLE = "dialoscope metrics --markdown"
_FIGURE = re.compile(r"(?<![\w.])-?\d+\.\d+(?![\w.])")
_NOTICE = re.compile(r"^(Fetching \S+(:| \().*|\S+ in the cache is damaged .*)\n?", re.M)
"""Lines that depend on what is in the cache of this machine."""
_FIGURE_DRAWN = ROOT / "runs" / "verdict.svg"
_FIGURE_SHOWN = ROOT / "docs" / "generic-attentive.svg"


def main() -> None:
    """Rewrite the documents, or compare them with what the commands print."""
    parser = ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare and write nothing")
    parser.add_argument("--sentences", action="store_true", help="measure the sentences, run nothing")
    parser.add_argument("pages", nargs="*", type=Path, metavar="PAGE", help="all pages by default")
    arguments = parser.parse_args()
    for path in arguments.pages:
        if not path.is_file():
            parser.error(f"there is no page {path}")
    stale = False
    for path in arguments.pages or pages():
        text = path.read_text(encoding="utf-8")
        if arguments.sentences:
            lengths = sentence_lengths(text)
            print(f"{path}: {len(lengths)} sentences, {sum(lengths) / max(1, len(lengths)):.1f} words each")
            continue
        new = renewed(text)
        if not arguments.check:
            path.write_text(new, encoding="utf-8")
            if path.resolve() == ROOT / "README.md":
                shutil.copy(_FIGURE_DRAWN, _FIGURE_SHOWN)
        elif differences(text, new):
            stale = True
            lines = unified_diff(text.splitlines(), new.splitlines(), str(path), "its commands", lineterm="")
            print("\n".join(lines), flush=True)
    if stale:
        sys.exit("Some pages differ from what their commands print. Run: python scripts/documents.py")


def pages() -> list[Path]:
    """The documents that show what commands print."""
    docs = ROOT / "docs"
    verbs = (page for page in sorted(docs.glob("*.md")) if "```\n$ " in page.read_text(encoding="utf-8"))
    return [*sorted((docs / "metrics").glob("*.md")), *verbs, ROOT / "README.md"]


def renewed(text: str) -> str:
    """The document with all outputs made again."""
    text = re.sub(
        r"^```\n(\$ .*?)^```$", lambda block: f"```\n{_session(block[1])}```", text, flags=re.M | re.S
    )
    return re.sub(
        rf"(<!-- table: {TABLE} -->\n).*?(\n<!-- end of table -->)",
        lambda m: f"{m[1]}{output(TABLE)}{m[2]}",
        text,
        flags=re.S,
    )


def sentence_lengths(text: str) -> list[int]:
    """The number of words of each sentence of a page; code, tables and headings have none."""
    text = re.sub(r"^```.*?^```$|<!--.*?-->", "", text, flags=re.M | re.S)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]*`", "code", text))
    prose = re.sub(r"^(#.*|\|.*|( {4}|\t).*)$", "", text, flags=re.M)
    blocks = re.split(r"\n\s*\n|^\s*(?:[-*]|\d+\.) ", prose, flags=re.M)
    sentences = [part for block in blocks for part in re.split(r"(?<=[.?!])[\"”*)]*\s+", block)]
    counts = (len(re.findall(r"\w[\w'’.,/-]*", sentence)) for sentence in sentences)
    return [count for count in counts if count > 2]


def differences(text: str, other: str, error: float = 2e-4, last: int = 1) -> list[tuple[str, str]]:
    """Where two texts differ: in a line, or in a figure by more than rounding may change it.

    A figure may be off by `error`, relative to its size if that is more than 1: perplexity is the power of a
    mean over tokens. Where the error is no longer tiny beside the last digit, this may differ by `last`.
    """
    if _FIGURE.sub("", text) != _FIGURE.sub("", other):
        lines = zip_longest(text.splitlines(), other.splitlines(), fillvalue="")
        return [pair for pair in lines if _FIGURE.sub("", pair[0]) != _FIGURE.sub("", pair[1])]
    figures = zip(_FIGURE.findall(text), _FIGURE.findall(other), strict=True)
    return [pair for pair in figures if not _near(*pair, error, last)]


def _near(figure: str, other: str, error: float, last: int) -> bool:
    digit = 10.0 ** -len(figure.partition(".")[2]) * (1 + 1e-9)  # the difference itself is rounded
    return abs(float(figure) - float(other)) <= last * digit + error * max(1, abs(float(figure)))


def output(command: str) -> str:
    """What a command prints, run from the repository's root with the environment's own dialoscope.

    Notices of what is fetched are left out: the second time there are none.
    """
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(  # noqa: S603 - the documents' own commands
        ["bash", "-c", command],  # noqa: S607
        cwd=ROOT,
        env={**os.environ, "PATH": path, "DIALOSCOPE_LICENCE": "any"},  # licences are announced only once
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return _NOTICE.sub("", done.stdout).rstrip("\n")


def _session(block: str) -> str:
    commands = [line[2:] for line in block.splitlines() if line.startswith("$ ")]
    return "".join(f"$ {command}\n{output(command)}\n" for command in commands)


if __name__ == "__main__":
    main()
