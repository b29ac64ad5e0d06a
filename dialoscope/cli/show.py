"""The verb `show`."""

from pathlib import Path
from typing import Annotated

import typer

from dialoscope.cli import options, screen
from dialoscope.cli.options import AsCsv, AsJson, AsMarkdown, Confidence, Draws, Signatures, Significance


def show(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a saved run.")],
    confidence: Confidence = 0.95,
    draws: Draws = 1000,
    significance: Significance = False,
    signatures: Signatures = False,
    json: AsJson = False,
    csv: AsCsv = False,
    markdown: AsMarkdown = False,
) -> None:
    """Print the table of a saved run again, without scoring anything."""
    import dialoscope

    form = options.form(json=json, csv=csv, markdown=markdown)
    result = dialoscope.Result.load(run)
    table = result.table(confidence=confidence, draws=draws, significance=significance)
    screen.warn(result.provenance.notices())
    screen.show_table(table, form, signatures=signatures)
