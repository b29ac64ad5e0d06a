"""The replies to be evaluated: a description of their files, which are read on iteration."""

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from dialoscope.core.errors import DataError
from dialoscope.core.records import Example, Rating
from dialoscope.data.cells import describe_type, read_name, read_text
from dialoscope.data.columns import COLUMNS, ColumnNames
from dialoscope.data.duplicates import DuplicateCheck
from dialoscope.data.join import ITEM_COLUMNS, REPLY_COLUMNS, ItemList, SystemReplies
from dialoscope.data.layout import Layout, Row
from dialoscope.data.problems import LEAVE_OUT, BadRow, Problem, ReadLog, quantity
from dialoscope.data.source import (
    FORMATS,
    STANDARD_INPUT,
    USE_TABLE,
    Source,
    describe_value,
    is_table,
    locate,
)
from dialoscope.data.tables import read_records, read_rows

_MAKE_EXAMPLES = (
    "Read a file with ds.read(path), or make ds.Example(id, system, response, context, references) for each "
    "reply."
)

Rows = Iterator[tuple[int, Row | BadRow]]
"""The replies in a file, or the reasons why rows cannot be read, each with its line."""


@runtime_checkable
class RowSource(Protocol):
    """Anything that replies can be read from repeatedly."""

    def rows(self, log: ReadLog) -> Iterator[Row]:
        """Yield each reply with its ratings."""

    def __iter__(self) -> Iterator[Example]:
        """Yield each reply."""

    def arguments(self) -> dict[str, Any] | None:
        """Return the arguments with which `read` reads the same again, None if that is impossible."""

    def size(self) -> int | None:
        """Return the number of bytes to be read, None if it is not known."""


def read(
    *paths: str | Path,
    replies: Mapping[str, str | Path] | None = None,
    columns: Mapping[str, str] | None = None,
    separator: str | None = None,
    system: str | None = None,
    speaker: str | None = None,
    format: str | None = None,  # noqa: A002 - the word users know
    on_error: str = "stop",
) -> "Replies":
    """Return the replies in these files; the files must exist now, and are read later."""
    _check_types(replies, columns, {"separator": separator, "system": system, "speaker": speaker})
    _check_choice("on_error", on_error, ("stop", "skip"))
    _check_choice("format", format, (None, *FORMATS))
    _check_use(paths, replies or {}, separator, system or speaker)
    return Replies(
        tuple(locate(path, format) for path in paths),
        tuple((name, locate(path)) for name, path in (replies or {}).items()),
        tuple((columns or {}).items()),
        separator,
        system,
        speaker,
        format,
        skips_problems=on_error == "skip",
    ).check_columns()


