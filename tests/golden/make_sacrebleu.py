"""Write sacrebleu.json: BLEU of corpora and of single replies by sacreBLEU, from 0 to 100."""

import logging
from itertools import product, zip_longest
from pathlib import Path

from _shared import corpora, origin, pick, write
from sacrebleu.metrics import BLEU

logging.disable(logging.WARNING)  # sacreBLEU advises effective_order for single replies

DEFAULTS = {
    "max_ngram_order": 4,
    "smooth_method": "exp",
    "smooth_value": None,
    "lowercase": False,
    "tokenize": "13a",
    "effective_order": False,
}


def corpus_case(corpus, references="all", **changes):
    """One system score; missing references are None, as sacreBLEU takes them."""
    settings = DEFAULTS | changes
    texts = pick(corpus)
    chosen = [t["references"] if references == "all" else t["references"][:1] for t in texts]
    score = BLEU(**settings).corpus_score([t["response"] for t in texts], list(zip_longest(*chosen)))
    return {
        "settings": {"level": "system", "corpus": corpus, "references": references, **settings},
        "system": score.score,
        "replies": {},
    }


def reply_case(**changes):
    """The scores of all replies, each on its own."""
    settings = DEFAULTS | {"effective_order": True} | changes
    bleu = BLEU(**settings)
    scores = {t["id"]: bleu.sentence_score(t["response"], t["references"]).score for t in pick("all")}
    return {
        "settings": {"level": "reply", "corpus": "all", "references": "all", **settings},
        "system": None,
        "replies": scores,
    }


def corpus_cases():
    """Every order on four corpora, then one setting changed at a time, then the corpora made to be hard."""
    for corpus, order in product(["all", "one-reference", "several-references", "plain"], [1, 2, 3, 4]):
        yield corpus_case(corpus, max_ngram_order=order)
    for order in [1, 2, 3, 4]:
        yield corpus_case("all", references="first", max_ngram_order=order)
    yield corpus_case("all", smooth_method="none")
    yield corpus_case("all", smooth_method="floor")
    yield corpus_case("all", smooth_method="add-k")
    yield corpus_case("all", smooth_method="floor", smooth_value=0.01)
    yield corpus_case("all", smooth_method="add-k", smooth_value=0.5)
    yield corpus_case("all", lowercase=True)
    yield corpus_case("all", lowercase=True, tokenize="none")
    yield corpus_case("all", lowercase=True, tokenize="char")
    yield corpus_case("all", tokenize="none")
    yield corpus_case("all", tokenize="char")
    yield corpus_case("all", effective_order=True)
    hard = ["two", "no-fourgram-match", "no-match", "short", "empty-replies"]
    for corpus, method, effective in product(hard, ["exp", "none", "floor", "add-k"], [False, True]):
        yield corpus_case(corpus, smooth_method=method, effective_order=effective)


def reply_cases():
    """Every order and smoothing with effective order, then order 4 without, then other texts to count in."""
    for order, method in product([1, 2, 3, 4], ["exp", "none", "floor", "add-k"]):
        yield reply_case(max_ngram_order=order, smooth_method=method)
    for method in ["exp", "none", "floor", "add-k"]:
        yield reply_case(smooth_method=method, effective_order=False)
    yield reply_case(lowercase=True)
    yield reply_case(tokenize="none")
    yield reply_case(tokenize="char")
    yield reply_case(lowercase=True, tokenize="char")


if __name__ == "__main__":
    write(
        "sacrebleu.json",
        {
            "origin": origin("sacrebleu", Path(__file__).name),
            "corpora": corpora(),
            "cases": [*corpus_cases(), *reply_cases()],
        },
    )
