"""Measure intervals, tests and ceilings against a known truth.

    python benchmarks/calibration.py [TOPIC ...] [--trials 400] [--workers N] [--markdown] [--quick]

Each topic draws data sets of which the truth is known, and counts how often the 95 % intervals hold it, how often
tests at .05 reject where nothing is to be found, and how far estimates are from the truth. docs/statistics.md has
the table that --markdown prints.
"""

import os
import sys
from importlib import import_module

from benchmarks._shared import benchmark_parser
from benchmarks.calibrations.simulation import Figure

TOPICS = ("raters", "distributions", "agreement", "correlations", "comparisons", "values")
"""The modules of benchmarks/calibrations that have figures."""
QUICK_TRIALS = 2


def main() -> None:
    """Print a table for each topic, and the figures that are out of their range on the last line."""
    parser = benchmark_parser(__doc__)
    parser.add_argument("topics", nargs="*", metavar="TOPIC", help=f"of {', '.join(TOPICS)}; all by default")
    parser.add_argument("--trials", type=int, default=400, help="data sets for each setting")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="number of processes")
    parser.add_argument("--markdown", action="store_true", help="print tables in Markdown")
    chosen = parser.parse_args()
    unknown = set(chosen.topics) - set(TOPICS)
    if unknown:
        parser.error(f"no topic {', '.join(sorted(unknown))}; choose from {', '.join(TOPICS)}")
    trials, workers = (QUICK_TRIALS, 1) if chosen.quick else (chosen.trials, chosen.workers)
    missed: list[Figure] = []
    measured = 0
    for topic in chosen.topics or TOPICS:
        figures = import_module(f"benchmarks.calibrations.{topic}").figures(trials, workers)
        print(f"\n### {topic}\n" if chosen.markdown else f"\n{topic}")
        if chosen.markdown:
            print("| data | measured | value | must be | trials |\n|---|---|---|---|---|")
        for one in figures:
            measured += 1
            missed += [] if one.fits else [one]
            print(_row(one, markdown=chosen.markdown), flush=True)
    named = "; ".join(f"{one.setting}, {one.quantity}: {one.value:.3f}" for one in missed)
    print(
        f"\n{measured - len(missed)} of {measured} figures in their range"
        + (f"; not: {named}" if named else "")
    )
    sys.exit(bool(missed) and not chosen.quick)


def _row(one: Figure, *, markdown: bool) -> str:
    bounds = [
        f"{name} {end:g}" for name, end in (("at least", one.low), ("at most", one.high)) if abs(end) < 1e300
    ]
    cells = [one.setting, one.quantity, f"{one.value:.3f}", ", ".join(bounds) or "–", str(one.trials)]
    if markdown:
        return f"| {' | '.join(cells)} |"
    return f"  {cells[0]:44} {cells[1]:34} {cells[2]:>7}  {cells[3]}" + ("" if one.fits else "  MISSED")


if __name__ == "__main__":
    main()
