"""The verb `audit`."""

from typing import Annotated, Any

import typer

from dialoscope.cli import options, screen
from dialoscope.cli.options import (
    AsCsv,
    AsJson,
    AsLatex,
    AsMarkdown,
    Confidence,
    Draws,
    Files,
    Format,
    Licence,
    Map,
    Notes,
    OnError,
    RepliesOf,
    Separator,
    Signatures,
    Speaker,
)
from dialoscope.cli.score import MetricNames, Missing, Output, Overwrite, Real, Suites
from dialoscope.core.errors import DialoscopeError
from dialoscope.core.progress import progress_bar

Perturbations = Annotated[
    list[str],
    typer.Option(
        "--perturbation",
        "-p",
        metavar="noise|swap|shuffle|generic",
        help="Kind of perturbation; all by default. Repeatable.",
    ),
]
Ratios = Annotated[
    str | None,
    typer.Option(
        metavar="SHARE,...", help="Shares of the replies to perturb; 0,0.2,0.4,0.6,0.8,1 by default."
    ),
]
Against = Annotated[
    str | None,
    typer.Option(
        metavar="others|itself",
        help="Text that a reply is compared with: its other references (the default if every reply has "
        "some), or itself unperturbed.",
    ),
]
Seed = Annotated[
    int, typer.Option(metavar="N", min=0, help="Random seed of perturbations, intervals and tests.")
]


def audit(
    files: Files,
    metric: MetricNames = [],
    suite: Suites = [],
    perturbation: Perturbations = [],
    ratios: Ratios = None,
    against: Against = None,
    output: Output = None,
    overwrite: Overwrite = False,
    map: Map = [],
    separator: Separator = None,
    speaker: Speaker = None,
    replies: RepliesOf = [],
    format: Format = None,
    on_error: OnError = "stop",
    missing: Missing = None,
    real: Real = None,
    licence: Licence = None,
    seed: Seed = 0,
    confidence: Confidence = 0.95,
    draws: Draws = 1000,
    signatures: Signatures = False,
    json: AsJson = False,
    csv: AsCsv = False,
    markdown: AsMarkdown = False,
    latex: AsLatex = False,
    notes: Notes = False,
) -> None:
    """Degrade real replies step by step: which metrics notice?"""
    import dialoscope
    from dialoscope.runs.store import check_target

    form = options.choose_form(json=json, csv=csv, markdown=markdown, latex=latex)
    if output is not None:
        check_target(output, overwrite=overwrite)
    metrics = options.metrics(metric, suite, licence)
    choices: dict[str, Any] = {"perturbations": perturbation, "ratios": _ratios(ratios)}
    source = options.read_source(
        files,
        replies,
        map,
        separator=separator,
        speaker=speaker,
        format=format,
        on_error=on_error,
    )
    with progress_bar("Auditing", source.size()) as progress:
        report = dialoscope.audit(
            source,
            metrics,
            against=against,
            missing=missing,
            real=real,
            licence=licence,
            seed=seed,
            confidence=confidence,
            draws=draws,
            progress=progress,
            **{name: value for name, value in choices.items() if value},
        )
    screen.warn(report.result.provenance.notices())
    screen.show_report(report, form, notes=notes, signatures=signatures)
    if output is not None:  # last, so that the table is printed even if the disk fails
        report.save(output, overwrite=overwrite)
        screen.note(f"Saved to {output}")


def _ratios(text: str | None) -> list[float]:
    """Parse `0,0.5,1`."""
    try:
        return [float(word) for word in text.split(",")] if text is not None else []
    except ValueError:
        raise DialoscopeError(f"--ratios {text} is not understood; write --ratios 0,0.5,1.") from None
