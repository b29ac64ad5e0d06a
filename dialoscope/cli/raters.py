"""The verb `raters`."""

from typing import Annotated

import typer

from dialoscope.cli import options, screen
from dialoscope.cli.options import AsCsv, AsJson, AsMarkdown, Confidence, Draws, Format, Map, Run, SeedOfRun

RatingsFiles = Annotated[
    list[str],
    typer.Option(
        "--ratings",
        metavar="FILE",
        help="What people said of the replies, joined to them by id, in place of the ratings in the run; "
        "several files are taken together.",
    ),
]
Aspects = Annotated[list[str], typer.Option("--aspect", help="What was rated; all of it if not named.")]
Whose = Annotated[
    str | None, typer.Option("--system", help="Whose replies to look at; everybody's if not named.")
]
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
    ratings: RatingsFiles = [],
    map: Map = [],
    format: Format = None,
    aspect: Aspects = [],
    system: Whose = None,
    normalise: Normalise = None,
    scale: Scale = [],
    confidence: Confidence = 0.95,
    draws: Draws = 1000,
    seed: SeedOfRun = None,
    json: AsJson = False,
    csv: AsCsv = False,
    markdown: AsMarkdown = False,
) -> None:
    """Show how far raters agree, who of them does not, and how the rated aspects go together."""
    import dialoscope

    form = options.form(json=json, csv=csv, markdown=markdown)
    scales, columns = options.scales(scale), options.columns(map)
    result = dialoscope.Result.load(run)
    said = dialoscope.read_ratings(*ratings, columns=columns, format=format) if ratings else None
    found = dialoscope.raters(
        result,
        said,
        aspect=aspect or None,
        system=system,
        normalise=normalise,
        scales=scales,
        confidence=confidence,
        draws=draws,
        seed=seed,
    )
    screen.show(found.printed(form))
