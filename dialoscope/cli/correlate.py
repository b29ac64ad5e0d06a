"""The verb `correlate`."""

from typing import Annotated, Any

import typer

from dialoscope.cli import options, screen
from dialoscope.cli.options import (
    AsCsv,
    AsJson,
    AsLatex,
    AsMarkdown,
    Aspects,
    Confidence,
    Halves,
    MapBeside,
    Notes,
    Plot,
    RatingFiles,
    Run,
    ScoreFiles,
    SeedOfRun,
    Signatures,
)
from dialoscope.core.errors import DialoscopeError
from dialoscope.core.progress import bar

Levels = Annotated[list[str], typer.Option("--level", help="reply or system; both if none is named.")]
Groups = Annotated[
    list[str],
    typer.Option(
        "--group",
        help="Of replies: overall, or the mean of those within each system or each item (context); all "
        "three if none is named.",
    ),
]
Coefficients = Annotated[
    list[str],
    typer.Option(
        "--coefficient", help="pearson, spearman, kendall, cosine or accuracy; all of them if none is named."
    ),
]
SystemValue = Annotated[
    str,
    typer.Option(
        metavar="own|mean",
        help="What a metric says of a system: its own value for all replies, or the mean over them.",
    ),
]
MinPoints = Annotated[int, typer.Option(min=2, help="Smallest number of replies or systems for it.")]
Permutations = Annotated[
    int, typer.Option(min=100, help="Number of permutations of the systems, for tests over systems.")
]
Better = Annotated[
    tuple[str, str] | None,
    typer.Option(
        metavar="METRIC METRIC",
        help="In place of the tables: which of two metrics follows people more closely.",
    ),
]
EveryPair = Annotated[
    bool, typer.Option("--every-pair", help="In place of the tables: the same for every two metrics.")
]
Figure = Annotated[str, typer.Option(metavar="scatter|intervals|heatmap", help="What --plot draws.")]


def correlate(
    run: Run,
    ratings: RatingFiles = [],
    aspect: Aspects = [],
    scores: ScoreFiles = [],
    map: MapBeside = [],
    level: Levels = [],
    group: Groups = [],
    coefficient: Coefficients = [],
    system_value: SystemValue = "own",
    min_points: MinPoints = 3,
    better: Better = None,
    every_pair: EveryPair = False,
    confidence: Confidence = 0.95,
    draws: Halves = 10_000,
    permutations: Permutations = 10_000,
    seed: SeedOfRun = None,
    plot: Plot = None,
    figure: Figure = "scatter",
    signatures: Signatures = False,
    json: AsJson = False,
    csv: AsCsv = False,
    markdown: AsMarkdown = False,
    latex: AsLatex = False,
    notes: Notes = False,
) -> None:
    """Show how well each metric of a run follows what people said of its replies."""
    import dialoscope
    from dialoscope.report.figures.correlated import check_kind, draw_correlations

    form = options.form(json=json, csv=csv, markdown=markdown, latex=latex)
    check_kind(figure)
    pairs = every_pair or better is not None
    chosen: dict[str, Any] = {"levels": level, "groups": group, "coefficients": coefficient}
    if pairs:
        _check_pairs(chosen, twice=every_pair and better is not None)
        # Nothing else need be made for them.
        chosen = {"levels": ["reply"], "groups": ["overall"], "coefficients": coefficient or ["spearman"]}
    with bar("Correlating", None, unit="coefficients") as progress:
        found = dialoscope.correlate(
            dialoscope.Result.load(run),
            options.ratings(ratings, map),
            aspect=aspect or None,
            scores=options.scores(scores, map),
            system_value=system_value,
            min_points=min_points,
            confidence=confidence,
            draws=draws,
            permutations=permutations,
            seed=seed,
            progress=progress,
            **{name: named for name, named in chosen.items() if named},
        )
    shown = found.better(*(better or ())) if pairs else found
    screen.show_report(shown, form, notes=notes, signatures=signatures)
    screen.draw(lambda: draw_correlations(found, figure), plot)


def _check_pairs(chosen: dict[str, list[str]], *, twice: bool) -> None:
    """Say what cannot be had where metrics are compared with each other."""
    if twice:
        raise DialoscopeError("--better and --every-pair cannot both be had; choose one.")
    if chosen["levels"] or chosen["groups"] or len(chosen["coefficients"]) > 1:
        raise DialoscopeError(
            "Metrics are compared over all replies by one coefficient; leave --level, --group and a second "
            "--coefficient out."
        )
