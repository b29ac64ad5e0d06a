"""Coverage of intervals of correlations, and type I errors of their tests.

    python benchmarks/correlation_tests.py [--quick]

Most of the variance of scores and ratings is between contexts. Intervals are those of `dialoscope correlate`
for 60 contexts of four replies; the true value is that of 20,000 contexts. Tests at .05 are of independent
columns, with contexts of one size and of many: a context
with 2, 5 or 20 % of all replies, sizes that fall as one over their rank, and openings that a fifth of the
replies share. Beside them are a test that assumes independent replies, and the power for a true correlation.
benchmarks/calibration.py has tests within systems and contexts.
"""

import sys
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.stats import spearmanr

from benchmarks._shared import benchmark_parser
from dialoscope.analysis.coefficients import NAMES
from dialoscope.analysis.correlation.levels import AllReplies, CorrelationLevel, InGroups, RandomDraws
from dialoscope.analysis.correlation.panel import Panel
from dialoscope.core.arrays import Floats, Ints

TRIALS, CONTEXTS = 300, 20_000
RANDOM = RandomDraws(draws=1000, permutations=1, seed=0)
MIN_COVERAGE, MIN_REJECTED, MAX_REJECTED, AGREEMENT = 0.90, 0.035, 0.065, 0.97
"""Nominal values are .95 for coverage, .05 for rejections, and 1 for the agreement of p and interval."""
METRICS, ASPECTS, DATA_SETS = 60, 8, 12
"""Columns of each data set, all of which are independent."""
R = {30: 0.5, 100: 0.3, 1000: 0.1}
"""The correlation whose power is measured, by the number of contexts."""
LAYOUTS: dict[str, Callable[[int], Ints]] = {
    "one reply each": lambda n: np.ones(n, np.int64),
    "four replies each": lambda n: np.full(n, 4),
    "1 to 15 replies": lambda n: np.arange(n) % 15 + 1,
    "one with 2 %": lambda n: one_large(n, 0.02),
    "one with 5 %": lambda n: one_large(n, 0.05),
    "one with 20 %": lambda n: one_large(n, 0.2),
    "power law": lambda n: np.maximum(1, np.round(n / np.arange(1, n + 1))).astype(np.int64),
    "shared openings": lambda n: np.concatenate(
        [np.full(n // 20 + 1, 5), np.ones(n - n // 20 - 1, np.int64)]
    ),
}
"""By name, the number of replies to each of so many contexts."""


def one_large(contexts: int, share: float) -> Ints:
    """One context with this share of all replies, the others with one reply each."""
    large = max(2, round(share * (contexts - 1) / (1 - share)))
    return np.concatenate([[large], np.ones(contexts - 1, np.int64)])


class Tests(NamedTuple):
    """Results of tests at .05 on one layout."""

    rejected: float
    """The share that rejects where columns are independent."""
    agreed: float
    """The share in which the interval excludes 0 exactly where p is below .05."""
    power: float
    independent: float
    """The share that a test rejects which assumes independent replies."""


def main() -> None:
    """Print the tables, and whether the bars are reached."""
    quick = benchmark_parser(__doc__).parse_args().quick
    held = measure_coverage(2, 500) if quick else measure_coverage(TRIALS, CONTEXTS)
    print("95 % intervals of 60 contexts of four replies contain the true value in")
    for name, shares in held.items():
        print(f"  {name:9}", *(f"{kind} {share:.3f}" for kind, share in shares.items()))
    results = []
    print(f"{'tests at .05':44}{'rejected':>8}{'agreed':>8}{'power (r)':>13}{'if independent':>16}")
    for contexts in (30,) if quick else R:
        for layout in LAYOUTS:
            names = ("spearman",) if quick or contexts != 100 else ("spearman", "pearson", "kendall")
            for name in names:
                tests = measure(LAYOUTS[layout](contexts), name, R[contexts], 1 if quick else DATA_SETS)
                results.append(tests)
                setting, power = (
                    f"{name}, {contexts} contexts, {layout}",
                    f"{tests.power:.2f} ({R[contexts]:g})",
                )
                print(
                    f"{setting:44}{tests.rejected:8.3f}{tests.agreed:8.3f}{power:>13}{tests.independent:16.3f}",
                    flush=True,
                )
    lowest = min(min(shares.values()) for shares in held.values())
    least, most = (end(tests.rejected for tests in results) for end in (min, max))
    agreed = min(tests.agreed for tests in results)
    print(
        f"lowest coverage {lowest:.3f} (bar {MIN_COVERAGE}), rejected {least:.3f} to {most:.3f} "
        f"(bar {MIN_REJECTED} to {MAX_REJECTED}), p and interval agree in {agreed:.3f} (bar {AGREEMENT})"
    )
    ok = lowest >= MIN_COVERAGE and least >= MIN_REJECTED and most <= MAX_REJECTED and agreed >= AGREEMENT
    sys.exit(not ok and not quick)


def measure(sizes: Ints, name: str, r: float, data_sets: int) -> Tests:
    """Tests of many metrics and aspects on data sets of one layout."""
    item = np.repeat(np.arange(len(sizes)), sizes)
    rng = np.random.default_rng([len(sizes), *map(ord, name)])
    found = []
    for _ in range(data_sets):
        x, y = make_columns(item, METRICS, rng), make_columns(item, ASPECTS, rng)
        p, excluded = run_tests(item, name, x, y)
        related = r * y[:, :1] / y[:, :1].std() + np.sqrt(1 - r * r) * x / x.std(axis=0)
        strong, _ = run_tests(item, name, related, y[:, :1])
        independent = np.mean([[spearmanr(ours, theirs).pvalue < 0.05 for ours in x.T] for theirs in y.T[:2]])
        found.append(
            [(p < 0.05).mean(), ((p < 0.05) == excluded).mean(), (strong < 0.05).mean(), independent]
        )
    return Tests(*np.mean(found, axis=0).tolist())


def run_tests(item: Ints, name: str, x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return p-values of each metric with each aspect, and whether intervals exclude 0."""
    level = AllReplies(of_columns(item, np.zeros_like(item), x, np.round(y)), RANDOM, 3)
    found = level.inference(name, level.values(name).value, 0.95)
    return found.p, (found.low > 0) | (found.high < 0)


def make_columns(item: Ints, count: int, rng: np.random.Generator) -> Floats:
    """Return random columns with four fifths of their variance between contexts."""
    of_item: Floats = 2 * rng.normal(size=(int(item.max()) + 1, count))[item] + rng.normal(
        size=(len(item), count)
    )
    return of_item


def of_columns(item: Ints, system: Ints, x: Floats, y: Floats) -> Panel:
    """Return a panel of columns without a result."""
    return Panel(None, np.arange(len(item)), item, system, (), ("rated",), x, y)  # type: ignore[arg-type]


def measure_coverage(trials: int, contexts: int) -> dict[str, dict[str, float]]:
    """Return the coverage of intervals by coefficient and by group."""
    rng = np.random.default_rng(0)
    truth = levels(panel(contexts, rng))
    true_values = {(name, kind): level.values(name).value for name in NAMES for kind, level in truth.items()}
    held = {name: dict.fromkeys(truth, 0.0) for name in NAMES}
    for _ in range(trials):
        for kind, level in levels(panel(60, rng)).items():
            for name in NAMES:
                found = level.inference(name, level.values(name).value, 0.95)
                held[name][kind] += float(
                    found.low[0, 0] <= true_values[name, kind][0, 0] <= found.high[0, 0]
                )
    return {name: {kind: count / trials for kind, count in shares.items()} for name, shares in held.items()}


def levels(of: Panel) -> dict[str, CorrelationLevel]:
    """Return the levels of correlation: all replies, and within groups."""
    return {
        "overall": AllReplies(of, RANDOM, 3),
        "by system": InGroups(of, RANDOM, 3, by_system=True),
        "by item": InGroups(of, RANDOM, 3, by_system=False),
    }


def panel(contexts: int, rng: np.random.Generator) -> Panel:
    """Return a metric and an aspect correlated by .5 between contexts and .3 within; systems are equal."""
    item = np.repeat(np.arange(contexts), 4)
    between = rng.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], contexts)
    inside = rng.multivariate_normal([0, 0], [[1, 0.3], [0.3, 1]], len(item))
    x, y = (between[item] + inside).T
    return of_columns(item, np.arange(len(item)) % 4, x[:, None], np.round(2 * y[:, None]) / 2 + 3)


if __name__ == "__main__":
    main()
