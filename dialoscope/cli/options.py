"""Options that several verbs share, and how their texts are read."""

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
        help="JSONL, CSV, TSV or Parquet, gzipped too, or a folder saved by datasets; - is standard input.",
    ),
]
Map = Annotated[
    list[str],
    typer.Option(
        "--map", metavar="NAME=COLUMN,...", help="Columns of other names: response=output,context=history."
    ),
]
MapBeside = Annotated[
    list[str],
    typer.Option(
        "--map",
        metavar="NAME=COLUMN,...",
        help="Columns of other names in files of ratings or scores: rating=stars,rater=worker.",
    ),
]
Separator = Annotated[
    str | None, typer.Option(help="What stands between the turns of a context, or references, in one text.")
]
System = Annotated[
    str | None, typer.Option(help="The system's name where rows have none, in place of the file's name.")
]
Speaker = Annotated[
    str | None, typer.Option(help="Whose turns are judged, in files of whole dialogues; * for everybody's.")
]
RepliesOf = Annotated[
    list[str],
    typer.Option(
        "--replies",
        metavar="SYSTEM=FILE",
        help="A system's replies, as plain text in the order of FILE or as rows with ids; "
        "FILE then holds the contexts and references.",
    ),
]
Format = Annotated[
    str | None, typer.Option(help="jsonl, csv, tsv or parquet, where the file's name does not tell.")
]
OnError = Annotated[
    str, typer.Option(metavar="stop|skip", help="What to do about malformed rows; skipped ones are counted.")
]
Scale = Annotated[
    list[str],
    typer.Option(
        "--scale", metavar="ASPECT=LOW-HIGH", help="A rated aspect's scale, to warn of ratings off it."
    ),
]
Confidence = Annotated[float, typer.Option(min=0.5, max=0.999, help="How much an interval should hold.")]
Draws = Annotated[int, typer.Option(min=100, max=1_000_000, help="How often to resample.")]
Halves = Annotated[
    int,
    typer.Option("--draws", min=100, max=1_000_000, help="Number of random halves of the contexts."),
]
Mean = Annotated[
    str,
    typer.Option(metavar="replies|contexts", help="What means are over; contexts then count alike."),
]
Significance = Annotated[
    bool, typer.Option("--significance", help="Test each system against the best one of the metric.")
]
WithTrust = Annotated[
    bool, typer.Option("--trust", help="Say how each metric goes with people on rated corpora.")
]
Signatures = Annotated[bool, typer.Option("--signatures", help="Say how each number was made.")]
Run = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a saved run.")]
RatingFiles = Annotated[
    list[str],
    typer.Option(
        "--ratings",
        metavar="FILE",
        help="What people said of the replies, joined to them by id, in place of the ratings in the run; "
        "repeatable.",
    ),
]
Aspects = Annotated[list[str], typer.Option("--aspect", help="What was rated; all of it if not named.")]
Whose = Annotated[
    str | None, typer.Option("--system", help="Whose replies to look at; everybody's if not named.")
]
ScoreFiles = Annotated[
    list[str],
    typer.Option(
        "--scores",
        metavar="FILE",
        help="Scores by other code than ours, joined to the replies by id; repeatable.",
    ),
]


def _can_be_drawn(plot: Path | None) -> Path | None:
    """Say before anything is computed that a figure could not be had."""
    if plot is not None:
        from dialoscope.report import figures

        figures.ready(plot)
    return plot


Plot = Annotated[
    Path | None,
    typer.Option(metavar="FILE", callback=_can_be_drawn, help="Draw it too: a file .svg, .png or .pdf."),
]
SeedOfRun = Annotated[
    int | None, typer.Option("--seed", min=0, help="For the draws; the run's own if not named.")
]
Licence = Annotated[
    str | None,
    typer.Option(
        metavar="any|permissive",
        help="Models to use: any, or only those under permissive licences; DIALOSCOPE_LICENCE if not named.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
AsCsv = Annotated[bool, typer.Option("--csv", help="Print CSV.")]
AsMarkdown = Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")]
AsLatex = Annotated[bool, typer.Option("--latex", help="Print a LaTeX table (booktabs).")]
Notes = Annotated[bool, typer.Option("--notes", help="Print all notes, not only the short ones.")]


_NUMBER = r"-?(?:\d+\.?\d*|\.\d+)"


def columns(texts: Sequence[str]) -> dict[str, str]:
    """`response=output,context=history` as a mapping."""
    return _pairs(",".join(texts).split(","), "--map", "response=output")


def replies(texts: Sequence[str]) -> dict[str, str]:
    """`bot=replies.txt`, one text each, as a mapping."""
    return _pairs(texts, "--replies", "bot=replies.txt")


def scales(texts: Sequence[str]) -> dict[str, tuple[float, float]]:
    """`coherence=1-5`, one text each, as a mapping."""
    found = {}
    for aspect, text in _pairs(texts, "--scale", "coherence=1-5").items():
        ends = re.fullmatch(rf"({_NUMBER})-({_NUMBER})", text)
        if not ends or float(ends[1]) >= float(ends[2]):
            raise DataError(f"--scale {aspect}={text} is not understood; write --scale {aspect}=1-5.")
        found[aspect] = (float(ends[1]), float(ends[2]))
    return found


def source(files: Sequence[str], replies_of: Sequence[str], map_of: Sequence[str], **how: Any) -> "Replies":  # noqa: ANN401
    """What `read` makes of the options that say what is read, and how."""
    import dialoscope

    return dialoscope.read(*files, replies=replies(replies_of), columns=columns(map_of), **how)


def ratings(
    files: Sequence[str], map_of: Sequence[str], form: str | None = None
) -> "tuple[Rating, ...] | None":
    """What people said in files of their own; nothing where none is named."""
    import dialoscope

    return dialoscope.read_ratings(*files, columns=columns(map_of), format=form) if files else None


def scores(files: Sequence[str], map_of: Sequence[str]) -> "tuple[Score, ...] | None":
    """What others' code gave, in files of their own; nothing where none is named."""
    import dialoscope

    return dialoscope.read_scores(*files, columns=columns(map_of)) if files else None


def metrics(
    names: Sequence[str], suites: Sequence[str], licence: str | None
) -> "list[Metric[Any] | str] | None":
    """The metrics that are named, one by one or as suites; nothing where none is."""
    import dialoscope
    from dialoscope.models.registry.licences import read_choice

    choice = read_choice(licence)
    return [*names, *(one for name in suites for one in dialoscope.suite(name, licence=choice))] or None


def form(*, json: bool = False, csv: bool = False, markdown: bool = False, latex: bool = False) -> str:
    """The form a table is printed in."""
    forms = {"json": json, "csv": csv, "markdown": markdown, "latex": latex}
    asked = [name for name, wanted in forms.items() if wanted]
    if len(asked) > 1:
        raise DialoscopeError(f"--{' and --'.join(asked)} cannot both be had; choose one.")
    return asked[0] if asked else "text"


def _pairs(texts: Sequence[str], option: str, example: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in filter(None, texts):
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise DataError(f"{option} {text} is not understood; write {option} {example}.")
        if name in found:
            raise DataError(f"{option} names '{name}' twice.")
        found[name] = value
    return found
