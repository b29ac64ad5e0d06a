"""Write composite.json: scales by SciPy's percentiles, weights by its least squares, on random numbers.

Three made-up corpora of three parts, of which the last is better the less there is of it, and a rating that
goes with two of them. Weights may not be negative, and are drawn to each other: least squares of the ratings,
with a row more for each part that says how far its weight is from the mean of all.
"""

from importlib.metadata import version
from pathlib import Path

import numpy as np
from _shared import origin, write
from scipy.optimize import nnls
from scipy.stats import percentileofscore

PARTS, EVENNESS = 3, (0.0, 0.5, 3.0)


def corpora():
    """Values of parts in tenths, so that there are ties, and ratings."""
    rng = np.random.default_rng(7)
    found = []
    for size in (40, 60, 25):
        values = rng.integers(0, 20, (size, PARTS)) / 10
        rating = values[:, 0] - 0.5 * values[:, 2] + rng.normal(0, 1, size)
        found.append({"values": values.tolist(), "ratings": rating.round(3).tolist()})
    return found


def merits(found):
    """The percentile of each value, the mean over corpora, ties counting half."""
    columns = []
    for place in range(PARTS):
        samples = [[row[place] for row in one["values"]] for one in found]
        columns.append(
            [
                [
                    np.mean([percentileofscore(one, value, "mean") for one in samples]) / 100
                    for value in sample
                ]
                for sample in samples
            ]
        )
    return [
        np.array(
            [[share if place < 2 else 1 - share for share in columns[place][which]] for place in range(PARTS)]
        ).T
        for which in range(len(found))
    ]


def weights(found, evenness):
    """SciPy's least squares without negative weights."""
    rows, wanted, traces = [], [], []
    for one, shares in zip(found, merits(found), strict=True):
        ratings = np.array(one["ratings"])
        scale = 1 / np.sqrt(len(ratings) * len(found))
        rows.append(scale * (shares - shares.mean(axis=0)))
        wanted.append(scale * (ratings - ratings.mean()) / ratings.std())
        traces.append(np.square(rows[-1]).sum())
    drawn = np.sqrt(evenness * sum(traces) / PARTS) * (np.eye(PARTS) - 1 / PARTS)
    solved, _ = nnls(np.vstack([*rows, drawn]), np.concatenate([*wanted, np.zeros(PARTS)]))
    return (solved / solved.sum()).tolist()


if __name__ == "__main__":
    found = corpora()
    cases = [{"settings": {"evenness": each}, "weights": weights(found, each)} for each in EVENNESS]
    shares = [one.tolist() for one in merits(found)]
    made = origin("scipy", Path(__file__).name, date="2026-11-16", numpy=version("numpy"))
    write("composite.json", {"origin": made, "corpora": found, "merits": shares, "cases": cases})
