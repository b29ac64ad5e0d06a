"""Distances and curves by the code of FBD's authors: yhlleo/frechet-bert-distance at a8e41ea, utils.py.

    python tests/golden/make_distributions.py FOLDER > tests/golden/distributions.json

FOLDER holds that utils.py (its imports of torch and transformers are not needed); numpy and an older scipy,
whose sqrtm still takes `disp`, must be there: scipy 1.14.1 was.
"""

import importlib
import json
import math
import sys

import numpy as np
import scipy


def main() -> None:
    """Print the golden file."""
    sys.path.insert(0, sys.argv[1])
    theirs = importlib.import_module("utils")
    versions = {"numpy": np.__version__, "scipy": scipy.__version__}
    print(  # noqa: T201 - the output is the file
        json.dumps(
            {
                "origin": "yhlleo/frechet-bert-distance at a8e41ea, utils.py, run on 2026-11-16",
                "versions": versions,
                "frechet": distances(theirs),
                "prd": curves(theirs),
            },
            indent=1,
        )
    )


def distances(theirs: object) -> list[dict[str, object]]:
    """Return distances of points that the seed reproduces."""
    cases = []
    for seed, (real, generated, dims) in enumerate([(60, 50, 4), (200, 300, 12), (120, 90, 30), (40, 40, 8)]):
        clouds = points(seed, real, generated, dims)
        parts = [theirs.calculate_feature_statistics(cloud) for cloud in clouds]
        value = theirs.calculate_frechet_distance(*parts[0], *parts[1])
        cases.append({"seed": seed, "sizes": [real, generated, dims], "value": float(value)})
    return cases


def points(seed: int, real: int, generated: int, dims: int) -> tuple[np.ndarray, np.ndarray]:
    """Return two clouds of points with different means and covariances."""
    rng = np.random.default_rng(seed)
    axes = rng.normal(size=(dims, dims))
    return rng.normal(size=(real, dims)), rng.normal(size=(generated, dims)) @ axes + 0.5


def curves(theirs: object) -> list[dict[str, object]]:
    """Return curves of shares of clusters, at the angles of the paper."""
    cases = []
    for seed, angles in enumerate((15, 101, 1001)):
        rng = np.random.default_rng(seed)
        real, own = (rng.dirichlet(np.full(20, 0.3)) for _ in range(2))
        first = math.pi / 2 / (angles + 1)
        precision, recall = theirs.compute_prd(own, real, angles, first)
        rows = np.linspace(0, angles - 1, 15).astype(int)
        cases.append(
            {
                "angles": angles,
                "real": real.tolist(),
                "own": own.tolist(),
                "at": rows.tolist(),
                "precision": precision[rows].tolist(),
                "recall": recall[rows].tolist(),
                "best": float(np.max(2 * precision * recall / (precision + recall))),
            }
        )
    return cases


if __name__ == "__main__":
    main()
