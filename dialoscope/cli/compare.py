"""The verb `compare`."""

from pathlib import Path
from typing import Annotated

import typer

from dialoscope.cli import options, screen
from dialoscope.cli.options import (
    AsCsv,
    AsJson,
    AsLatex,
    AsMarkdown,
    Confidence,
    Halves,
    MapBeside,
    Mean,
    Notes,
    Plot,
    RatingFiles,
    Run,
    SeedOfRun,
    Signatures,
)
from dialoscope.core import progress

Systems = Annotated[
    list[str],
    typer.Argument(
        metavar="SYSTEM...",
        help="Systems to compare, the old one before the new; every pair of all systems by default.",
    ),
]
With = Annotated[
    Path | None,
    typer.Option(
        "--with",
        metavar="RUN",
        help="Second run; its systems are compared with those of the same name in RUN.",
    ),
]
Baseline = Annotated[
    str | None,
    typer.Option(metavar="SYSTEM", help="System to compare all others with, in place of every pair."),
]
Metrics = Annotated[
    list[str],
    typer.Option(
        "--metric",
        "-m",
        metavar="METRIC",
        help="Metric of the run, or rated:ASPECT for people's ratings; all by default. Repeatable.",
    ),
]
Gates = Annotated[
    list[str],
    typer.Option(
        "--gate",
        metavar="METRIC>=-MARGIN",
        help="Margin; exit with status 1 if the new system is significantly worse by more: bleu-4>=-0.01, "
        "bleu-4>=-2%, perplexity<=0.5. Repeatable.",
    ),
]
Strict = Annotated[
    bool,
    typer.Option("--strict", help="Exit with status 1 unless the margin is significantly met."),
]


def compare(
    run: Run,
    systems: Systems = [],
    other: With = None,
    baseline: Baseline = None,
    metric: Metrics = [],
    gate: Gates = [],
    strict: Strict = False,
    ratings: RatingFiles = [],
    map: MapBeside = [],
    seed: SeedOfRun = None,
    confidence: Confidence = 0.95,
    mean: Mean = "replies",
    draws: Halves = 10_000,
    signatures: Signatures = False,
    plot: Plot = None,
    json: AsJson = False,
    csv: AsCsv = False,
    markdown: AsMarkdown = False,
    latex: AsLatex = False,
    notes: Notes = False,
) -> None:
    """Test whether one system is better than another.

    With --gate, the exit status stops a release that is worse.
    """
    import dialoscope
    from dialoscope.report import figures

    form = options.choose_form(json=json, csv=csv, markdown=markdown, latex=latex)
    with progress.progress_bar("Comparing", None, unit="pairs") as advance:
        comparisons = dialoscope.compare(
            dialoscope.Result.load(run),
            *systems,
            other=other,
            baseline=baseline,
            metrics=metric,
            gates=gate,
            strict=strict,
            confidence=confidence,
            mean=mean,
            draws=draws,
            seed=seed,
            ratings=options.ratings(ratings, map),
            progress=advance,
        )
    screen.show_report(comparisons, form, notes=notes, signatures=signatures)
    rows = [figures.ForestRow(*bar) for bar in comparisons.bars()]
    screen.draw(lambda: figures.intervals(rows, comparisons.axis, comparisons.title), plot)
    if not comparisons.passed:
        raise typer.Exit(1)
