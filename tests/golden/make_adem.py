"""Write adem.json: ratings predicted from counts of letters, by scikit-learn's PCA and ridge regression."""

from importlib.metadata import version
from pathlib import Path
from string import ascii_lowercase

import numpy as np
from _shared import load_texts, origin, write
from sklearn.decomposition import PCA
from sklearn.linear_model import Ridge

DIMS, L2 = 4, 3.0


def vector(text):
    """Return the mean count of each letter over the words of a text."""
    words = text.lower().split()
    return np.mean([[word.count(letter) for letter in ascii_lowercase] for word in words], axis=0)


def rows():
    """Return replies with words, context and references, each with a synthetic rating."""
    texts = [t for t in load_texts() if t["response"].strip() and t["context"] and t["references"]]
    return [{**t, "rating": 1 + number * 7 % 5 + number * 3 % 4 / 4} for number, t in enumerate(texts)]


def case(steps):
    """Evaluate the formula of the paper, with matrices that ridge regression shrinks to the identity."""
    replies = rows()
    ratings = np.array([min(row["rating"], 5) for row in replies])
    context = np.array([vector("\n".join(row["context"][-4:])) for row in replies])
    reply = np.array([vector(row["response"]) for row in replies])
    reference = np.array([np.mean([vector(text) for text in row["references"]], axis=0) for row in replies])
    pca = PCA(DIMS, svd_solver="full").fit(np.concatenate([context, reference, reply]))
    context, reference, reply = map(pca.transform, (context, reference, reply))
    start = (context * reply).sum(1) + (reference * reply).sum(1)
    beta = start.std() / ratings.std()
    start = ratings.mean() + (start - start.mean()) / beta
    features = np.array(
        [
            np.concatenate([np.outer(c, a).ravel(), np.outer(r, a).ravel()]) / beta
            for c, r, a in zip(context, reference, reply, strict=True)
        ]
    )
    ridge = Ridge(alpha=L2 * (features**2).sum(1).mean()).fit(features, ratings - start)
    predictions = start + (ridge.predict(features) if steps else 0)
    return {
        "settings": {"dims": DIMS, "l2": L2, "steps": steps},
        "system": float(predictions.mean()),
        "replies": {row["id"]: float(value) for row, value in zip(replies, predictions, strict=True)},
    }


if __name__ == "__main__":
    source = origin("scikit-learn", Path(__file__).name, date="2026-11-16", numpy=version("numpy"))
    ratings = {row["id"]: min(row["rating"], 5) for row in rows()}
    write("adem.json", {"origin": source, "ratings": ratings, "cases": [case(0), case(1000)]})
