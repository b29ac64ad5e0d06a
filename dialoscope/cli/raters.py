"""The verb `raters`."""

from typing import Annotated

import typer

from dialoscope.cli import options, screen
from dialoscope.cli.options import (
    AsCsv,
    AsJson,
    AsLatex,
    AsMarkdown,
    Aspects,
    Confidence,
    Format,
    Halves,
    MapBeside,
    Notes,
    RatingFiles,
    Run,
    SeedOfRun,
    Whose,
)

Normalise = Annotated[
    str | None,
    typer.Option(metavar="scale|rater", help="Put ratings on 0 to 1, by the scale or by each rater's range."),
]
Scale = Annotated[
    list[str],
    typer.Option(
        "--scale", metavar="ASPECT=LOW-HIGH", help="The scale to normalise by, if it is no usual one."
    ),
]


def raters(
    run: Run,
    ratings: RatingFiles = [],
    map: MapBeside = [],
    format: Format = None,
    aspect: Aspects = [],
    system: Whose = None,
    normalise: Normalise = None,
    scale: Scale = [],
    confidence: Confidence = 0.95,
    draws: Halves = 10_000,
    seed: SeedOfRun = None,
    json: AsJson = False,
    csv: AsCsv = False,
    markdown: AsMarkdown = False,
    latex: AsLatex = False,
    notes: Notes = False,
) -> None:
    """Show how far raters agree, who of them does not, and how the rated aspects go together."""
    import dialoscope

    form = options.form(json=json, csv=csv, markdown=markdown, latex=latex)
    scales = options.scales(scale)
    found = dialoscope.raters(
        dialoscope.Result.load(run),
        options.ratings(ratings, map, format),
        aspect=aspect or None,
        system=system,
        normalise=normalise,
        scales=scales,
        confidence=confidence,
        draws=draws,
        seed=seed,
    )
    screen.show_report(found, form, notes=notes)
