"""A million replies in one file, scored by the command line: how much memory, how long.

    python benchmarks/memory.py [--replies 1000000] [--suite | --language-model]

The metrics are those whose statistics are sums (BLEU-1..4, ROUGE-1..4, -L, -W, #words, repetition, copying);
with --suite the whole lexical suite, whose Distinct, entropy and self-BLEU keep every n-gram. With
--language-model, 100,000 short replies, twenty to each context, are scored by the default language model with
an empty score cache, which takes minutes on a processor.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from dialoscope.assets import cache_folder

BAR, MODEL_BAR = 1.0, 3.0
SUMS = ["bleu:order=1/2/3/4", "rouge:order=1/2/3/4/l/w", "words", "repetition", "copying"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replies", type=int, default=0)
    parser.add_argument("--language-model", action="store_true", help="likelihood, nothing else")
    parser.add_argument("--suite", action="store_true", help="the whole lexical suite")
    arguments = parser.parse_args()
    count = arguments.replies or (100_000 if arguments.language_model else 1_000_000)
    metrics = ["--suite", "lexical"] if arguments.suite else [part for name in SUMS for part in ("-m", name)]
    metrics = ["-m", "likelihood"] if arguments.language_model else metrics
    bar = MODEL_BAR if arguments.language_model else BAR
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "replies.jsonl")
        (write_short if arguments.language_model else write)(path, count)
        print(f"{count} replies, {path.stat().st_size / 1e6:.0f} MB")
        command = [sys.executable, "-m", "dialoscope", "score", path, *metrics, "-o", Path(folder, "run")]
        clock = time.perf_counter()
        subprocess.run(command, check=True, env=environment(folder))
        seconds = time.perf_counter() - clock
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    print(f"{seconds:.0f} s, {count / seconds:.0f} replies/s")
    print(f"peak resident memory {peak:.2f} GB; bar {bar:g} GB")
    sys.exit(peak >= bar)


def environment(folder: str) -> dict[str, str]:
    """A score cache of its own, with the assets where they are."""
    ready = os.environ.get("DIALOSCOPE_ASSETS") or str(cache_folder() / "assets")
    return {**os.environ, "DIALOSCOPE_CACHE": folder, "DIALOSCOPE_ASSETS": ready}


def write_short(path: Path, count: int) -> None:
    """Replies of a word or two to contexts of a few, twenty to each."""
    rng = np.random.default_rng(0)
    words = ["yes", "no", "tea", "rain", "home", "soon", "never", "maybe", "today", "music", "bread", "green"]
    with path.open("w", encoding="utf-8") as file:
        for place in range(count):
            context = " ".join(np.array(words)[[place // 20 // 12**k % 12 for k in range(5)]])
            reply = " ".join(rng.choice(words, 2))
            row = {"id": str(place), "system": f"bot-{place % 20}", "context": [context], "response": reply}
            file.write(json.dumps(row) + os.linesep)


def write(path: Path, count: int) -> None:
    """Replies to contexts with a reference each, words by Zipf's law, every text different."""
    rng = np.random.default_rng(0)
    words = np.array([f"{'bcdfghjklmnpqrstvwz'[i % 19]}{'aeiou'[i % 5]}{i:x}" for i in range(30_000)])
    share = np.cumsum(1 / np.arange(1, 30_001))
    with path.open("w", encoding="utf-8") as file:
        for first in range(0, count, 10_000):
            drawn = words[np.searchsorted(share, rng.random((10_000, 4, 20)) * share[-1])]
            lengths = rng.integers(3, 20, (10_000, 4))
            for place in range(min(10_000, count - first)):
                turns = [" ".join(drawn[place, k, : lengths[place, k]]) + "." for k in range(4)]
                row = {"id": str(first + place), "system": f"bot-{place % 2}", "context": turns[:2]}
                file.write(json.dumps({**row, "response": turns[2], "references": turns[3:]}) + os.linesep)


if __name__ == "__main__":
    main()
