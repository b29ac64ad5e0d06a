"""All pairwise correlations of 40 metrics on 10,000 replies, in 1,000 random halves of the contexts.

    python benchmarks/correlations.py [--replies 10000] [--metrics 40] [--draws 1000] [--quick]

Columns of several kinds (smooth, with ties, mostly zero, with gaps), four replies to a context. The peer is
`DataFrame.corr` of pandas on the replies of each half, in the same run; it is timed on a few halves, and must
find the same coefficients.
"""

import resource
import sys
import time

import numpy as np
import pandas

from benchmarks._shared import benchmark_parser
from dialoscope.analysis.halves import Clusters, in_halves
from dialoscope.runs.resampling import Draws, halves_interval

BAR, MEMORY_BAR = 30.0, 1.0
PEER_DRAWS = 3


def main() -> None:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--replies", type=int, default=10_000)
    parser.add_argument("--metrics", type=int, default=40)
    parser.add_argument("--draws", type=int, default=1000)
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.replies, arguments.metrics, arguments.draws = 800, 8, 60
    columns = made_up(arguments.replies, arguments.metrics)
    clusters, draws = (
        Clusters.of(np.arange(arguments.replies) // 4, seed=0),
        Draws(arguments.draws, seed=0),
    )
    total = 0.0
    for name in ("pearson", "spearman"):
        clock = time.perf_counter()
        found = in_halves(name, columns, columns, clusters, draws)
        ends = halves_interval(found, 0.95, flat=True)
        ours = time.perf_counter() - clock
        total += ours
        theirs, apart = peer(name, columns, clusters, found)
        known = np.isfinite(ends).all(axis=0).mean()
        print(
            f"{name}: {ours:.1f} s, pandas {theirs * draws.times:.0f} s for as many halves "
            f"({theirs * draws.times / ours:.0f} times), largest difference {apart:.1e}, "
            f"intervals known for {known:.1%} of the pairs"
        )
        assert apart < 1e-9
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    ok = total < BAR and memory < MEMORY_BAR
    print(
        f"{arguments.replies} replies × {arguments.metrics} metrics, {draws.times} halves, both: "
        f"{total:.1f} s, {memory:.2f} GB (bars: {BAR:.0f} s, {MEMORY_BAR:.0f} GB): {'ok' if ok else 'SHORT'}"
    )
    sys.exit(not ok and not arguments.quick)


def made_up(replies: int, metrics: int) -> np.ndarray:
    """Columns that share a cause, every fourth with ties, mostly zero, or with gaps."""
    rng = np.random.default_rng(0)
    cause = rng.normal(size=(replies, 1))
    columns = cause + rng.normal(size=(replies, metrics))
    columns[:, 1::4] = np.round(columns[:, 1::4])
    columns[:, 2::4] = np.maximum(columns[:, 2::4] - 3, 0)
    columns[:100, 3::4] = np.nan
    return columns


def peer(name: str, columns: np.ndarray, clusters: Clusters, found: np.ndarray) -> tuple[float, float]:
    """Seconds for a half, and how far the coefficients differ."""
    weights = next(clusters.weights(Draws(len(found), seed=0)))[:PEER_DRAWS]
    clock, apart = time.perf_counter(), 0.0
    for ours, row in zip(found, weights, strict=False):
        rows = np.flatnonzero(row[clusters.block])
        theirs = pandas.DataFrame(columns[rows]).corr(method=name).to_numpy()
        apart = max(apart, float(np.abs(ours - theirs).max()))
    return (time.perf_counter() - clock) / len(weights), apart


if __name__ == "__main__":
    main()
