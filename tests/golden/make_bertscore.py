"""Write bertscore.json: the numbers of bert-score 0.3.13 on the weights that Dialoscope fetches.

Wants its own environment: `pip install bert-score==0.3.13 transformers==4.57.1`. The argument is the folder
of the encoder, which `dialoscope assets fetch minilm` names.

bert-score takes padding for a token of cosine 0, so that its numbers depend on the rest of a batch. Here
every text and every pair is a batch of its own.
"""

import sys
from pathlib import Path

import numpy as np
import torch
import transformers
from _shared import HERE, load_texts, origin, write
from bert_score import BERTScorer
from bert_score.utils import greedy_cos_idf

LONG = " ".join(f"and then we met number {number}, who said hello" for number in range(80))
MORE = [
    {"id": "b01", "response": "", "references": ["There is nothing to say.", "Nothing."]},
    {"id": "b02", "response": "Good morning!", "references": [""]},
    {"id": "b03", "response": "", "references": [""]},
    {"id": "b04", "response": " \t\n", "references": ["Blank."]},
    {"id": "b05", "response": "Good morning!", "references": ["", "Good evening!", "  "]},
    {"id": "b06", "response": "\u200b", "references": ["A character that has no width."]},
    {"id": "b07", "response": LONG, "references": ["We met eighty people.", LONG[5:]]},
    {"id": "b08", "response": "We met eighty people.", "references": [LONG]},
    {"id": "b09", "response": "你好，很高兴认识你", "references": ["你好吗？", "Hello"]},
    {"id": "b10", "response": "नमस्ते 😀 naïve café", "references": ["NAIVE cafe"]},
    {"id": "b11", "response": "  Tea?  ", "references": ["tea ?"]},
    {"id": "b12", "response": "tea tea tea tea tea", "references": ["tea"]},
    {"id": "b13", "response": "no " * 600, "references": ["no"]},
]
CORPUS = [
    "I would like some tea, please.",
    "The train to the sea leaves at noon.",
    "No, I have not been there yet.",
    "No, thanks.",
    "What do you do when it rains?",
    "",
    "I like the sea, and I like the rain.",
    "No, thanks.",
]
BASELINE = "LAYER,P,R,F\n0,0.1,0.11,0.105\n1,0.2,0.21,0.205\n2,0.3,0.31,0.305\n3,0.25,0.26,0.255\n"
BASELINE += "4,0.35,0.36,0.355\n5,0.4,0.41,0.405\n6,0.15,0.16,0.155\n"


def main():
    """Write the scores of all texts with each setting."""
    torch.set_num_threads(1)
    texts = [*load_texts(), *MORE]
    (HERE / "bertscore_corpus.txt").write_text("".join(f"{line}\n" for line in CORPUS), encoding="utf-8")
    (HERE / "bertscore_baseline.csv").write_text(BASELINE, encoding="utf-8")
    cases = [
        case(texts, layer=6),
        case(texts, layer=0),
        case(texts, layer=3),
        case(texts, layer=6, idf="references"),
        case(texts, layer=6, idf="corpus"),
        case(texts, layer=6, baseline=True),
        case(texts, layer=3, idf="references", baseline=True),
    ]
    source = origin(
        "bert-score", Path(__file__).name, transformers=transformers.__version__, torch=torch.__version__
    )
    notes = [
        "Every text and every pair was a batch of its own.",
        "The corpus has an empty line, which is no text there; bert-score was given the others.",
    ]
    write(
        "bertscore.json",
        {"origin": source, "notes": notes, "texts": MORE, "cases": cases, "vectors": vectors()},
    )


def case(texts, *, layer, idf="none", baseline=False):
    """Return precision, recall and F of each reply, each the best over its references."""
    replies = [text["response"] for text in texts]
    references = [text["references"] for text in texts]
    idf_texts = {
        "references": [text for texts_of_reply in references for text in texts_of_reply],
        "corpus": list(filter(None, CORPUS)),
    }
    scorer = BERTScorer(
        model_type=sys.argv[1],
        num_layers=layer,
        device="cpu",
        nthreads=0,
        idf=idf != "none",
        idf_sents=idf_texts.get(idf),
        lang="en",
        rescale_with_baseline=baseline,
        baseline_path=str(HERE / "bertscore_baseline.csv") if baseline else None,
    )
    scores = np.array([part.tolist() for part in scorer.score(replies, references, batch_size=1)])
    return {
        "settings": {"layer": layer, "idf": idf, "baseline": baseline},
        "system": scores.mean(axis=1).tolist(),
        "replies": {text["id"]: scores[:, column].tolist() for column, text in enumerate(texts)},
    }


def vectors():
    """Return the scores of random vectors with weights by bert-score's own matching."""
    rng = np.random.default_rng(5)
    return [pair(rng, reply, reference) for reply, reference in [(3, 3), (4, 9), (12, 5), (7, 7), (2, 6)]]


def pair(rng, reply, reference):
    """Return a pair with so many tokens besides the two around each text, and its scores."""
    ids = [[1, *rng.integers(3, 20, count).tolist(), 2] for count in (reply, reference)]
    weights = {token: round(float(rng.uniform(0.1, 3)), 3) for tokens in ids for token in tokens} | {
        1: 0.0,
        2: 0.0,
    }
    embedded = [np.round(rng.standard_normal((len(tokens), 5)) + 0.5, 3).tolist() for tokens in ids]
    sides = [
        (
            torch.tensor([side]),
            torch.ones(1, len(tokens)),
            torch.tensor([[weights[token] for token in tokens]]),
        )
        for side, tokens in zip(embedded, ids, strict=True)
    ]
    scores = greedy_cos_idf(*sides[1], *sides[0])
    return {
        "ids": ids,
        "vectors": embedded,
        "weights": {str(token): weight for token, weight in weights.items()},
        "scores": [score.item() for score in scores],
    }


if __name__ == "__main__":
    main()
