"""The replies to be judged: described here, read when they are iterated over."""

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from dialoscope.core.errors import DataError
from dialoscope.core.records import Example, Rating
from dialoscope.data.cells import kind, read_name, read_text
from dialoscope.data.columns import COLUMNS, Names
from dialoscope.data.duplicates import Seen
from dialoscope.data.join import ITEM_COLUMNS, REPLY_COLUMNS, ItemList, SystemReplies
from dialoscope.data.layout import Layout, Row
from dialoscope.data.problems import LEAVE_OUT, BadRow, Problem, ReadLog, counted
from dialoscope.data.source import (
    FORMATS,
    STANDARD_INPUT,
    USE_TABLE,
    Source,
    holds_columns,
    locate,
    name_value,
)
from dialoscope.data.tables import read_records

_MAKE_EXAMPLES = (
    "Read a file with ds.read(path), or make ds.Example(id, system, response, context, references) for each "
    "reply."
)

Outcomes = Iterator[tuple[int, Row | BadRow]]
"""What the rows of a file turn out to be, each with its line."""


@runtime_checkable
class RowSource(Protocol):
    """Anything that replies can be read from, as often as wanted."""

    def rows(self, log: ReadLog) -> Iterator[Row]:
        """Each reply with its ratings."""

    def __iter__(self) -> Iterator[Example]:
        """Each reply."""

    def arguments(self) -> dict[str, Any] | None:
        """What `read` must be given to read the same again, if that can be done."""

    def size(self) -> int | None:
        """The bytes to be read, if that is known."""


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
    """The replies in these files, which are looked for now and read later."""
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
    ).checked()


