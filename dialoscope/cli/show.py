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
        help="Metric whose values are explained reply by reply, in place of the table: "
        "self-consistency or composite.",
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
    """Print the table of a saved run without scoring again."""
    import dialoscope

    form = options.choose_form(json=json, csv=csv, markdown=markdown, latex=latex)
    result = dialoscope.Result.load(run)
    if explain is not None:
        _show_explanations(result, explain, form)
        return
    table = result.table(
        confidence=confidence,
        draws=draws,
        significance=significance,
        trust=dialoscope.trust() if trust else None,
        mean=mean,
    )
    screen.warn(result.provenance.notices())
    screen.show_report(
        table, form, notes=notes, signatures=signatures, sources=result.provenance.list_licences()
    )


def _show_explanations(result: "Result", metric: str, form: str) -> None:
    from dialoscope.core.errors import DialoscopeError
    from dialoscope.runs import explanations

    if form not in ("text", "json"):
        raise DialoscopeError(f"--explain has no --{form}; leave that out, or choose --json.")
    values = result.explanations(metric)
    if form == "json":
        screen.show(explanations.as_json(values))
        return
    examples = explanations.read_examples(result, values[: explanations.SHOWN])
    screen.show(explanations.as_text(values, examples))
    if values and not examples:
        screen.note("The data is not where it was, or has changed, so that no texts can be shown.")
