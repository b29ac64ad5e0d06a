"""Write rouge_score.json: ROUGE-1..4 and ROUGE-L of the replies by rouge-score, from 0 to 1."""

from importlib.metadata import version
from itertools import product
from pathlib import Path

from _shared import load_texts, origin, write
from rouge_score.rouge_scorer import RougeScorer

TYPES = ["rouge1", "rouge2", "rouge3", "rouge4", "rougeL"]
MEASURES = ["precision", "recall", "fmeasure"]


def scores(references, stemmer):
    """The scores of every reply, with its first reference or with the best of all."""
    scorer = RougeScorer(TYPES, use_stemmer=stemmer)
    if references == "first":
        return {t["id"]: scorer.score(t["references"][0], t["response"]) for t in load_texts()}
    return {t["id"]: scorer.score_multi(t["references"], t["response"]) for t in load_texts()}


def cases():
    """One case for each type, measure, stemming and choice of references."""
    for references, stemmer in product(["first", "all"], [False, True]):
        results = scores(references, stemmer)
        for kind, measure in product(TYPES, MEASURES):
            settings = {"type": kind, "measure": measure, "use_stemmer": stemmer}
            yield {
                "settings": {**settings, "references": references},
                "system": None,
                "replies": {i: float(getattr(s[kind], measure)) for i, s in results.items()},
            }


if __name__ == "__main__":
    stemmed_by = {"stemmer": f"nltk {version('nltk')} PorterStemmer"}
    source = origin("rouge-score", Path(__file__).name, **stemmed_by)
    write("rouge_score.json", {"origin": source, "cases": list(cases())})
