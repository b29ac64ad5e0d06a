"""The verb `show`."""

from typing import TYPE_CHECKING, Annotated

import typer

from dialoscope.cli import options, screen
from dialoscope.cli.options import (
    AsCsv,
    AsJson,
    AsMarkdown,
    Confidence,
    Draws,
    Mean,
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
) -> None:
    """Print the table of a saved run again, without scoring anything."""
    import dialoscope

    form = options.form(json=json, csv=csv, markdown=markdown)
    result = dialoscope.Result.load(run)
    if explain is not None:
        _show_reasons(result, explain, form)
        return
    known = dialoscope.trust() if trust else None
    table = result.table(
        confidence=confidence, draws=draws, significance=significance, trust=known, mean=mean
    )
    screen.warn(result.provenance.notices())
    screen.show_table(table, form, signatures=signatures, sources=result.provenance.list_licences())


def _show_reasons(result: "Result", metric: str, form: str) -> None:
    from dialoscope.core.errors import DialoscopeError
    from dialoscope.runs import explanations

    if form not in ("text", "json"):
        raise DialoscopeError(f"--explain cannot be had as --{form}; leave that out, or choose --json.")
    found = result.explanations(metric)
    if form == "json":
        screen.show(explanations.as_json(found))
        return
    examples = explanations.read_examples(result, found[: explanations.SHOWN])
    screen.show(explanations.as_text(found, examples))
    if found and not examples:
        screen.note("The data is not where it was, or has changed, so that no texts can be shown.")
