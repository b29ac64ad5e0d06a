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
        metavar="SYSTEM", help="Which to compare, the old one before the new: every pair, of all if none."
    ),
]
With = Annotated[
    Path | None,
    typer.Option(
        "--with",
        metavar="RUN",
        help="A second run: systems of the first are compared with those of the same name in this one.",
    ),
]
Baseline = Annotated[
    str | None,
    typer.Option(metavar="SYSTEM", help="Compare all others with this one, in place of every pair."),
]
Metrics = Annotated[
    list[str],
    typer.Option(
        "--metric",
        "-m",
        help="Compare by these alone: metrics of the run, rated:ASPECT for what people said.",
    ),
]
Gates = Annotated[
    list[str],
    typer.Option(
        "--gate",
        metavar="METRIC>=-MARGIN",
        help="End with status 1 when the new system is surely worse by more than this: bleu-4>=-0.01, "
        "bleu-4>=-2%, perplexity<=0.5.",
    ),
]
Strict = Annotated[
    bool,
    typer.Option("--strict", help="End with status 1 unless it is surely not worse by more than this."),
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
    """Test whether one system is really better than another, and stop a release that is worse."""
    import dialoscope
    from dialoscope.report import figures

    form = options.form(json=json, csv=csv, markdown=markdown, latex=latex)
    said = options.ratings(ratings, map)
    with progress.bar("Comparing", None, unit="pairs") as more:
        found = dialoscope.compare(
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
            ratings=said,
            progress=more,
        )
    screen.show_report(found, form, notes=notes, signatures=signatures)
    rows = [figures.ForestRow(*bar) for bar in found.bars()]
    screen.draw(lambda: figures.intervals(rows, found.axis, found.title), plot)
    if not found.passed:
        raise typer.Exit(1)
