"""Write diversity.json: entropies of the n-grams in each group of the demo's replies, by NLTK and SciPy."""

import json
from importlib.metadata import version
from pathlib import Path

from _shared import origin, write
from nltk.probability import FreqDist
from nltk.util import ngrams
from scipy.stats import entropy

VARIANTS = Path(__file__).parents[2] / "examples" / "variants.jsonl"


def groups():
    """The replies of each system to the variants of each query."""
    replies_by_group = {}
    for line in VARIANTS.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        replies_by_group.setdefault((row["system"], row["group"]), []).append(row["response"])
    return replies_by_group


def value(replies, n, base):
    """The entropy of all n-grams of some replies; words are what stands between spaces."""
    counts = FreqDist(gram for reply in replies for gram in ngrams(reply.split(), n))
    return float(entropy(list(counts.values()), base=base))


def case(n, base):
    """One number for each group of each system."""
    values = [
        {"system": system, "group": group, "value": value(replies, n, base)}
        for (system, group), replies in groups().items()
    ]
    return {"settings": {"n": n, "log": "2" if base == 2 else "e", "tokenizer": "split"}, "groups": values}


if __name__ == "__main__":
    cases = [case(n, base) for n in (1, 2, 3) for base in (2, None)]
    source = origin("nltk", Path(__file__).name, date="2026-11-16", scipy=version("scipy"))
    write("diversity.json", {"origin": source, "cases": cases})
