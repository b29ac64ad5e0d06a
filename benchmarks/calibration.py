"""Measure intervals, tests and ceilings against a known truth.

    python benchmarks/calibration.py [TOPIC ...] [--trials 400] [--workers N] [--markdown] [--quick]

Each topic samples data sets with a known true value and measures the coverage of 95 % intervals, the type I
error of tests at .05, and the bias of estimates. Ranges are what the documents claim; a share may leave its
range by three standard errors, since a finite number of trials shows it only roughly. With --quick there is
one trial, and the ranges are not compared. docs/statistics.md has the tables that --markdown prints.
"""

import os
import sys
from importlib import import_module

from benchmarks._shared import benchmark_parser
from benchmarks.calibrations.simulation import Figure

TOPICS = ("values", "comparisons", "correlations", "raters", "distributions", "agreement")
"""The modules of benchmarks/calibrations that have figures."""
QUICK_TRIALS = 1


def main() -> None:
    """Print a table for each topic, and the figures outside their range on the last line."""
    parser = benchmark_parser(__doc__)
    parser.add_argument("topics", nargs="*", metavar="TOPIC", help=f"of {', '.join(TOPICS)}; all by default")
    parser.add_argument("--trials", type=int, default=400, help="number of data sets for each setting")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="number of processes")
    parser.add_argument("--markdown", action="store_true", help="print tables in Markdown")
    chosen = parser.parse_args()
    unknown = set(chosen.topics) - set(TOPICS)
    if unknown:
        parser.error(f"no topic {', '.join(sorted(unknown))}; choose from {', '.join(TOPICS)}")
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # of the workers, which share the cores
    trials, workers = (QUICK_TRIALS, 1) if chosen.quick else (chosen.trials, chosen.workers)
    missed: list[Figure] = []
    measured = 0
    for topic in chosen.topics or TOPICS:
        print(f"\n### {topic}\n" if chosen.markdown else f"\n{topic}")
        if chosen.markdown:
            print("| data | measured | value | claimed | trials |\n|---|---|---|---|---|")
        for figure in import_module(f"benchmarks.calibrations.{topic}").figures(trials, workers):
            measured += 1
            missed += [] if figure.fits else [figure]
            print(_row(figure, markdown=chosen.markdown), flush=True)
    names = "; ".join(f"{figure.setting}, {figure.quantity}: {figure.value:.3f}" for figure in missed)
    ending = f"; not: {names}" if names else ""
    print(f"\n{measured - len(missed)} of {measured} figures in their range, bar {measured}{ending}")
    sys.exit(bool(missed) and not chosen.quick)


def _row(figure: Figure, *, markdown: bool) -> str:
    low, high = figure.low, figure.high
    claimed = "–" if max(-low, high) > 1e300 and min(-low, high) > 1e300 else f"{low:g} to {high:g}"
    cells = [figure.setting, figure.quantity, f"{figure.value:.3f}", claimed, str(figure.trials)]
    if markdown:
        return f"| {' | '.join(cells)} |"
    return f"  {cells[0]:52} {cells[1]:48} {cells[2]:>7}  {cells[3]}" + ("" if figure.fits else "  MISSED")


if __name__ == "__main__":
    main()
