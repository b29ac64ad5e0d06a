"""What systems are to answer: the contexts in any file of rows, with all else that a row holds."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from dialoscope.core.errors import DataError
from dialoscope.core.records import Example
from dialoscope.data.cells import Cells, read_texts
from dialoscope.data.columns import COLUMNS, ERROR, Names, listed
from dialoscope.data.dialogues import EVERYBODY
from dialoscope.data.layout import Layout
from dialoscope.data.opening import Empty, is_empty
from dialoscope.data.problems import LEAVE_OUT, BadRow, Problem, ReadLog, counted
from dialoscope.data.replies import Replies, read
from dialoscope.data.source import Source, holds_columns, name_value
from dialoscope.data.tables import read_records

_WANTED = ("id", "context", "references", "turns", "speakers", "group", "queries")


class ContextRow(NamedTuple):
    """A context to be answered."""

    id: str
    context: tuple[str, ...]
    group: str = ""
    others: Mapping[str, object] = MappingProxyType({})
    """What else its row holds, to be carried along: references, how it was made, ..."""


@dataclass(frozen=True)
class Contexts:
    """The contexts of some files, in their order, each once."""

    rows: tuple[ContextRow, ...]
    repeated: int = 0
    """Rows that were left out because their context had been met under the same id."""
    skipped: int = 0
    """Malformed rows that were left out."""
    source: Mapping[str, Any] | None = None
    """How they were read, if they came from files."""

    @staticmethod
    def of(things: "Contexts | str | Path | Iterable[Example | str | Sequence[str]]") -> "Contexts":
        """Contexts from whatever holds some: a file, examples, or turns in memory."""
        if isinstance(things, Contexts):
            return things
        if isinstance(things, (str, Path)):
            return read_contexts(things)
        if not isinstance(things, Iterable) or holds_columns(things):
            raise DataError(
                f"This is not a list of contexts, but {name_value(things)}. Name a file, or give a list of "
                "turns for each."
            )
        rows = [(place, _held(thing, place)) for place, thing in enumerate(things, 1)]
        return _collected([("contexts", rows)], ReadLog(), None)


def read_contexts(
    *paths: str | Path,
    columns: Mapping[str, str] | None = None,
    separator: str | None = None,
    speaker: str | None = None,
    format: str | None = None,  # noqa: A002 - the word users know
    on_error: str = "stop",
) -> Contexts:
    """The contexts in these files; replies that they hold are passed over."""
    found = read(
        *paths, columns=columns, separator=separator, speaker=speaker, format=format, on_error=on_error
    )
    log = ReadLog()
    names = _EveryName.of(columns or {}, _WANTED)
    layout = Layout(names, "", separator, speaker)
    return _collected([(one.name, _file_rows(one, layout, log)) for one in found.sources], log, found)


class _EveryName(Names):
    """The names of columns where all others are read too."""

    __slots__ = ()

    def ignored(self, columns: Iterable[str]) -> list[str]:
        """None: what has no meaning here is carried along."""
        return []


Outcomes = Iterable[tuple[int, ContextRow | BadRow]]


def _file_rows(source: Source, layout: Layout, log: ReadLog) -> Iterator[tuple[int, ContextRow | BadRow]]:
    for number, (line, cells) in enumerate(_records(source, layout, log), 1):
        try:
            if isinstance(cells, BadRow):
                raise cells
            yield from ((line, row) for row in _rows(cells, number, layout))
        except BadRow as bad:
            yield line, bad


def _records(source: Source, layout: Layout, log: ReadLog) -> Iterator[tuple[int, Cells | BadRow]]:
    try:
        yield from read_records(source, layout.names, log)
    except Empty:
        raise is_empty(source, "context") from None


def _rows(cells: Cells, number: int, layout: Layout) -> Sequence[ContextRow]:
    """The contexts in this row: its own, or those of a group of queries, or of a whole dialogue."""
    names, name, group = layout.names, layout.name(cells, number), layout.group(cells)
    others = _others(cells, layout)
    if cells.get(names.context):
        context = layout.context(cells)
        return [ContextRow(name, context, group, {**_speakers(layout.speakers(cells, context)), **others})]
    if cells.get(names.queries) is not None:
        queries = read_texts(cells[names.queries], "`queries`", layout.separator)
        return [
            ContextRow(f"{name}#{place}", (query,), group or name, others)
            for place, query in enumerate(queries, 1)
        ]
    if cells.get(names.turns) is not None:
        return _dialogue(cells, name, layout, others)
    if names.context in cells:
        raise BadRow("`context` is empty; there is nothing to answer")
    raise BadRow(
        f"no column `context` among {listed(cells)}; say which holds what is to be answered: "
        "--map context=COLUMN"
    )


def _dialogue(cells: Cells, name: str, layout: Layout, others: Mapping[str, object]) -> list[ContextRow]:
    """What was said before each turn of the system; and all of it, where others had the last word."""
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
    everything = layout.dialogue(cells, name, "", EVERYBODY)
    last = everything[-1]
    if last.speakers and last not in examples:
        replier = examples[0].speakers[-1] if examples else ""  # somebody who has not spoken yet
        speakers = _speakers((*last.speakers, replier))
        context = (*last.context, last.response)
        rows.append(ContextRow(f"{name}#{len(everything) + 1}", context, "", {**speakers, **others}))
    return rows


def _others(cells: Cells, layout: Layout) -> dict[str, object]:
    """What goes along: all but what has a place of its own, and what is said by or of another system."""
    names = layout.names
    taken = {ERROR, *COLUMNS, *(getattr(names, column) for column in COLUMNS)}
    kept = {
        column: value
        for column, value in cells.items()
        if column not in taken and not names.holds_rating(column)
    }
    return {**_references(layout.references(cells)), **kept}


def _speakers(names: tuple[str, ...]) -> dict[str, object]:
    return {"speakers": list(names)} if names else {}


def _references(texts: tuple[str, ...]) -> dict[str, object]:
    return {"references": list(texts)} if texts else {}


def _held(thing: object, place: int) -> ContextRow | BadRow:
    """A context that is in memory: an example without its reply, or turns; one text is one turn."""
    if isinstance(thing, Example):
        others = {**_speakers(thing.speakers), **_references(thing.references)}
        row = ContextRow(thing.id, thing.context, thing.group, others)
    elif isinstance(thing, str):
        row = ContextRow(str(place), (thing,))
    elif isinstance(thing, Sequence) and all(isinstance(turn, str) for turn in thing):
        row = ContextRow(str(place), tuple(thing))
    else:
        return BadRow(f"{thing!r:.60} is no context; give a list of turns, a text, or an Example")
    return row if row.context else BadRow("the context is empty; there is nothing to answer")


def _collected(files: Iterable[tuple[str, Outcomes]], log: ReadLog, source: Replies | None) -> Contexts:
    """Each context once, or all that is wrong with them."""
    found: dict[str, ContextRow] = {}
    repeated = 0
    skips = source is not None and source.skips_problems
    for file, outcomes in files:
        for line, outcome in outcomes:
            row = outcome if isinstance(outcome, BadRow) else _admitted(outcome, found)
            if isinstance(row, BadRow):
                log.report(Problem(file, line, str(row)), skips=skips)
            else:
                log.rows += 1
                repeated += row is not outcome
    if log.problem_count and not (skips and found):
        problems = counted(log.problem_count, "problem")
        advice = "" if skips else f"\n{LEAVE_OUT}"
        raise DataError(f"{problems} in the contexts:\n{log.summary()}{advice}")
    if not found:
        raise DataError("There is not one context to answer.")
    arguments = None if source is None else source.arguments()
    return Contexts(tuple(found.values()), repeated, log.problem_count, arguments)


def _admitted(row: ContextRow, found: dict[str, ContextRow]) -> ContextRow | BadRow:
    """The row that has this id; files with several systems' replies hold each context several times."""
    first = found.setdefault(row.id, row)
    if first.context != row.context:
        return BadRow(f"a second context with id {row.id!r}; give each context its own id")
    return first
