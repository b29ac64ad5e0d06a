"""Write specificity.json: rarity of the words of each reply of texts.json, by scikit-learn's counts."""

import math
from pathlib import Path

import numpy as np
from _shared import load_texts, origin, write
from sklearn.feature_extraction.text import CountVectorizer

PATTERN = r"[a-z0-9]+"
"""The words of ASCII texts, to which the corpus and the replies are cut down here."""


def counts(texts):
    """Return the number of texts in which each word occurs."""
    vectorizer = CountVectorizer(binary=True, token_pattern=PATTERN)
    frequencies = np.asarray(vectorizer.fit_transform(texts).sum(axis=0)).ravel()
    return dict(zip(vectorizer.get_feature_names_out(), frequencies.tolist(), strict=True))


def value(words, texts, frequencies):
    """Return the mean inverse document frequency, scaled to the lowest and the highest (NIDF)."""
    idf = {word: math.log(texts / count) for word, count in frequencies.items()}
    low, high = math.log(texts / max(frequencies.values())), math.log(texts)
    scaled = [(idf.get(word, high) - low) / (high - low) for word in words]
    return math.fsum(scaled) / len(scaled) if scaled else None


if __name__ == "__main__":
    plain = [entry for entry in load_texts() if (entry["response"] + "".join(entry["references"])).isascii()]
    corpus = [text for entry in plain for text in entry["references"]]
    words = CountVectorizer(token_pattern=PATTERN).build_analyzer()
    values = {
        entry["id"]: value(list(words(entry["response"])), len(corpus), counts(corpus)) for entry in plain
    }
    source = origin("scikit-learn", Path(__file__).name, date="2026-11-16")
    notes = "counted over the references of these replies; an unknown word is taken for one of a single text"
    write(
        "specificity.json", {"origin": source, "notes": notes, "cases": [{"settings": {}, "replies": values}]}
    )
