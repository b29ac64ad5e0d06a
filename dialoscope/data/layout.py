"""From the cells of a row to the replies in it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dialoscope.core.records import Example, Rating
from dialoscope.data.cells import Cells, read_name, read_text, read_texts, read_turns
from dialoscope.data.columns import ERROR, ColumnNames, explain_no_response
from dialoscope.data.dialogues import read_context_speakers, read_dialogue
from dialoscope.data.problems import BadRow, quantity
from dialoscope.data.ratings import read_ratings

_SHOWN = 200
"""Maximum number of characters that a message shows of an error, which may be pages long."""


class Row(NamedTuple):
    """A reply and its ratings."""

    example: Example
    ratings: tuple[Rating, ...] = ()
    perturbed: bool = False
    """Whether the reply was changed on purpose, so that nothing odd about it is worth a warning."""

    @property
    def unit(self) -> str | None:
        """The unit that the reply is resampled in: its dialogue, or its group."""
        return self.example.dialogue or self.example.group or None


@dataclass(frozen=True, slots=True)
class Layout:
    """The layout of the rows of a file: the names of its columns, and the defaults for missing cells."""

    names: ColumnNames
    system: str
    separator: str | None = None
    speaker: str | None = None

    def rows(self, cells: Cells, number: int, line: int) -> Sequence[Row]:
        """Return the replies in this row, whose number is their id where they have none."""
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
        """Return the id."""
        column = self.names.id
        return read_name(cells[column], "`id`") if column in cells else str(number)

    def response(self, cells: Cells) -> str:
        """Return the reply itself."""
        if cells.get(ERROR) and not cells.get(self.names.response):
            error = _shorten(cells[ERROR])
            raise BadRow(
                f"no reply, because asking for it failed: {error}; ask again with dialoscope respond"
            )
        if self.names.response not in cells:
            raise BadRow(explain_no_response(cells))
        return read_text(cells[self.names.response], "`response`")

    def context(self, cells: Cells) -> tuple[str, ...]:
        """Return the turns before the reply."""
        return read_turns(cells.get(self.names.context), "`context`", self.separator)

    def speakers(self, cells: Cells, context: Sequence[str]) -> tuple[str, ...]:
        """Return the speaker of each turn of the context, then of the reply; empty where nobody is named."""
        names = self.names
        return read_context_speakers(
            cells.get(names.context), len(context), cells.get(names.speakers), self.speaker
        )

    def dialogue(self, cells: Cells, name: str, system: str, speaker: str | None) -> list[Example]:
        """Return the turns of this speaker in a whole dialogue, each with the turns before it as context."""
        names = self.names
        return read_dialogue(cells[names.turns], name, system, speaker, cells.get(names.speakers))

    def references(self, cells: Cells) -> tuple[str, ...]:
        """Return the replies by people to the same context."""
        return read_texts(cells.get(self.names.references), "`references`", self.separator)

    def group(self, cells: Cells) -> str:
        """Return the group of the reply: that of all replies to variants of the same query."""
        value = cells.get(self.names.group)
        return "" if value is None or value == "" else read_name(value, "`group`")

    def ratings(self, cells: Cells, name: str, system: str) -> tuple[Rating, ...]:
        """Return the ratings of the reply."""
        value = cells.get(self.names.ratings)
        return () if value is None else read_ratings(value, name, system)

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
        """Return one reply for each query; the ratings of the group are in the row of its first reply."""
        _refuse(cells, (self.names.references, self.names.context), "a group")
        name, system = self.name(cells, number), self._system(cells)
        queries = read_texts(cells.get(self.names.queries), "`queries`", self.separator)
        responses = read_texts(cells.get(self.names.responses), "`responses`", self.separator)
        if len(queries) != len(responses) or not queries:
            raise BadRow(
                f"{quantity(len(responses), 'response')} to {len(queries)} queries; a group has one to each"
            )
        group = self.group(cells) or name
        examples = [
            Example(f"{name}#{number}", system, response, (query,), group=group)
            for number, (query, response) in enumerate(zip(queries, responses, strict=True), 1)
        ]
        ratings = self.ratings(cells, examples[0].id, system)
        return [Row(examples[0], ratings), *map(Row, examples[1:])]


def _refuse(cells: Cells, columns: Sequence[str], kind_of_row: str) -> None:
    """Refuse columns that only rows of a single reply may have."""
    for column in columns:
        if cells.get(column):
            raise BadRow(
                f"`{column}` is for a single reply, not for {kind_of_row}; give each reply a row of its own"
            )


def _shorten(error: object) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
