"""Variants by synonyms at several minimum similarities: their number, and the time they take.

    python benchmarks/augmentation.py DIALOGUES [--queries 300] [--show 0]
    python benchmarks/augmentation.py --quick

DIALOGUES is a file with a dialogue in each line (`turns`); a random turn of each of so many random dialogues
is a query. With --show, so many variants of each tenth of the cosine are printed, to be read and judged. With
--quick, a few contexts of the sample are the queries. There is no bar.
"""

import json
import random
import sys
import time
from itertools import pairwise
from pathlib import Path

import numpy as np

import dialoscope as ds
from benchmarks._shared import SAMPLE, benchmark_parser
from dialoscope.augmentation.similarity import cosine_similarities
from dialoscope.models.encoder import TransformerEncoder
from dialoscope.models.protocols import Pair

BOUNDS = (-1, 0.5, 0.6, 0.7, 0.8, 0.9)


def main() -> None:
    parser = benchmark_parser(__doc__)
    parser.add_argument(
        "dialogues", type=Path, nargs="?", metavar="DIALOGUES", help="file with a dialogue in each line"
    )
    parser.add_argument("--queries", type=int, default=300, help="number of dialogues")
    parser.add_argument(
        "--show", type=int, default=0, help="number of variants shown for each tenth of the cosine"
    )
    options = parser.parse_args()
    if options.quick:
        contexts = sample_contexts(4)
    elif options.dialogues:
        contexts = sample_turns(options.dialogues, options.queries)
    else:
        parser.error("name a file of dialogues, or --quick")
    print_unrelated(contexts)
    augmented = [count_variants(contexts, bound) for bound in BOUNDS]
    print_examples(augmented[0], options.show)
    counts = augmented[0].counts
    print(f"{counts.variants} variants of {counts.queries} queries at any similarity; no bar")
    sys.exit(not counts.variants)


def sample_contexts(count: int) -> list[list[str]]:
    """Return the first different contexts of the sample."""
    contexts = dict.fromkeys(example.context for example in ds.read(SAMPLE))
    return [list(turns) for turns in contexts][:count]


def sample_turns(path: Path, count: int) -> list[list[str]]:
    rng = random.Random(17)  # noqa: S311 - nothing secret
    dialogues = [json.loads(line)["turns"] for line in path.read_text(encoding="utf-8").splitlines()]
    return [turns[: rng.randrange(len(turns)) + 1] for turns in rng.sample(dialogues, count)]


def print_unrelated(contexts: list[list[str]]) -> None:
    queries = [turns[-1] for turns in contexts]
    pairs = [Pair(query, other) for query, other in pairwise(queries)]
    median, high = np.quantile(cosine_similarities(TransformerEncoder(), pairs), [0.5, 0.99])
    print(f"cosine of unrelated queries: median {median:.2f}, 99 % below {high:.2f}")


def count_variants(contexts: list[list[str]], bound: float) -> ds.Augmented:
    clock = time.perf_counter()
    augmented = ds.augment(contexts, min_similarity=bound)
    counts = augmented.counts
    full = counts.queries - counts.partial - counts.without
    print(
        f"at least {bound:4}: {counts.variants} variants, {full} queries with all, "
        f"{counts.without} with none, {counts.rejected} drafts rejected, {time.perf_counter() - clock:.0f} s"
    )
    return augmented


def print_examples(augmented: ds.Augmented, count: int) -> None:
    query = {row["group"]: row["context"][-1] for row in augmented if not row["changes"]}
    rng = random.Random(1)  # noqa: S311
    for low in (0.6, 0.7, 0.8, 0.9):
        band = [row for row in augmented if row["changes"] and low <= row["similarity"] < low + 0.1]
        for row in rng.sample(band, min(count, len(band))):
            print(f"{row['similarity']:.2f} {row['changes']} in: {query[row['group']]}")


if __name__ == "__main__":
    main()
