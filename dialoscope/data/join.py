"""Items in one file, and the replies of each system to them in another."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO, NamedTuple

from dialoscope.core.errors import DataError
from dialoscope.core.records import Example
from dialoscope.data.cells import Cells
from dialoscope.data.layout import Layout, Row
from dialoscope.data.lines import not_utf8, read_lines
from dialoscope.data.opening import OpenSource, open_source
from dialoscope.data.problems import BadRow, ReadLog, quantity
from dialoscope.data.source import Source
from dialoscope.data.tables import Records, file_records, read_records, read_rows

ITEM_COLUMNS = ("id", "context", "speakers", "references", "group")
REPLY_COLUMNS = ("id", "response", "ratings")


class Item(NamedTuple):
    """A context that the systems reply to, with its references."""

    id: str
    line: int
    context: tuple[str, ...]
    references: tuple[str, ...]
    group: str
    speakers: tuple[str, ...]


class ItemList:
    """The items of one or more files, in their order."""

    def __init__(self) -> None:
        self.in_order: list[Item | None] = []
        """One entry for each row, None where it could not be read: plain text is joined by position."""
        self.by_id: dict[str, Item] = {}

    def collect(self, source: Source, layout: Layout, log: ReadLog) -> Iterator[tuple[int, BadRow]]:
        """Add the items of a file, and yield the rows that are no items."""
        records = read_records(source, layout.names, log)
        for line, bad in read_rows(records, partial(self._add, layout)):
            self.in_order.append(None)
            yield line, bad

    def _add(self, layout: Layout, cells: Cells, number: int, line: int) -> tuple[BadRow, ...]:
        context, references = layout.context(cells), layout.references(cells)
        name, speakers = layout.name(cells, number), layout.speakers(cells, context)
        item = Item(name, line, context, references, layout.group(cells), speakers)
        first = self.by_id.setdefault(item.id, item)
        if first is not item:
            raise BadRow(f"a second item with id {item.id!r}, after line {first.line}; give each its own")
        self.in_order.append(item)
        return ()


@dataclass(frozen=True, slots=True)
class SystemReplies:
    """The file with the replies of one system."""

    source: Source
    layout: Layout

    def rows(self, items: ItemList, log: ReadLog) -> Iterator[tuple[int, Row | BadRow]]:
        """Yield the replies, each with the item it answers; at the end, the items without a reply."""
        if self.source.format == "datasets":
            yield from self._join_by_id(read_records(self.source, self.layout.names, log), items)
            return
        with open_source(self.source, log, is_text=True) as file:
            if file.format == "txt":
                yield from self._join_by_position(file, items.in_order)
            else:
                yield from self._join_by_id(file_records(file, self.layout.names), items)

    def _join_by_position(
        self, file: OpenSource, items: Sequence[Item | None]
    ) -> Iterator[tuple[int, Row | BadRow]]:
        count = 0
        for count, reply in enumerate(_read_plain_text(file.stream), 1):
            item = items[count - 1] if count <= len(items) else None
            if isinstance(reply, BadRow):
                yield count, reply
            elif item is not None:
                yield count, Row(self._make_example(item, reply))
        if count != len(items):
            raise DataError(
                f"{self.source.name} has {quantity(count, 'line')}, but there are "
                f"{quantity(len(items), 'item')}. "
                "Plain text needs one reply a line, in the order of the items."
            )

    def _join_by_id(self, records: Records, items: ItemList) -> Iterator[tuple[int, Row | BadRow]]:
        answered = set()
        line = 0
        for line, row in read_rows(records, partial(self._convert, items)):
            if isinstance(row, Row):
                answered.add(row.example.id)
            yield line, row
        for item in items.by_id.values():
            if item.id not in answered:
                yield (
                    line,
                    BadRow(f"no reply by {self.layout.system!r} to item {item.id!r}; add one to this file"),
                )

    def _convert(self, items: ItemList, cells: Cells, number: int, line: int) -> tuple[Row]:
        name = self.layout.name(cells, number)
        item = items.by_id.get(name)
        if item is None:
            raise BadRow(f"a reply to {name!r}, which is the id of no item; leave it out, or add the item")
        example = self._make_example(item, self.layout.response(cells))
        return (Row(example, self.layout.ratings(cells, name, example.system)),)

    def _make_example(self, item: Item, reply: str) -> Example:
        system, group = self.layout.system, item.group
        return Example(item.id, system, reply, item.context, item.references, group, item.speakers)


def _read_plain_text(stream: BinaryIO) -> Iterator[str | BadRow]:
    for line in read_lines(stream):
        if isinstance(line, BadRow):
            yield line
            continue
        try:
            yield line.removesuffix(b"\n").removesuffix(b"\r").decode()
        except UnicodeDecodeError as error:
            yield not_utf8(line, error)
