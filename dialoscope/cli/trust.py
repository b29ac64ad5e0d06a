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
        metavar="RUN",
        help="Saved runs of different rated corpora; without any, what was measured for this version.",
        show_default=False,
    ),
]
Aspect = Annotated[
    str,
    typer.Option(
        help="What people were asked for: overall (where that was not rated, coherence stands for it), "
        "coherence, fluency, engagement, consistency, or any rated aspect by its name."
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
    """Show how far each metric can be trusted: how it goes with people on rated corpora."""
    import dialoscope
    from dialoscope.report import figures

    form = options.form(json=json, csv=csv, markdown=markdown, latex=latex)
    results = [dialoscope.Result.load(run) for run in runs]
    names = [run.resolve().name for run in runs]
    found = dialoscope.trust(
        *results, names=names, aspect=aspect, confidence=confidence, draws=draws, seed=seed
    )
    screen.show_report(found, form, notes=notes)
    screen.draw(lambda: figures.intervals(_rows(found), _axis(aspect)), plot)


def _rows(found: "Trust") -> "list[ForestRow]":
    from dialoscope.report.figures import ForestRow

    return [
        ForestRow(f"{one.metric} ↓" if one.higher_is_better is False else one.metric, *found.mean(one)[:3])
        for one in found.ranked()
    ]


def _axis(aspect: str) -> str:
    return f"Spearman's ρ with people ({aspect}), over corpora; ↓: less is better"
