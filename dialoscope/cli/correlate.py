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
from dialoscope.core.progress import progress_bar

Levels = Annotated[
    list[str],
    typer.Option(
        "--level", metavar="reply|system", help="Level of the correlations; both by default. Repeatable."
    ),
]
Groups = Annotated[
    list[str],
    typer.Option(
        "--group",
        metavar="overall|system|item",
        help="Replies that are correlated: all together, or within each system or item (context) and then "
        "averaged; all three by default. Repeatable.",
    ),
]
Coefficients = Annotated[
    list[str],
    typer.Option(
        "--coefficient",
        metavar="NAME",
        help="Coefficient: pearson, spearman, kendall, cosine or accuracy; all by default. Repeatable.",
    ),
]
SystemValue = Annotated[
    str,
    typer.Option(
        metavar="own|mean",
        help="Value of a system: the metric's own for all its replies, or the mean over them.",
    ),
]
MinPoints = Annotated[int, typer.Option(min=2, help="Smallest number of replies or systems for it.")]
Permutations = Annotated[
    int, typer.Option(metavar="N", min=100, help="Number of permutations, for tests over systems.")
]
Better = Annotated[
    tuple[str, str] | None,
    typer.Option(
        metavar="METRIC METRIC",
        help="Two metrics, to test which correlates better with people, in place of the tables.",
    ),
]
EveryPair = Annotated[
    bool, typer.Option("--every-pair", help="Run the test of --better for every two metrics.")
]
Figure = Annotated[str, typer.Option(metavar="scatter|intervals|heatmap", help="Kind of figure for --plot.")]


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
    """Correlate each metric of a run with people's ratings."""
    import dialoscope
    from dialoscope.report.figures.correlated import check_kind, draw_correlations

    form = options.choose_form(json=json, csv=csv, markdown=markdown, latex=latex)
    check_kind(figure)
    pairs = every_pair or better is not None
    choices: dict[str, Any] = {"levels": level, "groups": group, "coefficients": coefficient}
    if pairs:
        _check_pairs(choices, twice=every_pair and better is not None)
        # Pairs of metrics need no other coefficients.
        choices = {"levels": ["reply"], "groups": ["overall"], "coefficients": coefficient or ["spearman"]}
    with progress_bar("Correlating", None, unit="coefficients") as progress:
        correlations = dialoscope.correlate(
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
            **{name: values for name, values in choices.items() if values},
        )
    shown = correlations.better(*(better or ())) if pairs else correlations
    screen.show_report(shown, form, notes=notes, signatures=signatures)
    screen.draw(lambda: draw_correlations(correlations, figure), plot)


def _check_pairs(choices: dict[str, list[str]], *, twice: bool) -> None:
    """Refuse options that a comparison of metrics does not have."""
    if twice:
        raise DialoscopeError("--better and --every-pair exclude each other; choose one.")
    if choices["levels"] or choices["groups"] or len(choices["coefficients"]) > 1:
        raise DialoscopeError(
            "Metrics are compared over all replies by one coefficient; leave --level, --group and a second "
            "--coefficient out."
        )
