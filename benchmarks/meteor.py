"""METEOR against NLTK's, in one run, on the same words.

    python benchmarks/meteor.py [--rounds 3] [--quick]

Both sides start from texts whose words are separated by spaces, before WordNet is read, and end with a score
for each reply; a second figure leaves out the reading. All caches are emptied between rounds. The scores must
be equal. The pairs are the rated ones with references of the rated corpora (DIALOSCOPE_CORPORA), tokenized as
in the Treebank beforehand, or those of the sample. METEOR 1.5 is timed from the original texts; there is no
other implementation in Python. With --quick there are few pairs.
"""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

import nltk.data
import numpy as np
from nltk.corpus import wordnet
from nltk.translate.meteor_score import meteor_score

import dialoscope as ds
from benchmarks._shared import RATED_PAIRS, SAMPLE, benchmark_parser
from benchmarks._shared import fastest as time_fastest
from dialoscope.metrics import meteor as our_meteor
from dialoscope.models import wordnet as our_wordnet
from dialoscope.models.registry import locate
from dialoscope.text import porter, stemmer
from dialoscope.text.tokenizer import Tokenizer

T = TypeVar("T")

BAR, GOAL = 10.0, 20.0


class Pair(NamedTuple):
    """Two texts to compare."""

    reply: str
    reference: str


class Seconds(NamedTuple):
    """Seconds with the reading of WordNet, and without."""

    whole: float
    scoring: float


def main() -> None:
    parser = benchmark_parser(__doc__)
    parser.add_argument(
        "--rounds", type=int, default=3, help="number of rounds of each side; the fastest counts"
    )
    chosen = parser.parse_args()
    pairs, origin = load_pairs()
    pairs, rounds = (pairs[:30], 1) if chosen.quick else (pairs, chosen.rounds)
    print(f"{len(pairs)} pairs, {origin}")
    words = [Pair(*(" ".join(tokens) for tokens in Tokenizer("treebank")(list(pair)))) for pair in pairs]
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(locate("wordnet"), Path(folder) / "corpora" / "wordnet")
        nltk.data.path.insert(0, folder)  # the first folder that NLTK searches
        theirs, their_time = fastest(lambda: score_nltk(words), rounds)
        ours, our_time = fastest(lambda: score_ours(words, "meteor:variant=nltk,tokenizer=split"), rounds)
        _, official_time = fastest(lambda: score_ours(pairs, "meteor"), rounds)
    for name, seconds in (
        ("NLTK", their_time),
        ("dialoscope, variant nltk", our_time),
        ("dialoscope, METEOR 1.5", official_time),
    ):
        print(
            f"{name:25} {seconds.whole:6.2f} s {len(pairs) / seconds.whole:7.0f} pairs/s; "
            f"without reading WordNet {seconds.scoring:6.2f} s {len(pairs) / seconds.scoring:7.0f} pairs/s"
        )
    difference = float(np.abs(ours - theirs).max())
    ratio = their_time.whole / our_time.whole
    print(f"largest difference of a score: {difference:.1e} (must be below 1e-9)")
    print(f"without reading WordNet {their_time.scoring / our_time.scoring:.1f} times as fast as NLTK")
    print(f"{ratio:.1f} times as fast as NLTK; bar {BAR:g}, goal {GOAL:g}")
    sys.exit(difference >= 1e-9 or (ratio < BAR and not chosen.quick))


def load_pairs() -> tuple[list[Pair], str]:
    folder = os.environ.get("DIALOSCOPE_CORPORA")
    files = [path for pattern in RATED_PAIRS for path in sorted(Path(folder or "", "rated").glob(pattern))]
    files = files if folder else [SAMPLE]
    rows = [json.loads(line) for path in files for line in path.read_text(encoding="utf-8").splitlines()]
    pairs = [Pair(row["response"], row["references"][0]) for row in rows if row.get("references")]
    return pairs, "rated" if folder else "of the sample"


def fastest(work: Callable[[], T], rounds: int) -> tuple[T, Seconds]:
    """Return what the work returns and the seconds of its fastest rounds."""
    result, whole = time_fastest(work, rounds, partial(forget, files=True))
    _, scoring = time_fastest(work, rounds, partial(forget, files=False))
    return result, Seconds(whole, scoring)


def forget(*, files: bool) -> None:
    """Empty all caches, so that each round does its own work."""
    wordnet.ensure_loaded()
    wordnet._synset_offset_cache.clear()
    if files:
        wordnet._unload()
    for cached in (
        our_meteor._meanings,
        our_meteor._synsets,
        our_wordnet._members,
        our_wordnet._look_up,
        porter.porter_stem,
        stemmer.stem,
        *((our_wordnet._index, our_wordnet._data, our_wordnet._exceptions) if files else ()),
    ):
        cached.cache_clear()


def score_ours(pairs: list[Pair], metric: str) -> np.ndarray:
    examples = [
        ds.Example(str(number), "system", pair.reply, (), (pair.reference,))
        for number, pair in enumerate(pairs)
    ]
    return ds.evaluate(examples, [metric]).values(metric)


def score_nltk(pairs: list[Pair]) -> np.ndarray:
    return np.array([meteor_score([pair.reference.split()], pair.reply.split()) for pair in pairs])


if __name__ == "__main__":
    main()
