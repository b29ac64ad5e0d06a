"""Replies by people, from data with references or from dialogues between people."""

from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

from dialoscope.core.errors import DataError
from dialoscope.core.records import Example
from dialoscope.data.layout import Row


class RealReply(NamedTuple):
    """A reply by a person."""

    context: tuple[str, ...]
    text: str
    references: tuple[str, ...]
    """The references that the reply, perturbed or not, is compared with."""
    id: str
    dialogue: str = ""
    group: str = ""
    speakers: tuple[str, ...] = ()


class RealReplies(NamedTuple):
    """All replies by people in the data, in an order that does not depend on that of the data."""

    replies: tuple[RealReply, ...]
    description: str
    """The source of the replies, and of their references."""
    skipped: int = 0
    """Number of rows left out because they have no reference where others have one."""


AGAINST = ("others", "itself")
"""The references of a real reply: the other references of its row, or the reply itself."""


def select_real_replies(rows: Iterable[Row], against: str | None = None) -> RealReplies:
    """Return the first reference of each context, or the response where no row has a reference."""
    all_rows = list(rows)
    with_references = [row for row in all_rows if row.example.references]
    unique = _select_unique(with_references or all_rows)
    if len(unique) < 2:
        raise DataError(
            f"There is {'one' if unique else 'no'} real reply to perturb; at least two are needed, "
            "since replies are exchanged and only part of them is perturbed at a time."
        )
    uses_others = _uses_others(unique, against)
    source = "the first reference of each context" if with_references else "the responses of the data"
    references = "the other references" if uses_others else "themselves unperturbed"
    has_prefix = len({row.example.id for row in unique}) < len(unique)
    replies = sorted(_make_reply(row, uses_others=uses_others, has_prefix=has_prefix) for row in unique)
    skipped = len(all_rows) - len(with_references) if with_references else 0
    return RealReplies(tuple(replies), f"{source}, compared with {references}", skipped)


def _uses_others(rows: Sequence[Row], against: str | None) -> bool:
    """Whether replies are compared with the other references of their rows."""
    alone = [row.example.id for row in rows if len(row.example.references) < 2]
    if against == "others" and alone:
        raise DataError(
            f"{len(alone)} of {len(rows)} replies have no other reference to be compared with (the first is "
            f"'{alone[0]}'). Compare them with themselves: --against itself (against='itself')."
        )
    return not alone and against != "itself"


def _select_unique(rows: Sequence[Row]) -> list[Row]:
    """Return the rows without those of a context that an earlier system has replied to."""
    owners: dict[Hashable, str] = {}
    return [
        row
        for row in rows
        if owners.setdefault(_context_key(row.example), row.example.system) == row.example.system
    ]


def _context_key(example: Example) -> Hashable:
    return example.context or (example.id, example.references or example.response)


def _make_reply(row: Row, *, uses_others: bool, has_prefix: bool) -> RealReply:
    """Return the reply of a row; its id begins with its system where ids alone are not unique."""
    example = row.example
    texts = example.references or (example.response,)
    prefix = f"{example.system}:" if has_prefix else ""
    dialogue = "" if row.unit is None else prefix + row.unit
    references = texts[1:] if uses_others else texts[:1]
    name, group = prefix + example.id, example.group
    return RealReply(example.context, texts[0], references, name, dialogue, group, example.speakers)
