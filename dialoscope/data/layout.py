"""From the cells of a row to the replies in it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dialoscope.data.cells import Cells, read_name, read_said, read_text, read_texts
from dialoscope.data.dialogues import read_dialogue
from dialoscope.data.names import Names, no_response
from dialoscope.data.problems import BadRow
from dialoscope.data.ratings import read_ratings
from dialoscope.records import Example, Rating


class Row(NamedTuple):
    """A reply, and what people said of it."""

    example: Example
    ratings: tuple[Rating, ...] = ()
    dialogue: str | None = None
    """The dialogue the reply was taken from, where the file holds whole ones."""


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
        name = self.name(cells, number)
        system = self._system(cells)
        context, references = self.context(cells), self.references(cells)
        example = Example(name, system, self.response(cells), context, references)
        return (Row(example, self.ratings(cells, name, system)),)

    def name(self, cells: Cells, number: int) -> str:
        """The id."""
        column = self.names.id
        return read_name(cells[column], "`id`") if column in cells else str(number)

    def response(self, cells: Cells) -> str:
        """The reply itself."""
        if self.names.response not in cells:
            raise BadRow(no_response(cells))
        return read_text(cells[self.names.response], "`response`")

    def context(self, cells: Cells) -> tuple[str, ...]:
        """The turns before the reply."""
        return read_said(cells.get(self.names.context), "`context`", self.separator)

    def references(self, cells: Cells) -> tuple[str, ...]:
        """What people said in its place."""
        return read_texts(cells.get(self.names.references), "`references`", self.separator)

    def ratings(self, cells: Cells, name: str, system: str) -> tuple[Rating, ...]:
        """What people said of it."""
        given = cells.get(self.names.ratings)
        return () if given is None else read_ratings(given, name, system)

    def _system(self, cells: Cells) -> str:
        column = self.names.system
        return read_name(cells[column], "`system`") if column in cells else self.system

    def _dialogue_rows(self, cells: Cells, number: int) -> Sequence[Row]:
        for column in (self.names.ratings, self.names.references, self.names.context):
            if cells.get(column):
                raise BadRow(
                    f"{column} belong to a reply, not to a whole dialogue; give them in a row of its own"
                )
        name, system = self.name(cells, number), self._system(cells)
        examples = read_dialogue(cells[self.names.turns], name, system, self.speaker)
        return [Row(example, dialogue=name) for example in examples]
