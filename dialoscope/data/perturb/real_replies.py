"""What people really said, taken from data with references or from dialogues between people."""

from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

from dialoscope.core.errors import DataError
from dialoscope.core.records import Example
from dialoscope.data.layout import Row


class RealReply(NamedTuple):
    """One thing that a person said."""

    context: tuple[str, ...]
    text: str
    references: tuple[str, ...]
    """What a copy of it, intact or not, is compared with."""
    id: str
    dialogue: str = ""
    group: str = ""
    speakers: tuple[str, ...] = ()


class RealReplies(NamedTuple):
    """All real replies of the data, in an order that does not depend on that of the data."""

    replies: tuple[RealReply, ...]
    told: str
    """Where they come from, and what they are compared with."""
    without: int = 0
    """Rows left out because they have no reference where others have."""


AGAINST = ("others", "itself")
"""What a real reply is compared with: the other references of its row, or itself as it was said."""


def real_replies(rows: Iterable[Row], against: str | None = None) -> RealReplies:
    """The first reference of each row, or the response where no row has any; each context counts once."""
    given = list(rows)
    referenced = [row for row in given if row.example.references]
    once = _once(referenced or given)
    if len(once) < 2:
        raise DataError(
            f"There is {'one' if once else 'no'} real reply to perturb; at least two are needed, "
            "since replies are exchanged and only part of them is perturbed at a time."
        )
    others = _with_others(once, against)
    said = "the first reference of each context" if referenced else "the responses of the data"
    beside = "the other references" if others else "themselves unperturbed"
    prefixed = len({row.example.id for row in once}) < len(once)
    replies = sorted(_reply(row, others=others, prefixed=prefixed) for row in once)
    without = len(given) - len(referenced) if referenced else 0
    return RealReplies(tuple(replies), f"{said}, compared with {beside}", without)


def _with_others(rows: Sequence[Row], against: str | None) -> bool:
    alone = [row.example.id for row in rows if len(row.example.references) < 2]
    if against == "others" and alone:
        raise DataError(
            f"{len(alone)} of {len(rows)} replies have no other reference to be compared with (the first is "
            f"'{alone[0]}'). Compare them with themselves: --against itself (against='itself')."
        )
    return not alone and against != "itself"


def _once(rows: Sequence[Row]) -> list[Row]:
    """The rows without those that answer what another system has answered already."""
    owners: dict[Hashable, str] = {}
    return [
        row
        for row in rows
        if owners.setdefault(_answered(row.example), row.example.system) == row.example.system
    ]


def _answered(example: Example) -> Hashable:
    return example.context or (example.id, example.references or example.response)


def _reply(row: Row, *, others: bool, prefixed: bool) -> RealReply:
    """The id says whose it was where ids alone would not tell replies apart."""
    example = row.example
    said = example.references or (example.response,)
    whose = f"{example.system}:" if prefixed else ""
    dialogue = "" if row.unit is None else whose + row.unit
    references = said[1:] if others else said[:1]
    name, group = whose + example.id, example.group
    return RealReply(example.context, said[0], references, name, dialogue, group, example.speakers)
