"""From the cells of a row to the replies in it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dialoscope.core.records import Example, Rating
from dialoscope.data.cells import Cells, read_name, read_said, read_text, read_texts
from dialoscope.data.columns import ERROR, Names, no_response
from dialoscope.data.dialogues import read_context_speakers, read_dialogue
from dialoscope.data.problems import BadRow, counted
from dialoscope.data.ratings import read_ratings


class Row(NamedTuple):
    """A reply, and what people said of it."""

    example: Example
    ratings: tuple[Rating, ...] = ()

    @property
    def unit(self) -> str | None:
        """What the reply is resampled with: its dialogue, or the group that it is one of."""
        return self.example.dialogue or self.example.group or None


@dataclass(frozen=True, slots=True)
class Layout:
    """What stands where in the rows of one file, and what holds where nothing does."""

    names: Names
    system: str
    separator: str | None = None
    speaker: str | None = None

    def rows(self, cells: Cells, number: int) -> Sequence[Row]:
        """The replies in this row, the number of which is their id where they have none."""
        if cells.get(self.names.response) is None and cells.get(self.names.turns) is not None:
            return self._dialogue_rows(cells, number)
        if cells.get(self.names.response) is None and cells.get(self.names.queries) is not None:
            return self._group_rows(cells, number)
        name = self.name(cells, number)
        system = self._system(cells)
        context, references = self.context(cells), self.references(cells)
        speakers = self.speakers(cells, context)
        response, group = self.response(cells), self.group(cells)
        example = Example(name, system, response, context, references, group, speakers)
        return (Row(example, self.ratings(cells, name, system)),)

    def name(self, cells: Cells, number: int) -> str:
        """The id."""
        column = self.names.id
        return read_name(cells[column], "`id`") if column in cells else str(number)

    def response(self, cells: Cells) -> str:
        """The reply itself."""
        if cells.get(ERROR) and not cells.get(self.names.response):
            why = _short(cells[ERROR])
            raise BadRow(f"no reply, because asking for it failed: {why}; ask again with dialoscope respond")
        if self.names.response not in cells:
            raise BadRow(no_response(cells))
        return read_text(cells[self.names.response], "`response`")

    def context(self, cells: Cells) -> tuple[str, ...]:
        """The turns before the reply."""
        return read_said(cells.get(self.names.context), "`context`", self.separator)

    def speakers(self, cells: Cells, context: Sequence[str]) -> tuple[str, ...]:
        """Who said each turn of the context, and last who replies; empty where nobody is named."""
        names = self.names
        return read_context_speakers(
            cells.get(names.context), len(context), cells.get(names.speakers), self.speaker
        )

    def dialogue(self, cells: Cells, name: str, system: str, speaker: str | None) -> list[Example]:
        """The turns of this speaker in a whole dialogue, each with what was said before it."""
        names = self.names
        return read_dialogue(cells[names.turns], name, system, speaker, cells.get(names.speakers))

    def references(self, cells: Cells) -> tuple[str, ...]:
        """What people said in its place."""
        return read_texts(cells.get(self.names.references), "`references`", self.separator)

    def group(self, cells: Cells) -> str:
        """What the reply has in common with those to variants of the same query."""
        given = cells.get(self.names.group)
        return "" if given is None or given == "" else read_name(given, "`group`")

    def ratings(self, cells: Cells, name: str, system: str) -> tuple[Rating, ...]:
        """What people said of it."""
        given = cells.get(self.names.ratings)
        return () if given is None else read_ratings(given, name, system)

    def _system(self, cells: Cells) -> str:
        column = self.names.system
        return read_name(cells[column], "`system`") if column in cells else self.system

    def _dialogue_rows(self, cells: Cells, number: int) -> Sequence[Row]:
        names = self.names
        _refuse(cells, (names.ratings, names.references, names.context, names.group), "a whole dialogue")
        name, system = self.name(cells, number), self._system(cells)
        examples = self.dialogue(cells, name, system, self.speaker)
        if not examples:
            raise BadRow("nobody replies in this dialogue: it has only instructions and turns of a user")
        return list(map(Row, examples))

    def _group_rows(self, cells: Cells, number: int) -> Sequence[Row]:
        """One reply for each query; what people said of the group stands with its first reply."""
        _refuse(cells, (self.names.references, self.names.context), "a group")
        name, system = self.name(cells, number), self._system(cells)
        queries = read_texts(cells.get(self.names.queries), "`queries`", self.separator)
        responses = read_texts(cells.get(self.names.responses), "`responses`", self.separator)
        if len(queries) != len(responses) or not queries:
            raise BadRow(
                f"{counted(len(responses), 'response')} to {len(queries)} queries; a group has one to each"
            )
        group = self.group(cells) or name
        examples = [
            Example(f"{name}#{place}", system, response, (query,), group=group)
            for place, (query, response) in enumerate(zip(queries, responses, strict=True), 1)
        ]
        ratings = self.ratings(cells, examples[0].id, system)
        return [Row(one, () if place else ratings) for place, one in enumerate(examples)]


def _refuse(cells: Cells, columns: Sequence[str], of: str) -> None:
    """Say which of these columns is for single replies only."""
    for column in columns:
        if cells.get(column):
            raise BadRow(f"`{column}` is for a single reply, not for {of}; give each reply a row of its own")


def _short(error: object) -> str:
    """The first of what may be pages of an error."""
    text = " ".join(str(error).split())
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


_SHOWN = 200
