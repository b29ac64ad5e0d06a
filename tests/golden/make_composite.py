"""Write composite.json: scales by SciPy's percentiles, weights by its least squares, on random numbers.

Three synthetic corpora of three parts, of which less is better for the last, and a rating that correlates
with two of them. Weights are non-negative and shrunk towards each other: least squares of the ratings, with
an additional row for each part that holds the difference of its weight from the mean.
"""

from importlib.metadata import version
from pathlib import Path

import numpy as np
from _shared import origin, write
from scipy.optimize import nnls
from scipy.stats import percentileofscore

PARTS, EVENNESS = 3, (0.0, 0.5, 3.0)


def corpora():
    """Return values of parts in tenths, so that there are ties, and ratings."""
    rng = np.random.default_rng(7)
    rows = []
    for size in (40, 60, 25):
        values = rng.integers(0, 20, (size, PARTS)) / 10
        rating = values[:, 0] - 0.5 * values[:, 2] + rng.normal(0, 1, size)
        rows.append({"values": values.tolist(), "ratings": rating.round(3).tolist()})
    return rows


def merits(data):
    """Return the percentile of each value, the mean over corpora; ties count half."""
    columns = []
    for part in range(PARTS):
        samples = [[row[part] for row in corpus["values"]] for corpus in data]
        columns.append(
            [
                [
                    np.mean([percentileofscore(other, value, "mean") for other in samples]) / 100
                    for value in sample
                ]
                for sample in samples
            ]
        )
    return [
        np.array(
            [[share if part < 2 else 1 - share for share in columns[part][corpus]] for part in range(PARTS)]
        ).T
        for corpus in range(len(data))
    ]


def weights(data, evenness):
    """Return the weights of SciPy's non-negative least squares."""
    rows, targets, traces = [], [], []
    for corpus, shares in zip(data, merits(data), strict=True):
        ratings = np.array(corpus["ratings"])
        scale = 1 / np.sqrt(len(ratings) * len(data))
        rows.append(scale * (shares - shares.mean(axis=0)))
        targets.append(scale * (ratings - ratings.mean()) / ratings.std())
        traces.append(np.square(rows[-1]).sum())
    penalty = np.sqrt(evenness * sum(traces) / PARTS) * (np.eye(PARTS) - 1 / PARTS)
    solved, _ = nnls(np.vstack([*rows, penalty]), np.concatenate([*targets, np.zeros(PARTS)]))
    return (solved / solved.sum()).tolist()


if __name__ == "__main__":
    data = corpora()
    cases = [
        {"settings": {"evenness": evenness}, "weights": weights(data, evenness)} for evenness in EVENNESS
    ]
    shares = [merit.tolist() for merit in merits(data)]
    source = origin("scipy", Path(__file__).name, date="2026-11-16", numpy=version("numpy"))
    write("composite.json", {"origin": source, "corpora": data, "merits": shares, "cases": cases})