@dataclass(frozen=True, slots=True)
class Replies:
    """A description of files with replies; every iteration reads them again, row by row."""

    sources: tuple[Source, ...]
    """The files with the replies, or with the items that `systems` reply to."""
    systems: tuple[tuple[str, Source], ...] = ()
    columns: tuple[tuple[str, str], ...] = ()
    separator: str | None = None
    system: str | None = None
    speaker: str | None = None
    format: str | None = None
    """The format that the user named; None where it follows from each file."""
    skips_problems: bool = False

    @staticmethod
    def of(examples: Iterable[Example], ratings: Iterable[Rating] = ()) -> "RepliesInMemory":
        """Return replies that are in memory already."""
        _check_examples(examples)
        examples = tuple(examples)
        for example in examples:
            if not isinstance(example, Example):
                raise DataError(f"{example!r:.60} is no Example. {_MAKE_EXAMPLES}")
        by_reply = defaultdict(list)
        for rating in _check_ratings(ratings):
            by_reply[rating.id, rating.system].append(rating)
        rows = tuple(
            Row(example, tuple(by_reply.pop((example.id, example.system), ()))) for example in examples
        )
        _check_in_memory(rows, by_reply)
        return RepliesInMemory(rows)

    def check_columns(self) -> "Replies":
        """Return the replies themselves, unless `columns` names a column that does not exist."""
        self._layout("")
        return self

    def rows(self, log: ReadLog) -> Iterator[Row]:
        """Yield each reply with its ratings; problems are in the log, and in the error at the end."""
        duplicates = DuplicateCheck()
        problems_before, rows_before = log.problem_count, log.rows
        for file, rows in self._files(log):
            duplicates.start_file(file)
            for line, row in rows:
                if not isinstance(row, BadRow):
                    row = duplicates.admit(row, line)
                if isinstance(row, BadRow):
                    log.report(Problem(file, line, str(row)), skips=self.skips_problems)
                    continue
                log.rows += 1
                if self.skips_problems or log.problem_count == problems_before:
                    yield row
        if log.problem_count > problems_before:
            self._raise_problems(log, log.rows - rows_before)

    def __iter__(self) -> Iterator[Example]:
        return (row.example for row in self.rows(ReadLog()))

    def arguments(self) -> dict[str, Any]:
        """Return the arguments with which `read` reads the same again: `paths`, and the others by name.

        `names` are the systems of rows without one, which can no longer be derived when a file is renamed.
        """
        return {
            "paths": [source.argument for source in self.sources],
            "names": [source.system for source in self.sources],
            "replies": {name: source.argument for name, source in self.systems},
            "columns": dict(self.columns),
            "separator": self.separator,
            "system": self.system,
            "speaker": self.speaker,
            "format": self.format,
            "on_error": "skip" if self.skips_problems else "stop",
        }

    def size(self) -> int | None:
        """Return the number of bytes of all files; None when standard input is among them."""
        total = 0
        for source in (*self.sources, *(source for _, source in self.systems)):
            size = source.size()
            if size is None:
                return None
            total += size
        return total

    def _files(self, log: ReadLog) -> Iterator[tuple[str, Rows]]:
        """Yield the name and the replies of each file; items, which come first, yield problems only."""
        if not self.systems:
            for source in self.sources:
                layout = self._layout(self.system or source.system)
                yield source.name, read_rows(read_records(source, layout.names, log), layout.rows)
            return
        items = ItemList()
        for source in self.sources:
            yield source.name, items.collect(source, self._layout("", ITEM_COLUMNS), log)
        for system, source in self.systems:
            replies = SystemReplies(source, self._layout(system, REPLY_COLUMNS))
            yield source.name, replies.rows(items, log)

    def _layout(self, system: str, used: tuple[str, ...] = COLUMNS) -> Layout:
        return Layout(ColumnNames.of(dict(self.columns), used), system, self.separator, self.speaker)

    def _raise_problems(self, log: ReadLog, rows: int) -> None:
        if self.skips_problems and rows:
            return
        problems = quantity(log.problem_count, "problem")
        if self.skips_problems:
            raise DataError(f"Not one reply could be read; {problems}:\n{log.summary()}")
        raise DataError(f"{problems} in the data:\n{log.summary()}\n{LEAVE_OUT}")


@dataclass(frozen=True, slots=True)
class RepliesInMemory:
    """Replies in memory, which have been checked."""

    replies: tuple[Row, ...]

    def rows(self, log: ReadLog) -> Iterator[Row]:
        """Yield each reply with its ratings."""
        for row in self.replies:
            log.rows += 1
            yield row

    def __iter__(self) -> Iterator[Example]:
        return (row.example for row in self.replies)

    def arguments(self) -> dict[str, Any] | None:
        """Return None: replies in memory cannot be read again."""
        return None

    def size(self) -> int | None:
        """Return 0: nothing remains to be read."""
        return 0


def _check_types(replies: object, columns: object, texts: Mapping[str, object]) -> None:
    """Refuse arguments that are not of the types of the signature, where a mistake is easily made."""
    if replies is not None and not isinstance(replies, Mapping):
        raise DataError(f"replies is {describe_value(replies)}; it must map names of systems to their files.")
    if columns is not None and not isinstance(columns, Mapping):
        raise DataError(
            f"columns is {describe_value(columns)}; it must map our names of columns to the file's, such as "
            "{'response': 'output'}."
        )
    for argument, text in texts.items():
        if text is not None and not isinstance(text, str):
            raise DataError(f"{argument} is {describe_value(text)} where text is expected.")


