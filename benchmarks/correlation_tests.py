"""How often intervals of correlations hold the truth, and how often tests see what is not there.

    python benchmarks/correlation_tests.py [--quick]

Replies to one context share most of what a metric and people say of them. Intervals are those that
`dialoscope correlate` gives (percentiles of draws of contexts) for 60 contexts of four replies; the truth is
what 20,000 contexts have. Tests are of columns that have nothing to do with each other, at .05.
"""

import sys

import numpy as np

from benchmarks._shared import benchmark_parser
from dialoscope.coefficients import NAMES
from dialoscope.meta.halves import interval
from dialoscope.meta.correlation.forms import Groups, form_to_shuffle, grouped
from dialoscope.meta.correlation.levels import AllReplies, Chance, InGroups, Level
from dialoscope.meta.correlation.panel import Panel
from dialoscope.meta.correlation.permutation import exchanged, p_values, together, within
from dialoscope.tally import Floats, Ints

TRIALS, CONTEXTS = 300, 20_000
CHANCE = Chance(draws=400, permutations=1, seed=0)
LOWEST, MOST = 0.90, 0.08
"""Of intervals that should hold the truth in .95, and of tests that should reject in .05."""


def main() -> None:
    """Print both tables, and whether the bars are reached."""
    quick = benchmark_parser(__doc__).parse_args().quick
    held = coverage(2, 500) if quick else coverage(TRIALS, CONTEXTS)
    for name, shares in held.items():
        print(f"{name:9}", *(f"{kind} {share:.3f}" for kind, share in shares.items()))
    sizes = {"contexts of 4": np.full(25, 4), "contexts of 1 to 15": np.arange(30) % 15 + 1}
    rejected = {}
    for name, size in sizes.items():
        context = np.repeat(np.arange(len(size)), size)
        rejected[name] = share_rejected(context, lambda c: exchanged(c, 199, 0))
        plain = share_rejected(context, lambda c: within(np.zeros(len(c), np.int64), 199, 0))
        print(f"rejected of nothing, {name}: {rejected[name]:.3f}; if replies were independent: {plain:.3f}")
    rejected["by system"] = share_rejected_by_system(lambda c, s: together(c, s, 199, 0))
    plain = share_rejected_by_system(lambda c, s: within(s, 199, 0))
    print(f"rejected of nothing, by system: {rejected['by system']:.3f}; if independent: {plain:.3f}")
    lowest, most = min(min(shares.values()) for shares in held.values()), max(rejected.values())
    print(f"lowest coverage {lowest:.3f} (bar {LOWEST}), most rejected {most:.3f} (bar {MOST})")
    sys.exit((lowest < LOWEST and not quick) or most > MOST)


def coverage(trials: int, contexts: int) -> dict[str, dict[str, float]]:
    """By coefficient, by group: in what share of the trials the interval holds the truth."""
    rng = np.random.default_rng(0)
    truth = levels(panel(contexts, rng))
    known = {(name, kind): level.values(name).value for name in NAMES for kind, level in truth.items()}
    held = {name: dict.fromkeys(truth, 0.0) for name in NAMES}
    for _ in range(trials):
        for kind, level in levels(panel(60, rng)).items():
            for name in NAMES:
                low, high = interval(level.drawn(name), 0.95)
                held[name][kind] += float(
                    (low <= known[name, kind])[0, 0] & (known[name, kind] <= high)[0, 0]
                )
    return {name: {kind: count / trials for kind, count in shares.items()} for name, shares in held.items()}


def levels(of: Panel) -> dict[str, Level]:
    """Over all replies, and within groups."""
    return {
        "overall": AllReplies(of, CHANCE, 3),
        "by system": InGroups(of, CHANCE, 3, by_system=True),
        "by item": InGroups(of, CHANCE, 3, by_system=False),
    }


def panel(contexts: int, rng: np.random.Generator) -> Panel:
    """A metric and an aspect that agree by .5 between contexts and by .3 within them; four systems alike."""
    item = np.repeat(np.arange(contexts), 4)
    between = rng.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], contexts)
    inside = rng.multivariate_normal([0, 0], [[1, 0.3], [0.3, 1]], len(item))
    x, y = (between[item] + inside).T
    rows = np.arange(len(item))
    return Panel(None, rows, item, rows % 4, (), ("rated",), x[:, None], np.round(2 * y[:, None]) / 2 + 3)  # type: ignore[arg-type]


def share_rejected(context: Ints, orders) -> float:  # noqa: ANN001
    """Of 100 metrics with 20 aspects, none of which has to do with another."""
    values = columns(context, 120)
    x, y = values[:, :100], np.round(values[:, 100:])
    groups = Groups(np.zeros(len(context), np.int64), 1)
    observed = grouped("spearman", x, y, groups)[0]
    (p,) = p_values([observed], [form_to_shuffle("spearman", x, y, groups)], orders(context))
    return float((p < 0.05).mean())


def share_rejected_by_system(orders) -> float:  # noqa: ANN001
    """The same within systems: 50 contexts, each answered by four of them."""
    context = np.repeat(np.arange(50), 4)
    system = np.arange(len(context)) % 4
    values, groups = columns(context, 120), Groups(system, 4)
    x, y = values[:, :100], np.round(values[:, 100:])
    observed = grouped("spearman", x, y, groups).mean(axis=0)
    forms = [form_to_shuffle("spearman", x, y, groups)]
    (p,) = p_values([observed], forms, orders(context, system))
    return float((p < 0.05).mean())


def columns(context: Ints, many: int) -> Floats:
    """Four fifths of their variance are the context's."""
    rng = np.random.default_rng(3)
    return 2 * rng.normal(size=(context.max() + 1, many))[context] + rng.normal(size=(len(context), many))


if __name__ == "__main__":
    main()