@dataclass(frozen=True, slots=True)
class Replies:
    """A description of files with replies; every iteration reads them anew, row by row."""

    sources: tuple[Source, ...]
    """The files with the replies, or with the items that `systems` reply to."""
    systems: tuple[tuple[str, Source], ...] = ()
    columns: tuple[tuple[str, str], ...] = ()
    separator: str | None = None
    system: str | None = None
    speaker: str | None = None
    format: str | None = None
    """The format asked for, where it is not the file's name that tells."""
    skips_problems: bool = False

    @staticmethod
    def of(examples: Iterable[Example], ratings: Iterable[Rating] = ()) -> "HeldReplies":
        """Replies that are in memory already."""
        _check_examples(examples)
        examples = tuple(examples)
        for example in examples:
            if not isinstance(example, Example):
                raise DataError(f"{example!r:.60} is no Example. {_MAKE_EXAMPLES}")
        by_reply = defaultdict(list)
        for rating in _checked_ratings(ratings):
            by_reply[rating.id, rating.system].append(rating)
        rows = tuple(
            Row(example, tuple(by_reply.pop((example.id, example.system), ()))) for example in examples
        )
        _check_held(rows, by_reply)
        return HeldReplies(rows)

    def checked(self) -> "Replies":
        """Itself, once it is clear that its columns can be named so."""
        self._layout("")
        return self

    def rows(self, log: ReadLog) -> Iterator[Row]:
        """Each reply with its ratings; problems are in the log, and in the error they end with."""
        seen = Seen()
        problems_before, rows_before = log.problem_count, log.rows
        for file, outcomes in self._files(log):
            seen.enter(file)
            for line, outcome in outcomes:
                row = outcome if isinstance(outcome, BadRow) else seen.admit(outcome, line)
                if isinstance(row, BadRow):
                    log.report(Problem(file, line, str(row)), skips=self.skips_problems)
                    continue
                log.rows += 1
                if self.skips_problems or log.problem_count == problems_before:
                    yield row
        if log.problem_count > problems_before:
            self._conclude(log, log.rows - rows_before)

    def __iter__(self) -> Iterator[Example]:
        return (row.example for row in self.rows(ReadLog()))

    def arguments(self) -> dict[str, Any]:
        """What `read` must be given to read the same again: `paths`, and the rest by name.

        `names` are the systems that rows without one belong to, which no longer show when a file is renamed.
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
        """The bytes of all files; nothing when standard input is among them."""
        sizes = [source.size() for source in (*self.sources, *(source for _, source in self.systems))]
        known = [size for size in sizes if size is not None]
        return sum(known) if len(known) == len(sizes) else None

    def _files(self, log: ReadLog) -> Iterator[tuple[str, Outcomes]]:
        return self._joined(log) if self.systems else self._plain(log)

    def _plain(self, log: ReadLog) -> Iterator[tuple[str, Outcomes]]:
        for source in self.sources:
            layout = self._layout(self.system or source.system)
            yield source.name, _read_rows(source, layout, log)

    def _joined(self, log: ReadLog) -> Iterator[tuple[str, Outcomes]]:
        items = ItemList()
        for source in self.sources:
            yield source.name, items.collect(source, self._layout("", ITEM_COLUMNS), log)
        for system, source in self.systems:
            replies = SystemReplies(source, self._layout(system, REPLY_COLUMNS))
            yield source.name, replies.rows(items, log)

    def _layout(self, system: str, wanted: tuple[str, ...] = COLUMNS) -> Layout:
        return Layout(Names.of(dict(self.columns), wanted), system, self.separator, self.speaker)

    def _conclude(self, log: ReadLog, rows: int) -> None:
        if self.skips_problems and rows:
            return
        found = counted(log.problem_count, "problem")
        if self.skips_problems:
            raise DataError(f"Not one reply could be read; {found}:\n{log.summary()}")
        raise DataError(f"{found} in the data:\n{log.summary()}\n{LEAVE_OUT}")


@dataclass(frozen=True, slots=True)
class HeldReplies:
    """Replies in memory, known to be without problems."""

    held: tuple[Row, ...]

    def rows(self, log: ReadLog) -> Iterator[Row]:
        """Each reply with its ratings."""
        for row in self.held:
            log.rows += 1
            yield row

    def __iter__(self) -> Iterator[Example]:
        return (row.example for row in self.held)

    def arguments(self) -> dict[str, Any] | None:
        """What is in memory cannot be read again."""
        return None

    def size(self) -> int | None:
        """Nothing is left to be read."""
        return 0


def _read_rows(source: Source, layout: Layout, log: ReadLog) -> Outcomes:
    for number, (line, cells) in enumerate(read_records(source, layout.names, log), 1):
        if isinstance(cells, BadRow):
            yield line, cells
            continue
        try:
            rows = layout.rows(cells, number)
        except BadRow as bad:
            yield line, bad
            continue
        for row in rows:
            yield line, row


def _check_types(replies: object, columns: object, texts: Mapping[str, object]) -> None:
    """Refuse arguments that are not of the types of the signature, where a mistake is easily made."""
    if replies is not None and not isinstance(replies, Mapping):
        raise DataError(f"replies is {name_value(replies)}; it must map names of systems to their files.")
    if columns is not None and not isinstance(columns, Mapping):
        raise DataError(
            f"columns is {name_value(columns)}; it must map our names of columns to the file's, such as "
            "{'response': 'output'}."
        )
    for argument, text in texts.items():
        if text is not None and not isinstance(text, str):
            raise DataError(f"{argument} is {name_value(text)} where text is due.")


def _check_choice(argument: str, value: object, choices: tuple[str | None, ...]) -> None:
    if not (value is None or isinstance(value, str)) or value not in choices:
        names = " or ".join(repr(choice) for choice in choices if choice)
        raise DataError(f"{argument} is {name_value(value)}; it must be {names}.")


def _check_use(
    paths: tuple[str | Path, ...], replies: Mapping[str, str | Path], separator: str | None, who: str | None
) -> None:
    """Refuse arguments that make no sense together."""
    if not paths:
        raise DataError("There is nothing to read: name at least one file, or - for standard input.")
    if [str(path) for path in (*paths, *replies.values())].count(STANDARD_INPUT) > 1:
        raise DataError("Standard input (-) can be read only once.")
    if who is not None and not _is_text(who):
        raise DataError("The name of the system or speaker holds bytes that are no text.")
    if separator == "":
        raise DataError("The separator is empty; name the characters between two turns, such as ' EOS '.")
    if replies and who:
        raise DataError(
            "With replies in files of their own, their names say who replied: leave out system and speaker."
        )


def _check_examples(examples: object) -> None:
    """Refuse what holds no examples, also where it could be iterated over."""
    if (
        isinstance(examples, (str, os.PathLike))
        or not isinstance(examples, Iterable)
        or holds_columns(examples)
    ):
        instead = USE_TABLE if holds_columns(examples) else _MAKE_EXAMPLES
        raise DataError(f"This is not a list of examples, but {name_value(examples)}. {instead}")


def _checked_ratings(ratings: object) -> Iterator[Rating]:
    for rating in ratings if isinstance(ratings, Iterable) else (ratings,):
        if not isinstance(rating, Rating):
            raise DataError(
                f"This is not a Rating, but {name_value(rating)}. "
                "Make ds.Rating(id, system, aspect, rater, value)."
            )
        yield rating


def _is_text(name: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in name)


def _check_held(rows: tuple[Row, ...], left: Mapping[tuple[str, str], list[Rating]]) -> None:
    log = ReadLog()
    seen = Seen()
    seen.enter("examples")
    for place, row in enumerate(rows, 1):
        try:
            _check_example(row.example)
            outcome = seen.admit(row, place)
        except BadRow as bad:
            outcome = bad
        if isinstance(outcome, BadRow):
            log.report(Problem("examples", place, str(outcome)))
    if log.problem_count:
        raise DataError(f"{counted(log.problem_count, 'problem')} in the examples:\n{log.summary()}")
    for name, system in left:
        raise DataError(f"There are ratings of {name!r} by system {system!r}, but no such reply.")


def _check_example(example: Example) -> None:
    """Refuse what no file could have held."""
    for name, texts in (("context", example.context), ("references", example.references)):
        if not isinstance(texts, tuple):
            raise BadRow(f"`{name}` is {kind(texts)} where a tuple of texts is due")
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
        return  # nearly all of them, told with one look
    read_name(example.id, "`id`")
    read_name(example.system, "`system`")
    for place, text in enumerate(texts):
        read_text(text, _LABELS[place] if place < len(_LABELS) else "`context` or `references`")


def _check_speakers(example: Example) -> None:
    speakers: object = example.speakers
    if speakers == ():
        return
    if not isinstance(speakers, tuple):
        raise BadRow(f"`speakers` is {kind(speakers)} where a tuple of names is due")
    if len(speakers) != len(example.context) + 1:
        raise BadRow(
            f"`speakers` has {counted(len(speakers), 'name')} for {counted(len(example.context), 'turn')} "
            "and the reply; name who said each turn of the context, and last who replies"
        )
    for name in speakers:
        read_text(name, "`speakers`")


_LABELS = ("`id`", "`system`", "`response`")
