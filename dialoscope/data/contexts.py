"""The contexts that systems reply to: those in any file of rows, with the other cells of their rows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from dialoscope.core.errors import DataError
from dialoscope.core.records import Example
from dialoscope.data.cells import Cells, read_texts
from dialoscope.data.columns import COLUMNS, ERROR, ColumnNames, list_columns
from dialoscope.data.dialogues import EVERYBODY
from dialoscope.data.layout import Layout
from dialoscope.data.problems import LEAVE_OUT, BadRow, Problem, ReadLog, quantity
from dialoscope.data.replies import Replies, read
from dialoscope.data.source import describe_value, is_table
from dialoscope.data.tables import read_records, read_rows

_USED = ("id", "context", "references", "turns", "speakers", "group", "queries")


class ContextRow(NamedTuple):
    """A context that systems are to reply to."""

    id: str
    context: tuple[str, ...]
    group: str = ""
    others: Mapping[str, object] = MappingProxyType({})
    """The other cells of its row, which are carried along: references, how it was made, ..."""


Rows = Iterable[tuple[int, ContextRow | BadRow]]


@dataclass(frozen=True)
class Contexts:
    """The contexts of some files, in their order, each once."""

    rows: tuple[ContextRow, ...]
    repeated: int = 0
    """Rows that were left out because an earlier row has the same context and id."""
    skipped: int = 0
    """Malformed rows that were left out."""
    source: Mapping[str, Any] | None = None
    """The arguments of `read_contexts`, if they came from files."""

    @staticmethod
    def of(contexts: "Contexts | str | Path | Iterable[Example | str | Sequence[str]]") -> "Contexts":
        """Return the contexts in a file, in examples, or in lists of turns."""
        if isinstance(contexts, Contexts):
            return contexts
        if isinstance(contexts, (str, Path)):
            return read_contexts(contexts)
        if not isinstance(contexts, Iterable) or is_table(contexts):
            raise DataError(
                f"This is not a list of contexts, but {describe_value(contexts)}. Name a file, or give a "
                "list of turns for each."
            )
        rows = [(number, _from_memory(context, number)) for number, context in enumerate(contexts, 1)]
        return _collect([("contexts", rows)], ReadLog(), None)


def read_contexts(
    *paths: str | Path,
    columns: Mapping[str, str] | None = None,
    separator: str | None = None,
    speaker: str | None = None,
    format: str | None = None,  # noqa: A002 - the word users know
    on_error: str = "stop",
) -> Contexts:
    """Return the contexts in these files; replies in the files are ignored."""
    replies = read(
        *paths, columns=columns, separator=separator, speaker=speaker, format=format, on_error=on_error
    )
    log = ReadLog()
    names = _AllColumnNames.of(columns or {}, _USED)
    convert = partial(_convert, layout=Layout(names, "", separator, speaker))
    files = [
        (source.name, read_rows(read_records(source, names, log, noun="context"), convert))
        for source in replies.sources
    ]
    return _collect(files, log, replies)


class _AllColumnNames(ColumnNames):
    """The names of columns where the columns that have no meaning here are read, too."""

    __slots__ = ()

    def find_ignored(self, columns: Iterable[str]) -> list[str]:
        """Return an empty list: columns that have no meaning here are carried along."""
        return []


def _convert(cells: Cells, number: int, line: int, layout: Layout) -> Sequence[ContextRow]:
    """Return the contexts in a row: its own, or those of a group of queries, or of a whole dialogue."""
    names, name, group = layout.names, layout.name(cells, number), layout.group(cells)
    others = _other_cells(cells, layout)
    if cells.get(names.context):
        context = layout.context(cells)
        return [ContextRow(name, context, group, {**_speakers(layout.speakers(cells, context)), **others})]
    if cells.get(names.queries) is not None:
        queries = read_texts(cells[names.queries], "`queries`", layout.separator)
        return [
            ContextRow(f"{name}#{position}", (query,), group or name, others)
            for position, query in enumerate(queries, 1)
        ]
    if cells.get(names.turns) is not None:
        return _dialogue_contexts(cells, name, layout, others)
    if names.context in cells:
        raise BadRow("`context` is empty; there is nothing to answer")
    raise BadRow(
        f"no column `context` among {list_columns(cells)}; say which holds what is to be answered: "
        "--map context=COLUMN"
    )


def _dialogue_contexts(
    cells: Cells, name: str, layout: Layout, others: Mapping[str, object]
) -> list[ContextRow]:
    """Return the turns before each turn of the system; and all turns, where others had the last word."""
    examples = layout.dialogue(cells, name, "", layout.speaker)
    rows = [
        ContextRow(
            example.id,
            example.context,
            "",
            {**_speakers(example.speakers), **others, **_references(example.references)},
        )
        for example in examples
        if example.context
    ]
    all_turns = layout.dialogue(cells, name, "", EVERYBODY)
    last = all_turns[-1]
    if last.speakers and last not in examples:
        replier = examples[0].speakers[-1] if examples else ""  # somebody who has not spoken yet
        speakers = _speakers((*last.speakers, replier))
        context = (*last.context, last.response)
        rows.append(ContextRow(f"{name}#{len(all_turns) + 1}", context, "", {**speakers, **others}))
    return rows


def _other_cells(cells: Cells, layout: Layout) -> dict[str, object]:
    """Return the cells to carry along: all without a field of their own that no system's reply belongs to."""
    names = layout.names
    excluded = {ERROR, *COLUMNS, *(getattr(names, column) for column in COLUMNS)}
    others = {
        column: value
        for column, value in cells.items()
        if column not in excluded and not names.is_rating(column)
    }
    return {**_references(layout.references(cells)), **others}


