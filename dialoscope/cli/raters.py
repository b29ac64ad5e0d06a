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
    typer.Option(
        metavar="scale|rater",
        help="Range that ratings are mapped from to 0–1: the scale, or each rater's own range.",
    ),
]
Scale = Annotated[
    list[str],
    typer.Option("--scale", metavar="ASPECT=LOW-HIGH", help="Scale to normalise by, if not a usual one."),
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
    """Measure how well raters agree, and who does not."""
    import dialoscope

    form = options.choose_form(json=json, csv=csv, markdown=markdown, latex=latex)
    report = dialoscope.raters(
        dialoscope.Result.load(run),
        options.ratings(ratings, map, format),
        aspect=aspect or None,
        system=system,
        normalise=normalise,
        scales=options.parse_scales(scale),
        confidence=confidence,
        draws=draws,
        seed=seed,
    )
    screen.show_report(report, form, notes=notes)
