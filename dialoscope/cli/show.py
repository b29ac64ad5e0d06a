"""The verb `show`."""

from typing import TYPE_CHECKING, Annotated

import typer

from dialoscope.cli import options, screen
from dialoscope.cli.options import (
    AsCsv,
    AsJson,
    AsLatex,
    AsMarkdown,
    Confidence,
    Draws,
    Mean,
    Notes,
    Run,
    Signatures,
    Significance,
    WithTrust,
)

if TYPE_CHECKING:
    from dialoscope import Result

Explain = Annotated[
    str | None,
    typer.Option(
        metavar="METRIC",
        help="In place of the table: what each reply's value is owed to; self-consistency and composite "
        "can say.",
    ),
]


def show(
    run: Run,
    confidence: Confidence = 0.95,
    mean: Mean = "replies",
    draws: Draws = 1000,
    significance: Significance = False,
    trust: WithTrust = False,
    signatures: Signatures = False,
    explain: Explain = None,
    json: AsJson = False,
    csv: AsCsv = False,
    markdown: AsMarkdown = False,
    latex: AsLatex = False,
    notes: Notes = False,
) -> None:
    """Print the table of a saved run again, without scoring anything."""
    import dialoscope

    form = options.form(json=json, csv=csv, markdown=markdown, latex=latex)
    result = dialoscope.Result.load(run)
    if explain is not None:
        _show_reasons(result, explain, form)
        return
    known = dialoscope.trust() if trust else None
    table = result.table(
        confidence=confidence, draws=draws, significance=significance, trust=known, mean=mean
    )
    screen.warn(result.provenance.notices())
    screen.show_report(
        table, form, notes=notes, signatures=signatures, sources=result.provenance.list_licences()
    )


def _show_reasons(result: "Result", metric: str, form: str) -> None:
    from dialoscope.core.errors import DialoscopeError
    from dialoscope.runs import explanations

    if form not in ("text", "json"):
        raise DialoscopeError(f"--explain cannot be had as --{form}; leave that out, or choose --json.")
    found = result.explanations(metric)
    if form == "json":
        screen.show(explanations.as_json(found))
        return
    said = explanations.texts(result, found[: explanations.SHOWN])
    screen.show(explanations.told(found, said))
    if found and not said:
        screen.note("The data is not where it was, or has changed, so that no texts can be shown.")
