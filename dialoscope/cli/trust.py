"""The verb `trust`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialoscope.cli import options, screen
from dialoscope.cli.options import (
    AsCsv,
    AsJson,
    AsLatex,
    AsMarkdown,
    Confidence,
    Halves,
    Notes,
    Plot,
    SeedOfRun,
)

if TYPE_CHECKING:
    from dialoscope import Trust
    from dialoscope.report.figures import ForestRow

Runs = Annotated[
    list[Path],
    typer.Argument(
        metavar="RUN...",
        help="Folders of saved runs, one per rated corpus; the correlations of this version by default.",
        show_default=False,
    ),
]
Aspect = Annotated[
    str,
    typer.Option(
        metavar="ASPECT",
        help="Rated aspect: overall (coherence is its proxy where it was not rated), coherence, fluency, "
        "engagement, consistency, or any other by its name.",
    ),
]


def trust(
    runs: Runs = [],
    aspect: Aspect = "overall",
    confidence: Confidence = 0.95,
    draws: Halves = 10_000,
    seed: SeedOfRun = None,
    plot: Plot = None,
    json: AsJson = False,
    csv: AsCsv = False,
    markdown: AsMarkdown = False,
    latex: AsLatex = False,
    notes: Notes = False,
) -> None:
    """Show each metric's correlation on rated corpora."""
    import dialoscope
    from dialoscope.report import figures

    form = options.choose_form(json=json, csv=csv, markdown=markdown, latex=latex)
    results = [dialoscope.Result.load(run) for run in runs]
    names = [run.resolve().name for run in runs]
    correlations = dialoscope.trust(
        *results, names=names, aspect=aspect, confidence=confidence, draws=draws, seed=seed
    )
    screen.show_report(correlations, form, notes=notes)
    screen.draw(lambda: figures.intervals(_rows(correlations), _axis(aspect)), plot)


def _rows(correlations: "Trust") -> "list[ForestRow]":
    from dialoscope.report.figures import ForestRow

    return [
        ForestRow(
            f"{row.metric} ↓" if row.higher_is_better is False else row.metric, *correlations.mean(row)[:3]
        )
        for row in correlations.ranked()
    ]


def _axis(aspect: str) -> str:
    return f"Spearman's ρ with people ({aspect}), over corpora; ↓: less is better"
