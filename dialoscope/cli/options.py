"""The options that several verbs share, and the functions that parse their values."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dialoscope.core.errors import DataError, DialoscopeError

if TYPE_CHECKING:
    from dialoscope import Metric, Rating, Replies, Score

Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...",
        help="JSONL, CSV, TSV or Parquet files, also gzipped; a folder saved by datasets; - for standard "
        "input.",
    ),
]
Map = Annotated[
    list[str],
    typer.Option(
        "--map", metavar="NAME=COLUMN,...", help="Columns with other names: response=output,context=history."
    ),
]
MapBeside = Annotated[
    list[str],
    typer.Option(
        "--map",
        metavar="NAME=COLUMN,...",
        help="Columns with other names in files of ratings or scores: rating=stars,rater=worker.",
    ),
]
Separator = Annotated[
    str | None, typer.Option(metavar="TEXT", help="Text between turns, or references, that share one cell.")
]
System = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="System of rows that name none; the file's name by default."),
]
Speaker = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Speaker whose turns are the replies, in files of whole dialogues; * for all speakers.",
    ),
]
RepliesOf = Annotated[
    list[str],
    typer.Option(
        "--replies",
        metavar="SYSTEM=FILE",
        help="Replies of one system: plain text in the order of FILE, or rows with ids; FILE then holds the "
        "contexts and references. Repeatable.",
    ),
]
Format = Annotated[
    str | None,
    typer.Option(metavar="jsonl|csv|tsv|parquet", help="Format of the files; from their names by default."),
]
OnError = Annotated[
    str,
    typer.Option(metavar="stop|skip", help="Handling of malformed rows: stop, or skip and count them."),
]
Scale = Annotated[
    list[str],
    typer.Option(
        "--scale",
        metavar="ASPECT=LOW-HIGH",
        help="Scale of a rated aspect, to warn of ratings outside it. Repeatable.",
    ),
]
Confidence = Annotated[
    float, typer.Option(metavar="SHARE", min=0.5, max=0.999, help="Confidence level of the intervals.")
]
Draws = Annotated[int, typer.Option(metavar="N", min=100, max=1_000_000, help="Number of resamples.")]
Halves = Annotated[
    int,
    typer.Option(
        "--draws", metavar="N", min=100, max=1_000_000, help="Number of random halves of the contexts."
    ),
]
Mean = Annotated[
    str,
    typer.Option(
        metavar="replies|contexts",
        help="Unit that means are taken over; with contexts, each context counts equally.",
    ),
]
Significance = Annotated[
    bool, typer.Option("--significance", help="Test each system against the best one, metric by metric.")
]
WithTrust = Annotated[
    bool, typer.Option("--trust", help="Add each metric's correlation with people on rated corpora.")
]
Signatures = Annotated[bool, typer.Option("--signatures", help="Print the signature of each metric.")]
Run = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a saved run.")]
RatingFiles = Annotated[
    list[str],
    typer.Option(
        "--ratings",
        metavar="FILE",
        help="Ratings, joined to the replies by id, in place of those in the run. Repeatable.",
    ),
]
Aspects = Annotated[
    list[str],
    typer.Option("--aspect", metavar="ASPECT", help="Rated aspect; all aspects by default. Repeatable."),
]
Whose = Annotated[
    str | None,
    typer.Option("--system", metavar="NAME", help="System whose replies are used; all by default."),
]
ScoreFiles = Annotated[
    list[str],
    typer.Option(
        "--scores",
        metavar="FILE",
        help="Scores made by other programs, joined to the replies by id. Repeatable.",
    ),
]


def _check_plot(plot: Path | None) -> Path | None:
    """Refuse a figure that cannot be drawn before anything is computed."""
    if plot is not None:
        from dialoscope.report import figures

        figures.check_file(plot)
    return plot


Plot = Annotated[
    Path | None,
    typer.Option(metavar="FILE", callback=_check_plot, help="File for a figure: .svg, .png or .pdf."),
]
SeedOfRun = Annotated[
    int | None, typer.Option("--seed", metavar="N", min=0, help="Random seed; the run's own by default.")
]
Licence = Annotated[
    str | None,
    typer.Option(
        metavar="any|permissive",
        help="Models to use: any, or only those with permissive licences; DIALOSCOPE_LICENCE by default.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
AsCsv = Annotated[bool, typer.Option("--csv", help="Print CSV.")]
AsMarkdown = Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")]
AsLatex = Annotated[bool, typer.Option("--latex", help="Print a LaTeX table (booktabs).")]
Notes = Annotated[bool, typer.Option("--notes", help="Print all notes, not only the short ones.")]


_NUMBER = r"-?(?:\d+\.?\d*|\.\d+)"


def parse_columns(texts: Sequence[str]) -> dict[str, str]:
    """Parse `response=output,context=history`."""
    return _pairs(",".join(texts).split(","), "--map", "response=output")


def parse_replies(texts: Sequence[str]) -> dict[str, str]:
    """Parse texts such as `bot=replies.txt`."""
    return _pairs(texts, "--replies", "bot=replies.txt")


def parse_scales(texts: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Parse texts such as `coherence=1-5`."""
    ends_of = {}
    for aspect, text in _pairs(texts, "--scale", "coherence=1-5").items():
        match = re.fullmatch(rf"({_NUMBER})-({_NUMBER})", text)
        if not match or float(match[1]) >= float(match[2]):
            raise DataError(f"--scale {aspect}={text} is not understood; write --scale {aspect}=1-5.")
        ends_of[aspect] = (float(match[1]), float(match[2]))
    return ends_of


