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

Coefficient = Annotated[str, typer.Option(metavar="pearson|spearman", help="How agreement is measured.")]
Length = Annotated[
    str, typer.Option(metavar="METRIC|none", help="What is held constant to see what length explains.")
]
Cut = Annotated[float, typer.Option(min=0, max=2, help="The distance 1 - r up to which clusters are merged.")]
Aspect = Annotated[
    str | None,
    typer.Option(help="The rated aspect that advice goes by; overall, or what stands for it, if not named."),
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
    """Show which metrics go together, which do so by length alone, and advise which to report."""
    import dialoscope
    from dialoscope.report import figures

    form = options.form(json=json, csv=csv, markdown=markdown, latex=latex)
    found = dialoscope.agree(
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
    screen.show_report(found, form, notes=notes)
    view = found.plain
    screen.draw(lambda: figures.clustermap(view.r, view.tree.linkage, view.names, view.support), plot)
