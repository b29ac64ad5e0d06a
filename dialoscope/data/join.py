"""Items in one file, and the replies of each system to them in another."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple

from dialoscope.core.errors import DataError
from dialoscope.core.records import Example
from dialoscope.data.cells import Cells
from dialoscope.data.layout import Layout, Row
from dialoscope.data.lines import not_utf8, read_lines
from dialoscope.data.opening import Opened, opened
from dialoscope.data.problems import BadRow, ReadLog, counted
from dialoscope.data.source import Source
from dialoscope.data.tables import opened_records, read_records

ITEM_COLUMNS = ("id", "context", "speakers", "references", "group")
REPLY_COLUMNS = ("id", "response", "ratings")


class Item(NamedTuple):
    """What the systems reply to."""

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
        """One for each row, also where it could not be read: plain text goes by the order."""
        self.by_id: dict[str, Item] = {}

    def collect(self, source: Source, layout: Layout, log: ReadLog) -> Iterator[tuple[int, BadRow]]:
        """Take in a file; what comes out are the rows that are no items."""
        for number, (line, cells) in enumerate(read_records(source, layout.names, log), 1):
            try:
                self.in_order.append(self._item(cells, number, line, layout))
            except BadRow as bad:
                self.in_order.append(None)
                yield line, bad

    def _item(self, cells: Cells | BadRow, number: int, line: int, layout: Layout) -> Item:
        if isinstance(cells, BadRow):
            raise cells
        context, references = layout.context(cells), layout.references(cells)
        name, speakers = layout.name(cells, number), layout.speakers(cells, context)
        item = Item(name, line, context, references, layout.group(cells), speakers)
        if self.by_id.setdefault(item.id, item) is not item:
            raise BadRow(
                f"a second item with id {item.id!r}, after line {self.by_id[item.id].line}; give each its own"
            )
        return item


@dataclass(frozen=True, slots=True)
class SystemReplies:
    """The file with the replies of one system."""

    source: Source
    layout: Layout

    def rows(self, items: ItemList, log: ReadLog) -> Iterator[tuple[int, Row | BadRow]]:
        """Its replies, each with the item it answers; at the end, the items it does not."""
        if self.source.format == "datasets":
            yield from self._by_id(read_records(self.source, self.layout.names, log), items)
            return
        with opened(self.source, log, is_text=True) as file:
            if file.format == "txt":
                yield from self._by_order(file, items.in_order)
            else:
                yield from self._by_id(opened_records(file, self.layout.names), items)

    def _by_order(self, file: Opened, items: Sequence[Item | None]) -> Iterator[tuple[int, Row | BadRow]]:
        count = 0
        for count, reply in enumerate(_read_plain(file.stream), 1):
            item = items[count - 1] if count <= len(items) else None
            if isinstance(reply, BadRow):
                yield count, reply
            elif item is not None:
                yield count, Row(self._example(item, reply))
        if count != len(items):
            raise DataError(
                f"{self.source.name} has {counted(count, 'line')}, but there are "
                f"{counted(len(items), 'item')}. "
                "Plain text needs one reply a line, in the order of the items."
            )

    def _by_id(
        self, records: Iterator[tuple[int, Cells | BadRow]], items: ItemList
    ) -> Iterator[tuple[int, Row | BadRow]]:
        answered = set()
        line = 0
        for number, (line, cells) in enumerate(records, 1):
            try:
                row = self._row(cells, number, items)
            except BadRow as bad:
                yield line, bad
            else:
                answered.add(row.example.id)
                yield line, row
        for item in items.by_id.values():
            if item.id not in answered:
                yield (
                    line,
                    BadRow(f"no reply by {self.layout.system!r} to item {item.id!r}; add one to this file"),
                )

    def _row(self, cells: Cells | BadRow, number: int, items: ItemList) -> Row:
        if isinstance(cells, BadRow):
            raise cells
        name = self.layout.name(cells, number)
        item = items.by_id.get(name)
        if item is None:
            raise BadRow(f"a reply to {name!r}, which is the id of no item; leave it out, or add the item")
        example = self._example(item, self.layout.response(cells))
        return Row(example, self.layout.ratings(cells, name, example.system))

    def _example(self, item: Item, reply: str) -> Example:
        system, group = self.layout.system, item.group
        return Example(item.id, system, reply, item.context, item.references, group, item.speakers)


def _read_plain(stream: BinaryIO) -> Iterator[str | BadRow]:
    for line in read_lines(stream):
        if isinstance(line, BadRow):
            yield line
            continue
        try:
            yield line.removesuffix(b"\n").removesuffix(b"\r").decode()
        except UnicodeDecodeError as error:
            yield not_utf8(line, error)
