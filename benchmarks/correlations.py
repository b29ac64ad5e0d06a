"""All pairwise correlations of 40 metrics on 10,000 replies, in 1,000 random halves of the contexts.

    python benchmarks/correlations.py [--replies 10000] [--metrics 40] [--draws 1000] [--quick]

Columns of several kinds (smooth, with ties, mostly zero, with gaps), four replies to a context. The peer is
`DataFrame.corr` of pandas on the replies of each half, in the same run; it is timed on a few halves, and must
find the same coefficients.
"""

import sys
import time

import numpy as np
import pandas

from benchmarks._shared import benchmark_parser, peak_memory
from dialoscope.analysis.halves import Clusters, in_halves
from dialoscope.runs.resampling import Resamples, halves_interval

BAR, MEMORY_BAR = 30.0, 1.0
PEER_DRAWS = 3


def main() -> None:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--replies", type=int, default=10_000, help="number of replies")
    parser.add_argument("--metrics", type=int, default=40, help="number of metrics")
    parser.add_argument("--draws", type=int, default=1000, help="number of random halves")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.replies, arguments.metrics, arguments.draws = 800, 8, 60
    columns = make_columns(arguments.replies, arguments.metrics)
    clusters, draws = (
        Clusters.of(np.arange(arguments.replies) // 4, seed=0),
        Resamples(arguments.draws, seed=0),
    )
    total = 0.0
    for name in ("pearson", "spearman"):
        clock = time.perf_counter()
        coefficients = in_halves(name, columns, columns, clusters, draws)
        ends = halves_interval(coefficients, 0.95, flat=True)
        ours = time.perf_counter() - clock
        total += ours
        theirs, difference = time_peer(name, columns, clusters, coefficients)
        defined = np.isfinite(ends).all(axis=0).mean()
        print(
            f"{name}: {ours:.1f} s, pandas {theirs * draws.times:.0f} s for as many halves "
            f"({theirs * draws.times / ours:.0f} times), largest difference {difference:.1e}, "
            f"intervals defined for {defined:.1%} of the pairs"
        )
        assert difference < 1e-9
    memory = peak_memory()
    ok = total < BAR and memory < MEMORY_BAR
    print(
        f"{arguments.replies} replies × {arguments.metrics} metrics, {draws.times} halves, both: "
        f"{total:.1f} s, {memory:.2f} GB (bars: {BAR:.0f} s, {MEMORY_BAR:.0f} GB): {'ok' if ok else 'SHORT'}"
    )
    sys.exit(not ok and not arguments.quick)


def make_columns(replies: int, metrics: int) -> np.ndarray:
    """Return columns with a common cause, every fourth with ties, mostly zero, or with gaps."""
    rng = np.random.default_rng(0)
    cause = rng.normal(size=(replies, 1))
    columns = cause + rng.normal(size=(replies, metrics))
    columns[:, 1::4] = np.round(columns[:, 1::4])
    columns[:, 2::4] = np.maximum(columns[:, 2::4] - 3, 0)
    columns[:100, 3::4] = np.nan
    return columns


def time_peer(
    name: str, columns: np.ndarray, clusters: Clusters, coefficients: np.ndarray
) -> tuple[float, float]:
    """Return the seconds of pandas for a half, and the largest difference of a coefficient."""
    weights = next(clusters.weights(Resamples(len(coefficients), seed=0)))[:PEER_DRAWS]
    clock, difference = time.perf_counter(), 0.0
    for ours, row in zip(coefficients, weights, strict=False):
        rows = np.flatnonzero(row[clusters.block])
        theirs = pandas.DataFrame(columns[rows]).corr(method=name).to_numpy()
        difference = max(difference, float(np.abs(ours - theirs).max()))
    return (time.perf_counter() - clock) / len(weights), difference


if __name__ == "__main__":
    main()
