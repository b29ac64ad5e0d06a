"""Variants by synonyms at several bounds of similarity: how many there are, and how long they take.

    python benchmarks/augmentation.py DIALOGUES [--queries 300] [--show 0]
    python benchmarks/augmentation.py --quick

DIALOGUES is a file with a dialogue a line (`turns`); one turn of each of so many dialogues, drawn at random,
is a query. With --show, so many variants of each tenth of the cosine are printed, to be read and judged.
With --quick, a few contexts of the sample are the queries.
"""

import json
import random
import time
from itertools import pairwise
from pathlib import Path

import numpy as np

import dialoscope as ds
from benchmarks._shared import benchmark_parser
from dialoscope.augmentation.similarity import cosine_similarities
from dialoscope.models.encoder import TransformerEncoder
from dialoscope.models.protocols import Pair

SAMPLE = Path(__file__).resolve().parents[1] / "examples" / "sample.jsonl"
BOUNDS = (-1, 0.5, 0.6, 0.7, 0.8, 0.9)


def main() -> None:
    parser = benchmark_parser(__doc__)
    parser.add_argument("dialogues", type=Path, nargs="?")
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--show", type=int, default=0)
    asked = parser.parse_args()
    if asked.quick:
        contexts = sample_contexts(4)
    elif asked.dialogues:
        contexts = drawn(asked.dialogues, asked.queries)
    else:
        parser.error("name a file of dialogues, or --quick")
    unrelated(contexts)
    made = [counted(contexts, bound) for bound in BOUNDS]
    read(made[0], asked.show)


def sample_contexts(count: int) -> list[list[str]]:
    """Return the first different contexts of the sample."""
    contexts = dict.fromkeys(example.context for example in ds.read(SAMPLE))
    return [list(turns) for turns in contexts][:count]


def drawn(path: Path, count: int) -> list[list[str]]:
    by = random.Random(17)  # noqa: S311 - nothing secret
    dialogues = [json.loads(line)["turns"] for line in path.read_text(encoding="utf-8").splitlines()]
    return [turns[: by.randrange(len(turns)) + 1] for turns in by.sample(dialogues, count)]


def unrelated(contexts: list[list[str]]) -> None:
    queries = [turns[-1] for turns in contexts]
    pairs = [Pair(one, other) for one, other in pairwise(queries)]
    median, high = np.quantile(cosine_similarities(TransformerEncoder(), pairs), [0.5, 0.99])
    print(f"cosine of unrelated queries: median {median:.2f}, 99 % below {high:.2f}")


def counted(contexts: list[list[str]], bound: float) -> ds.Augmented:
    clock = time.perf_counter()
    made = ds.augment(contexts, min_similarity=bound)
    counts = made.counts
    full = counts.queries - counts.partial - counts.without
    print(
        f"at least {bound:4}: {counts.variants} variants, {full} queries with all, {counts.without} with "
        f"none, {counts.rejected} drafts rejected, {time.perf_counter() - clock:.0f} s"
    )
    return made


def read(made: ds.Augmented, count: int) -> None:
    query = {row["group"]: row["context"][-1] for row in made if not row["changes"]}
    by = random.Random(1)  # noqa: S311
    for low in (0.6, 0.7, 0.8, 0.9):
        band = [row for row in made if row["changes"] and low <= row["similarity"] < low + 0.1]
        for row in by.sample(band, min(count, len(band))):
            print(f"{row['similarity']:.2f} {row['changes']} in: {query[row['group']]}")


if __name__ == "__main__":
    main()