def _speakers(names: tuple[str, ...]) -> dict[str, object]:
    return {"speakers": list(names)} if names else {}


def _references(texts: tuple[str, ...]) -> dict[str, object]:
    return {"references": list(texts)} if texts else {}


def _from_memory(context: object, number: int) -> ContextRow | BadRow:
    """Return the row of an example without its reply, or of turns; one text is one turn."""
    if isinstance(context, Example):
        others = {**_speakers(context.speakers), **_references(context.references)}
        row = ContextRow(context.id, context.context, context.group, others)
    elif isinstance(context, str):
        row = ContextRow(str(number), (context,))
    elif isinstance(context, Sequence) and all(isinstance(turn, str) for turn in context):
        row = ContextRow(str(number), tuple(context))
    else:
        return BadRow(f"{context!r:.60} is no context; give a list of turns, a text, or an Example")
    return row if row.context else BadRow("the context is empty; there is nothing to answer")


def _collect(files: Iterable[tuple[str, Rows]], log: ReadLog, source: Replies | None) -> Contexts:
    """Return each context once, or raise an error that lists the problems."""
    contexts: dict[str, ContextRow] = {}
    repeated = 0
    skips = source is not None and source.skips_problems
    for file, line, row in _flatten(files):
        first = row if isinstance(row, BadRow) else _admit(row, contexts)
        if isinstance(first, BadRow):
            log.report(Problem(file, line, str(first)), skips=skips)
        else:
            log.rows += 1
            repeated += first is not row
    if log.problem_count and not (skips and contexts):
        problems = quantity(log.problem_count, "problem")
        advice = "" if skips else f"\n{LEAVE_OUT}"
        raise DataError(f"{problems} in the contexts:\n{log.summary()}{advice}")
    if not contexts:
        raise DataError("There is not one context to answer.")
    arguments = None if source is None else source.arguments()
    return Contexts(tuple(contexts.values()), repeated, log.problem_count, arguments)


def _flatten(files: Iterable[tuple[str, Rows]]) -> Iterator[tuple[str, int, ContextRow | BadRow]]:
    return ((file, line, row) for file, rows in files for line, row in rows)


def _admit(row: ContextRow, contexts: dict[str, ContextRow]) -> ContextRow | BadRow:
    """Return the first row with this id; files with several systems' replies hold each context repeatedly."""
    first = contexts.setdefault(row.id, row)
    if first.context != row.context:
        return BadRow(f"a second context with id {row.id!r}; give each context its own id")
    return first
