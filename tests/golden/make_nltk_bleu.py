"""Write nltk_bleu.json: BLEU by NLTK without smoothing on lower-cased Treebank tokens, from 0 to 1."""

import warnings
from itertools import product
from pathlib import Path

from _shared import corpora, origin, pick, write
from nltk.tokenize.destructive import NLTKWordTokenizer
from nltk.translate.bleu_score import corpus_bleu, sentence_bleu

warnings.simplefilter("ignore")  # NLTK warns of every order without a match


def tokens(text):
    """Treebank tokens of the whole text: no sentence splitter before."""
    return NLTKWordTokenizer().tokenize(text.lower())


def case(corpus, order):
    """The score of a corpus and of each of its replies."""
    weights = (1 / order,) * order
    texts = pick(corpus)
    replies = [tokens(t["response"]) for t in texts]
    references = [[tokens(r) for r in t["references"]] for t in texts]
    single = {
        t["id"]: float(sentence_bleu(refs, reply, weights))
        for t, refs, reply in zip(texts, references, replies, strict=True)
    }
    return {
        "settings": {
            "corpus": corpus,
            "order": order,
            "weights": "uniform",
            "smoothing": "method0",
            "tokenizer": "NLTKWordTokenizer on text.lower()",
        },
        "system": float(corpus_bleu(references, replies, weights)),
        "replies": single,
    }


if __name__ == "__main__":
    write(
        "nltk_bleu.json",
        {
            "origin": origin("nltk", Path(__file__).name),
            "corpora": corpora(),
            "cases": [case(corpus, order) for corpus, order in product(corpora(), [1, 2, 3, 4])],
        },
    )