def _check_choice(argument: str, value: object, choices: tuple[str | None, ...]) -> None:
    if not (value is None or isinstance(value, str)) or value not in choices:
        names = " or ".join(repr(choice) for choice in choices if choice)
        raise DataError(f"{argument} is {describe_value(value)}; it must be {names}.")


def _check_use(
    paths: tuple[str | Path, ...], replies: Mapping[str, str | Path], separator: str | None, name: str | None
) -> None:
    """Refuse arguments that contradict each other."""
    if not paths:
        raise DataError("There is nothing to read: name at least one file, or - for standard input.")
    if [str(path) for path in (*paths, *replies.values())].count(STANDARD_INPUT) > 1:
        raise DataError("Standard input (-) can be read only once.")
    if name is not None and not _is_text(name):
        raise DataError("The name of the system or speaker holds bytes that are no text.")
    if separator == "":
        raise DataError("The separator is empty; name the characters between two turns, such as ' EOS '.")
    if replies and name:
        raise DataError(
            "With replies in files of their own, their names say who replied: leave out system and speaker."
        )


def _check_examples(examples: object) -> None:
    """Refuse anything that holds no examples, even if it is iterable."""
    if isinstance(examples, (str, os.PathLike)) or not isinstance(examples, Iterable) or is_table(examples):
        instead = USE_TABLE if is_table(examples) else _MAKE_EXAMPLES
        raise DataError(f"This is not a list of examples, but {describe_value(examples)}. {instead}")


def _check_ratings(ratings: object) -> Iterator[Rating]:
    for rating in ratings if isinstance(ratings, Iterable) else (ratings,):
        if not isinstance(rating, Rating):
            raise DataError(
                f"This is not a Rating, but {describe_value(rating)}. "
                "Make ds.Rating(id, system, aspect, rater, value)."
            )
        yield rating


def _is_text(name: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in name)


def _check_in_memory(rows: tuple[Row, ...], unmatched: Mapping[tuple[str, str], list[Rating]]) -> None:
    log = ReadLog()
    duplicates = DuplicateCheck()
    duplicates.start_file("examples")
    for number, row in enumerate(rows, 1):
        try:
            _check_example(row.example)
            result = duplicates.admit(row, number)
        except BadRow as bad:
            result = bad
        if isinstance(result, BadRow):
            log.report(Problem("examples", number, str(result)))
    if log.problem_count:
        raise DataError(f"{quantity(log.problem_count, 'problem')} in the examples:\n{log.summary()}")
    for name, system in unmatched:
        raise DataError(f"There are ratings of {name!r} by system {system!r}, but no such reply.")


def _check_example(example: Example) -> None:
    """Refuse an example that no file could have held."""
    for name, texts in (("context", example.context), ("references", example.references)):
        if not isinstance(texts, tuple):
            raise BadRow(f"`{name}` is {describe_type(texts)} where a tuple of texts is expected")
    read_text(example.group, "`group`")
    read_text(example.dialogue, "`dialogue`")
    _check_speakers(example)
    texts = (example.id, example.system, example.response, *example.context, *example.references)
    if (
        all(type(text) is str for text in texts)
        and "".join(texts).isascii()
        and example.id
        and example.system
    ):
        return  # nearly all examples, so that the checks below cost nothing
    read_name(example.id, "`id`")
    read_name(example.system, "`system`")
    for index, text in enumerate(texts):
        read_text(text, _LABELS[index] if index < len(_LABELS) else "`context` or `references`")


def _check_speakers(example: Example) -> None:
    speakers: object = example.speakers
    if speakers == ():
        return
    if not isinstance(speakers, tuple):
        raise BadRow(f"`speakers` is {describe_type(speakers)} where a tuple of names is expected")
    if len(speakers) != len(example.context) + 1:
        raise BadRow(
            f"`speakers` has {quantity(len(speakers), 'name')} for {quantity(len(example.context), 'turn')} "
            "and the reply; name who said each turn of the context, and last who replies"
        )
    for name in speakers:
        read_text(name, "`speakers`")


_LABELS = ("`id`", "`system`", "`response`")
