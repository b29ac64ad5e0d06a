"""A report: sections for people, rows for programs."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from dialoscope.core.render.latex import render_latex
from dialoscope.core.render.markdown import render_markdown
from dialoscope.core.render.plain_text import render_text
from dialoscope.core.render.sections import NoteLines, Section
from dialoscope.core.render.serialization import as_csv, as_json
from dialoscope.core.safe_text import printable

MORE = "More notes: --notes (notes=True)."
"""The note where some notes are left out."""
LISTED = 4
"""The number of systems whose numbers of words are listed in a short note."""
Reason = TypeVar("Reason", bound=Hashable)
Thing = TypeVar("Thing", bound=Hashable)


class Report:
    """A report that can be shown as text, Markdown, LaTeX, CSV or JSON.

    A report has two contents: `sections` for people, `rows` (and, if there is more, `content`) for
    programs.
    """

    def sections(self, *, notes: bool = False) -> Sequence[Section]:
        """Tables and notes in the order they are read; all notes, or the few that every reader needs."""
        raise NotImplementedError

    def rows(self) -> Sequence[dict[str, Any]]:
        """Records for a spreadsheet or a data frame."""
        raise NotImplementedError

    def columns(self) -> Sequence[str]:
        """The names in each record."""
        return list(self.rows()[0])

    def content(self) -> Any:  # noqa: ANN401 - whatever JSON can hold
        """The content of the JSON form."""
        return self.rows()

    def signatures(self) -> list[str]:
        """The signatures of the metrics; empty where a report has none."""
        return []

    def text(self, width: int | None = None, *, notes: bool = False) -> str:
        """The report for a terminal; tables wider than so many columns continue below."""
        return render_text(self._own_sections(notes=notes), width)

    def markdown(self, *, notes: bool = False) -> str:
        """The report in Markdown."""
        return render_markdown(self._own_sections(notes=notes))

    def latex(self, *, notes: bool = False) -> str:
        """The report in LaTeX."""
        return render_latex(self._own_sections(notes=notes))

    def csv(self) -> str:
        """The report as CSV."""
        return as_csv(self.rows(), self.columns())

    def json(self) -> str:
        """The report as JSON."""
        return as_json(self.content())

    def printed(
        self,
        form: str = "text",
        *,
        signatures: bool = False,
        notes: bool = False,
        width: int | None = None,
        sources: Sequence[str] = (),
    ) -> str:
        """The report as text, markdown, latex, csv or json; the first three also with signatures."""
        if form in ("csv", "json"):
            return self.csv() if form == "csv" else self.json()
        sections = list(self.sections(notes=notes))
        more = [*self.signatures(), *sources] if signatures else []
        last = sections[-1]
        if more and isinstance(last, NoteLines) and not last.title:
            sections[-1] = replace(last, lines=[*last.lines, *more])
        elif more:
            sections.append(NoteLines(more))
        if form == "text":
            return render_text(sections, width)
        return render_latex(sections) if form == "latex" else render_markdown(sections)

    def _own_sections(self, *, notes: bool) -> Sequence[Section]:
        """The sections in a notebook, or where a report is printed from Python."""
        return self.sections(notes=notes)

    def __str__(self) -> str:
        return self.text()

    def _repr_markdown_(self) -> str:
        """The representation in a notebook."""
        return self.markdown()


def group(pairs: Iterable[tuple[Reason, Thing]]) -> dict[Reason, list[Thing]]:
    """The different second parts of the pairs, grouped by the first."""
    groups: dict[Reason, dict[Thing, None]] = {}
    for reason, thing in pairs:
        groups.setdefault(reason, {})[thing] = None
    return {reason: list(things) for reason, things in groups.items()}


def choose_notes(short: Iterable[str], more: Iterable[str], *, details: bool) -> list[str]:
    """The short notes; with the further ones, or with a note on how to see them."""
    further = list(more)
    return [*short, *(further if details or not further else [MORE])]


def list_signatures(made: Iterable[tuple[str, str]]) -> list[str]:
    """A line for each different name and signature."""
    return list(dict.fromkeys(printable(f"{name}: {signature}") for name, signature in made))


def describe_amounts(
    metrics: Sequence[str], kind: str, amounts: Mapping[str, int], *, details: bool = True
) -> str:
    """A note that metrics depend on the number of words, or replies, which is not equal for all systems."""
    if len(amounts) > LISTED and not details:
        low, high = (end(amounts, key=amounts.__getitem__) for end in (min, max))
        numbers = f"{amounts[low]} ({low}) to {amounts[high]} ({high})"
    else:
        numbers = ", ".join(f"{system} {amount}" for system, amount in amounts.items())
    return printable(
        f"{', '.join(metrics)} depend{'s' * (len(metrics) == 1)} on the number of {kind}: {numbers}."
    )
