"""The verb `agree`."""

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
    Notes,
    Plot,
    RatingFiles,
    Run,
    ScoreFiles,
    SeedOfRun,
    Whose,
)

Coefficient = Annotated[
    str, typer.Option(metavar="pearson|spearman", help="Coefficient that measures agreement.")
]
Length = Annotated[
    str, typer.Option(metavar="METRIC|none", help="Metric held constant, to see what length explains.")
]
Cut = Annotated[
    float,
    typer.Option(metavar="DISTANCE", min=0, max=2, help="Largest distance 1 - r at which clusters merge."),
]
Aspect = Annotated[
    str | None,
    typer.Option(metavar="ASPECT", help="Rated aspect behind the advice; overall, or its proxy, by default."),
]


def agree(
    run: Run,
    ratings: RatingFiles = [],
    scores: ScoreFiles = [],
    map: MapBeside = [],
    aspect: Aspect = None,
    system: Whose = None,
    coefficient: Coefficient = "pearson",
    length: Length = "words",
    cut: Cut = 0.5,
    draws: Halves = 1000,
    confidence: Confidence = 0.95,
    seed: SeedOfRun = None,
    plot: Plot = None,
    json: AsJson = False,
    csv: AsCsv = False,
    markdown: AsMarkdown = False,
    latex: AsLatex = False,
    notes: Notes = False,
) -> None:
    """Show which metrics agree, and advise which to report."""
    import dialoscope
    from dialoscope.report import figures

    form = options.choose_form(json=json, csv=csv, markdown=markdown, latex=latex)
    agreement = dialoscope.agree(
        dialoscope.Result.load(run),
        ratings=options.ratings(ratings, map),
        scores=options.scores(scores, map),
        aspect=aspect,
        system=system,
        coefficient=coefficient,
        length=None if length == "none" else length,
        cut=cut,
        draws=draws,
        confidence=confidence,
        seed=seed,
    )
    screen.show_report(agreement, form, notes=notes)
    view = agreement.plain
    screen.draw(lambda: figures.clustermap(view.r, view.tree.linkage, view.names, view.support), plot)
