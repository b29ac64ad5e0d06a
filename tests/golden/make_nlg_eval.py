"""Write nlg_eval.json: BLEU-1..4 and ROUGE-L by pycocoevalcap, which nlg-eval carries, from 0 to 1."""

from pathlib import Path

from _shared import corpora, origin, pick, write
from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.rouge.rouge import Rouge

NOTES = [
    "Texts are prepared as nlg-eval reads its files: one text a line, so a line break becomes a space; "
    "then strip(). Nothing is lower-cased or tokenized.",
    "BLEU counts text.split() (any white space). ROUGE-L counts text.split(' ') (single spaces): two spaces "
    "in a row give an empty token, a tab or a hard space does not split.",
    "Nothing divides by zero, so no reply is left out: BLEU adds 1e-15 and 1e-9, and an empty text is "
    "one empty token for ROUGE-L, which would match an empty reference. Here empty replies score 0.",
    "The ROUGE-L of several references takes the greatest precision and the greatest recall, "
    "which may come from two references. Its system score is the mean over replies.",
]
UNIT_TEST = {
    "references": ["this is a test", "this is also a test"],
    "response": "this is a good test",
    "source": "nlg-eval's own unit tests: some digits are cut, some rounded",
    "published": {
        "bleu-1": {"value": 0.799999, "tolerance": 1e-6},
        "bleu-2": {"value": 0.632455, "tolerance": 1e-6},
        "bleu-3": {"value": 0.5108729, "tolerance": 1e-7},
        "bleu-4": {"value": 0.0000904, "tolerance": 1e-7},
        "rouge-l": {"value": 0.907063, "tolerance": 1e-6},
    },
}


def line(text):
    """The text as nlg-eval would read it from a file."""
    return " ".join(text.replace("\r\n", "\n").replace("\r", "\n").split("\n")).strip()


def score(references, responses):
    """The system score and the reply scores of each metric."""
    systems, replies = Bleu(4).compute_score(references, responses, verbose=0)
    results = {f"bleu-{n}": (systems[n - 1], replies[n - 1]) for n in (1, 2, 3, 4)}
    return results | {"rouge-l": Rouge().compute_score(references, responses)}


def cases(corpus):
    """One case for each metric."""
    texts = pick(corpus)
    responses = {t["id"]: [line(t["response"])] for t in texts}
    references = {t["id"]: [line(r) for r in t["references"]] for t in texts}
    for metric, (system, replies) in score(references, responses).items():
        yield {
            "settings": {"metric": metric, "corpus": corpus},
            "system": float(system),
            "replies": {i: float(number) for i, number in zip(responses, replies, strict=True)},
        }


def unit_test():
    """Return nlg-eval's published values beside those of the scorers here."""
    results = score({"u": UNIT_TEST["references"]}, {"u": [UNIT_TEST["response"]]})
    for metric, published in UNIT_TEST["published"].items():
        published["computed"] = float(results[metric][0])
        if not abs(published["computed"] - published["value"]) <= published["tolerance"]:
            raise ValueError(f"{metric}: {published}")
    return UNIT_TEST


if __name__ == "__main__":
    write(
        "nlg_eval.json",
        {
            "origin": origin("pycocoevalcap", Path(__file__).name),
            "notes": NOTES,
            "corpora": corpora(),
            "cases": [case for corpus in corpora() for case in cases(corpus)],
            "unit_test": unit_test(),
        },
    )
