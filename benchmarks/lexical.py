"""Reply-level lexical metrics against sacreBLEU and rouge-score, in one run, on the same pairs.

    python benchmarks/lexical.py [--pairs 30000] [--quick]

Both sides start from strings in memory and end with a score for each reply. Ours are BLEU-1..4,
ROUGE-1..4, -L and -W, Distinct-1 and -2 and #words, through `dialoscope.evaluate`; theirs are sacreBLEU's
sentence score and rouge-score's ROUGE-1..4 and -L, which is all they have. The scores that both have must
be equal. The pairs are the rated ones with references of the rated corpora (DIALOSCOPE_CORPORA), each copy
made different by a word, or synthetic ones of the same lengths.
"""

import json
import os
import random
import sys
from itertools import cycle, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics import BLEU
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from sacrebleu.tokenizers.tokenizer_re import TokenizerRegexp

import dialoscope as ds
from benchmarks._shared import RATED_PAIRS, benchmark_parser, fastest

BAR, GOAL = 4.0, 8.0
METRICS = ("bleu:order=1/2/3/4", "rouge:order=1/2/3/4/l/w", "distinct:n=1/2", "words")
PEER_ROUGE = {
    "rouge-1": "rouge1",
    "rouge-2": "rouge2",
    "rouge-3": "rouge3",
    "rouge-4": "rouge4",
    "rouge-l": "rougeL",
}


class Pair(NamedTuple):
    """Two texts to compare."""

    reply: str
    reference: str


def main() -> None:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--pairs", type=int, default=30_000, help="number of pairs")
    parser.add_argument(
        "--rounds", type=int, default=5, help="number of rounds of each side; the fastest counts"
    )
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.pairs, arguments.rounds = 300, 1
    pairs, origin = make_pairs(arguments.pairs)
    print(f"{len(pairs)} pairs, {origin}")
    ours, our_time = fastest(lambda: score_ours(pairs), arguments.rounds, forget)
    bleu, bleu_time = fastest(lambda: score_sacrebleu(pairs), arguments.rounds, forget)
    rouge, rouge_time = fastest(lambda: score_rouge(pairs), arguments.rounds, forget)
    for name, seconds in (("dialoscope", our_time), ("sacreBLEU", bleu_time), ("rouge-score", rouge_time)):
        print(f"{name:12} {seconds:7.2f} s {len(pairs) / seconds:9.0f} pairs/s")
    difference = largest_difference(ours, bleu, rouge)
    ratio = (bleu_time + rouge_time) / our_time
    print(f"largest difference of a score: {difference:.1e} (must be below 1e-9)")
    print(f"{ratio:.1f} times as fast as sacreBLEU + rouge-score; bar {BAR:g}, goal {GOAL:g}")
    sys.exit(difference >= 1e-9 or (ratio < BAR and not arguments.quick))


def make_pairs(count: int) -> tuple[list[Pair], str]:
    base, origin = load_pairs()
    rng = random.Random(0)  # noqa: S311 - no secret
    return [
        make_different(pair, number, rng) for number, pair in enumerate(islice(cycle(base), count))
    ], origin


def load_pairs() -> tuple[list[Pair], str]:
    folder = os.environ.get("DIALOSCOPE_CORPORA")
    if not folder:
        return synthetic(2990), "synthetic"
    files = [path for pattern in RATED_PAIRS for path in sorted(Path(folder, "rated").glob(pattern))]
    rows = [json.loads(line) for path in files for line in path.read_text(encoding="utf-8").splitlines()]
    pairs = [Pair(row["response"], row["references"][0]) for row in rows if row["references"]]
    return pairs, f"made from {len(pairs)} rated ones"


def synthetic(count: int) -> list[Pair]:
    """Return texts of words by Zipf's law, as long as the rated pairs (3 to 20 and 3 to 22 words)."""
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abcdefghijklmnopqrstuvwxyz"), 2 + i % 9)) for i in range(5000)]
    share = 1 / np.arange(1, 5001)

    def text(length: int) -> str:
        return " ".join(rng.choice(words, length, p=share / share.sum())) + " " + rng.choice([".", "?", "!"])

    return [Pair(text(rng.integers(3, 20)), text(rng.integers(3, 22))) for _ in range(count)]


def make_different(pair: Pair, number: int, rng: random.Random) -> Pair:
    """Return the pair with an additional word of its own in each text."""
    texts = []
    for text in pair:
        words = text.split(" ")
        words.insert(rng.randint(0, len(words)), f"w{number}")
        texts.append(" ".join(words))
    return Pair(*texts)


def forget() -> None:
    """Empty sacreBLEU's cache of the last 65,536 tokenised texts, so that each round does its own work."""
    Tokenizer13a.__call__.cache_clear()
    TokenizerRegexp.__call__.cache_clear()


def score_ours(pairs: list[Pair]) -> dict[str, np.ndarray]:
    examples = [
        ds.Example(str(number), "system", pair.reply, (), (pair.reference,))
        for number, pair in enumerate(pairs)
    ]
    result = ds.evaluate(examples, METRICS)
    return {str(metric): result.values(metric) for metric in result.metrics}


def score_sacrebleu(pairs: list[Pair]) -> list:
    bleu = BLEU(effective_order=True)
    return [bleu.sentence_score(pair.reply, [pair.reference]) for pair in pairs]


def score_rouge(pairs: list[Pair]) -> list:
    rouge = RougeScorer(list(PEER_ROUGE.values()))
    return [rouge.score(pair.reference, pair.reply) for pair in pairs]


def largest_difference(ours: dict[str, np.ndarray], bleu: list, rouge: list) -> float:
    peers = {name: np.array([scores[peer].fmeasure for scores in rouge]) for name, peer in PEER_ROUGE.items()}
    for order in range(1, 5):
        peers[f"bleu-{order}"] = np.array([lower_order(score, order) for score in bleu])
    return max(float(np.abs(ours[name] - values).max()) for name, values in peers.items())


def lower_order(score: object, order: int) -> float:
    """Compute a lower order with sacreBLEU's own arithmetic from the counts of its sentence score."""
    return BLEU.compute_bleu(
        score.counts[:order], score.totals[:order], score.sys_len, score.ref_len, "exp", None, True, order
    ).score


if __name__ == "__main__":
    main()
