"""Write specificity.json: how rare the words of each reply of texts.json are, by scikit-learn's counts."""

import math
from pathlib import Path

import numpy as np
from _shared import load_texts, origin, write
from sklearn.feature_extraction.text import CountVectorizer

PATTERN = r"[a-z0-9]+"
"""The words of ASCII texts, to which the corpus and the replies are cut down here."""


def counts(texts):
    """In how many texts each word occurs."""
    vectorizer = CountVectorizer(binary=True, token_pattern=PATTERN)
    found = np.asarray(vectorizer.fit_transform(texts).sum(axis=0)).ravel()
    return dict(zip(vectorizer.get_feature_names_out(), found.tolist(), strict=True))


def value(words, texts, found):
    """The mean inverse document frequency between the lowest and the highest there is (NIDF)."""
    idf = {word: math.log(texts / count) for word, count in found.items()}
    low, high = math.log(texts / max(found.values())), math.log(texts)
    scaled = [(idf.get(word, high) - low) / (high - low) for word in words]
    return math.fsum(scaled) / len(scaled) if scaled else None


if __name__ == "__main__":
    plain = [one for one in load_texts() if (one["response"] + "".join(one["references"])).isascii()]
    corpus = [text for one in plain for text in one["references"]]
    words = CountVectorizer(token_pattern=PATTERN).build_analyzer()
    values = {one["id"]: value(list(words(one["response"])), len(corpus), counts(corpus)) for one in plain}
    made = origin("scikit-learn", Path(__file__).name, date="2026-11-16")
    notes = "counted over the references of these replies; an unknown word is taken for one of a single text"
    write(
        "specificity.json", {"origin": made, "notes": notes, "cases": [{"settings": {}, "replies": values}]}
    )