def read_source(
    files: Sequence[str],
    replies_of: Sequence[str],
    map_of: Sequence[str],
    **options: Any,  # noqa: ANN401
) -> "Replies":
    """The replies that the options on input name."""
    import dialoscope

    return dialoscope.read(
        *files, replies=parse_replies(replies_of), columns=parse_columns(map_of), **options
    )


def ratings(
    files: Sequence[str], map_of: Sequence[str], form: str | None = None
) -> "tuple[Rating, ...] | None":
    """The ratings in separate files; None if no file is named."""
    import dialoscope

    return dialoscope.read_ratings(*files, columns=parse_columns(map_of), format=form) if files else None


def scores(files: Sequence[str], map_of: Sequence[str]) -> "tuple[Score, ...] | None":
    """The scores in separate files; None if no file is named."""
    import dialoscope

    return dialoscope.read_scores(*files, columns=parse_columns(map_of)) if files else None


def metrics(
    names: Sequence[str], suites: Sequence[str], licence: str | None
) -> "list[Metric[Any] | str] | None":
    """The metrics that are named, singly or as suites; None if there are none."""
    import dialoscope
    from dialoscope.models.registry.licences import read_choice

    choice = read_choice(licence)
    return [*names, *(metric for name in suites for metric in dialoscope.suite(name, licence=choice))] or None


def choose_form(*, json: bool = False, csv: bool = False, markdown: bool = False, latex: bool = False) -> str:
    """The form in which a table is printed."""
    forms = {"json": json, "csv": csv, "markdown": markdown, "latex": latex}
    chosen = [name for name, is_chosen in forms.items() if is_chosen]
    if len(chosen) > 1:
        raise DialoscopeError(f"--{' and --'.join(chosen)} exclude each other; choose one.")
    return chosen[0] if chosen else "text"


def _pairs(texts: Sequence[str], option: str, example: str) -> dict[str, str]:
    values: dict[str, str] = {}
    for text in filter(None, texts):
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise DataError(f"{option} {text} is not understood; write {option} {example}.")
        if name in values:
            raise DataError(f"{option} names '{name}' twice.")
        values[name] = value
    return values
