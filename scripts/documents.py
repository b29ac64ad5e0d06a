"""Run the commands that the documents show, and put what they print into their places.

python scripts/documents.py

A block with lines that begin with `$ ` holds commands and their output. In the README the block below
`make demo` is its output, and docs/metrics/README.md holds the table of metrics between two comments.
tests/stories/test_documents.py fails where a document is out of date.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DEMO = "dialoscope score examples/sample.jsonl --suite lexical"
TABLE = "dialoscope metrics --markdown"


def main() -> None:
    """Rewrite every document."""
    for path in pages():
        text = path.read_text(encoding="utf-8")
        path.write_text(renewed(text), encoding="utf-8")


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
    text = re.sub(
        rf"(\(`{DEMO}`\):\n\n```\n).*?(\n```)", lambda m: f"{m[1]}{output(DEMO)}{m[2]}", text, flags=re.S
    )
    return re.sub(
        rf"(<!-- table: {TABLE} -->\n).*?(\n<!-- end of table -->)",
        lambda m: f"{m[1]}{output(TABLE)}{m[2]}",
        text,
        flags=re.S,
    )


def output(command: str) -> str:
    """What a command prints, run from the repository's root with the environment's own dialoscope."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(  # noqa: S603 - the documents' own commands
        ["bash", "-c", command],  # noqa: S607
        cwd=ROOT,
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return done.stdout.rstrip("\n")


def _session(block: str) -> str:
    commands = [line[2:] for line in block.splitlines() if line.startswith("$ ")]
    return "".join(f"$ {command}\n{output(command)}\n" for command in commands)


if __name__ == "__main__":
    main()
