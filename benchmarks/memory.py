"""Memory and time of the command line for a million replies in one file.

    python benchmarks/memory.py [--replies 1000000] [--suite | --language-model | --distribution] [--quick]

The metrics are those whose statistics are sums (BLEU-1..4, ROUGE-1..4, -L, -W, #words, repetition, copying);
with --suite the whole lexical suite, whose Distinct, entropy and self-BLEU keep every n-gram. With
--language-model, 100,000 short replies, twenty to each context, are scored by the default language model with
an empty score cache, which takes minutes on a processor. With --distribution, a tenth as many replies are
compared by FBD and PRD with a corpus of a million pairs, in 768 dimensions (3 GB of vectors); the encoder is
a fake, since the handling of its vectors is measured.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import ClassVar

import numpy as np

import dialoscope as ds
from benchmarks._shared import benchmark_parser, peak_memory
from dialoscope.models.protocols import Pair, TokenVectors
from dialoscope.models.registry import cache_folder

BAR, MODEL_BAR = 1.0, 3.0
SUMS = ["bleu:order=1/2/3/4", "rouge:order=1/2/3/4/l/w", "words", "repetition", "copying"]


def main() -> None:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--replies", type=int, default=0, help="number of replies; a million by default")
    parser.add_argument("--language-model", action="store_true", help="coherence only")
    parser.add_argument("--distribution", action="store_true", help="FBD and PRD against a corpus")
    parser.add_argument("--suite", action="store_true", help="the whole lexical suite")
    arguments = parser.parse_args()
    default = 100_000 if arguments.language_model else 1_000_000
    count = arguments.replies or (1000 if arguments.quick else default)
    metrics = ["--suite", "lexical"] if arguments.suite else [part for name in SUMS for part in ("-m", name)]
    metrics = ["-m", "coherence"] if arguments.language_model else metrics
    bar = MODEL_BAR if arguments.language_model else BAR
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "replies.jsonl")
        (write_short if arguments.language_model else write)(path, count)
        print(f"{count} replies, {path.stat().st_size / 1e6:.0f} MB")
        command = [sys.executable, "-m", "dialoscope", "score", path, *metrics, "-o", Path(folder, "run")]
        if arguments.distribution:
            with path.open(encoding="utf-8") as file:
                Path(folder, "tenth.jsonl").write_text("".join(islice(file, count // 10)), encoding="utf-8")
            command = [sys.executable, __file__, "--compare", Path(folder, "tenth.jsonl"), path]
        clock = time.perf_counter()
        subprocess.run(command, check=True, env=environment(folder))
        seconds = time.perf_counter() - clock
    peak = peak_memory(resource.RUSAGE_CHILDREN)
    print(f"{seconds:.0f} s, {count / seconds:.0f} replies/s")
    print(f"peak resident memory {peak:.2f} GB; bar {bar:g} GB")
    sys.exit(peak >= bar)


@dataclass(frozen=True)
class FastEncoder:
    """A fake encoder of 768 dimensions whose vectors are sums of a few fixed vectors."""

    name: ClassVar[str] = "made-up"
    version: ClassVar[int] = 1
    fingerprint: ClassVar[str] = "made-up"

    def __str__(self) -> str:
        return self.name

    def encode(self, texts: Sequence[str | Pair]) -> np.ndarray:
        """Return a row for each text, equal for equal texts."""
        digests = b"".join(blake2b(repr(text).encode(), digest_size=8).digest() for text in texts)
        return _rows()[np.frombuffer(digests, np.uint16).reshape(-1, 4) % 4096].sum(axis=1)

    def encode_tokens(self, texts: Sequence[str | Pair]) -> list[TokenVectors]:
        """Raise an error; no metric here uses vectors of tokens."""
        raise NotImplementedError


@cache
def _rows() -> np.ndarray:
    return (
        np.random.default_rng(0).normal(size=(4096, 768), scale=0.5 / np.arange(1, 769) ** 0.3).astype("f4")
    )


def compare(replies: str, corpus: str) -> None:
    """Print FBD and PRD of these replies against a corpus."""
    result = ds.evaluate(
        ds.read(replies), [ds.Fbd(encoder=FastEncoder()), ds.Prd(encoder=FastEncoder())], real=corpus
    )
    print(result.table().text())


def environment(folder: str) -> dict[str, str]:
    """Return an environment with an empty score cache and the usual assets."""
    ready = os.environ.get("DIALOSCOPE_ASSETS") or str(cache_folder() / "assets")
    return {**os.environ, "DIALOSCOPE_CACHE": folder, "DIALOSCOPE_ASSETS": ready}


def write_short(path: Path, count: int) -> None:
    """Write replies of two words to contexts of five, twenty to each."""
    rng = np.random.default_rng(0)
    words = ["yes", "no", "tea", "rain", "home", "soon", "never", "maybe", "today", "music", "bread", "green"]
    with path.open("w", encoding="utf-8") as file:
        for row in range(count):
            context = " ".join(np.array(words)[[row // 20 // 12**k % 12 for k in range(5)]])
            reply = " ".join(rng.choice(words, 2))
            record = {"id": str(row), "system": f"bot-{row % 20}", "context": [context], "response": reply}
            file.write(json.dumps(record) + os.linesep)


def write(path: Path, count: int) -> None:
    """Write replies to contexts with a reference each, words by Zipf's law, every text different."""
    rng = np.random.default_rng(0)
    words = np.array([f"{'bcdfghjklmnpqrstvwz'[i % 19]}{'aeiou'[i % 5]}{i:x}" for i in range(30_000)])
    share = np.cumsum(1 / np.arange(1, 30_001))
    with path.open("w", encoding="utf-8") as file:
        for first in range(0, count, 10_000):
            texts = words[np.searchsorted(share, rng.random((10_000, 4, 20)) * share[-1])]
            lengths = rng.integers(3, 20, (10_000, 4))
            for row in range(min(10_000, count - first)):
                turns = [" ".join(texts[row, k, : lengths[row, k]]) + "." for k in range(4)]
                record = {"id": str(first + row), "system": f"bot-{row % 2}", "context": turns[:2]}
                file.write(json.dumps({**record, "response": turns[2], "references": turns[3:]}) + os.linesep)


if __name__ == "__main__":
    compare(*sys.argv[2:]) if sys.argv[1:2] == ["--compare"] else main()
