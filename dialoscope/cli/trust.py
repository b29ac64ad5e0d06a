"""The verb `trust`."""

from pathlib import Path
from typing import Annotated

import typer

from dialoscope.cli import options, screen
from dialoscope.cli.options import AsCsv, AsJson, AsMarkdown, Confidence, Draws, Plot

Runs = Annotated[
    list[Path],
    typer.Argument(
        metavar="[RUN...]",
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
    draws: Draws = 1000,
    plot: Plot = None,
    json: AsJson = False,
    csv: AsCsv = False,
    markdown: AsMarkdown = False,
) -> None:
    """Show how far each metric can be trusted: how it goes with people on rated corpora."""
    import dialoscope
    from dialoscope import figures

    form = options.form(json=json, csv=csv, markdown=markdown)
    if plot is not None:
        figures.ready(plot)
    results = [dialoscope.Result.load(run) for run in runs]
    names = [run.resolve().name for run in runs]
    found = dialoscope.trust(*results, names=names, aspect=aspect, confidence=confidence, draws=draws)
    screen.show(found.printed(form))
    if plot is not None:
        means = [(family.metric, found.mean(family)) for family in found.ranked()]
        rows = [figures.Row(metric, mean.value, mean.low, mean.high) for metric, mean in means]
        drawn = figures.intervals(rows, f"Spearman's ρ with people ({aspect}), over corpora")
        screen.note(f"Drawn in {figures.save(drawn, plot)}")
