"""Fit the composite that is shipped, and write it into the package.

    DIALOSCOPE_CORPORA=FOLDER python scripts/fit_composite.py

Its parts are those of `dialoscope.training.composite_fit.PARTS`. The checkpoint goes to
dialoscope/models/registry/trained, its hashes into the registry, weights and signature into the page
of the metric, and the table of docs/assets.md is made anew. Afterwards run `python scripts/documents.py`, and
`python benchmarks/papers/composite.py -o TABLES.md` for the figures of docs/papers/composite.md.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from hashlib import sha256
from pathlib import Path

from benchmarks._shared import corpora_folder

ROOT = Path(__file__).resolve().parents[1]
CHECKPOINT = ROOT / "dialoscope" / "models" / "registry" / "trained" / "composite"
REGISTRY = ROOT / "dialoscope" / "models" / "registry" / "entries.py"
ASSETS_PAGE = ROOT / "docs" / "assets.md"
METRIC_PAGE = ROOT / "docs" / "metrics" / "composite.md"
CORPORA = (
    "pang2020/coherence.jsonl",
    "pang2020/fluency.jsonl",
    "grade/grade_convai2.jsonl",
    "grade/grade_dailydialog.jsonl",
    "grade/grade_empathetic.jsonl",
    "usr_personachat/data.jsonl",
    "zhao2020/zhao_dailydialog.jsonl",
    "zhao2020/zhao_personachat.jsonl",
)
LICENCE = "none stated by those who released the ratings"


def main() -> None:
    """Train in a temporary folder, so that the command in the card is the same everywhere."""
    ArgumentParser(description=__doc__.partition("\n")[0]).parse_args()
    rated = corpora_folder() / "rated"
    with tempfile.TemporaryDirectory() as work:
        (Path(work) / "rated").symlink_to(rated.resolve())
        files = [f"rated/{name}" for name in CORPORA]
        command = ["train", "composite", *files, "-o", "composite", "--licence", LICENCE]
        subprocess.run([sys.executable, "-m", "dialoscope", *command], cwd=work, check=True)  # noqa: S603
        shutil.rmtree(CHECKPOINT, ignore_errors=True)
        shutil.copytree(Path(work) / "composite", CHECKPOINT)
    REGISTRY.write_text(update_registry(REGISTRY.read_text(encoding="utf-8")), encoding="utf-8")
    METRIC_PAGE.write_text(update_page(METRIC_PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    code = "from dialoscope.models.registry import asset_table; print(asset_table.as_markdown())"
    table = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout  # noqa: S603
    page = ASSETS_PAGE.read_text(encoding="utf-8")
    ASSETS_PAGE.write_text(
        re.sub(r"\| name \| kind .*?\n\n", lambda _: table + "\n", page, flags=re.S), "utf-8"
    )


def update_page(page: str) -> str:
    """Return the metric's page with the weights of the card and the hash that is in the signature."""
    table = re.search(
        r"^\| part \|.*?\n\n", (CHECKPOINT / "card.md").read_text(encoding="utf-8"), re.M | re.S
    )
    checkpoint_hash = json.loads((CHECKPOINT / "spec.json").read_text(encoding="utf-8"))["combination_sha256"]
    if table is None:
        sys.exit("The card has no table of weights.")
    page = re.sub(r"^\| part \|.*?\n\n", lambda _: table[0], page, count=1, flags=re.M | re.S)
    return re.sub(r"(?<=\[composite\|sha256:)\w+", checkpoint_hash[:16], page)


def update_registry(text: str) -> str:
    """Return the registry with the sizes and hashes of the new files."""
    for name in ("history.jsonl", "spec.json"):
        content = (CHECKPOINT / name).read_bytes()
        entry = f'File("{name}", {len(content):_}, "{sha256(content).hexdigest()}")'
        pattern = rf'(name="composite",.*?)File\(\s*"{re.escape(name)}", [\d_]+, "[0-9a-f]+"\s*\)'
        text, count = re.subn(pattern, lambda match, entry=entry: match[1] + entry, text, count=1, flags=re.S)
        if not count:
            sys.exit(f"The registry of assets has no {name} of the composite.")
    return text


if __name__ == "__main__":
    main()
