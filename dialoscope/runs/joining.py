"""Finding the replies of a run that records beside it are of."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from dialoscope.core.arrays import Ints
from dialoscope.core.errors import DataError
from dialoscope.core.safe_text import printable
from dialoscope.data.source import describe_value

if TYPE_CHECKING:
    from dialoscope.runs.result import ReplyIndex

_SHOWN = 3


class Record(Protocol):
    """Anything that says which reply it is of."""

    @property
    def id(self) -> str:
        """The reply's."""
        ...

    @property
    def system(self) -> str:
        """Empty where the id alone must tell."""
        ...


class Matches(NamedTuple):
    """Where records belong."""

    reply: Ints
    """The place of each record's reply in the run, -1 where it has none there."""
    notes: tuple[str, ...]
    """What is left over, in words."""


def find(replies: "ReplyIndex", records: Sequence[Record], what: str) -> Matches:
    """The replies that these records, called so, are of; an error where none of them is of any."""
    for record in records:
        if not hasattr(record, "id") or not hasattr(record, "system"):
            raise DataError(
                f"This is not a {what}, but {describe_value(record)}. "
                f"Read a file of them with ds.read_{what}s(path)."
            )
    if not records:
        raise DataError(f"There is not one {what} to join to the replies.")
    system = {name: place for place, name in enumerate(replies.systems)}
    numbers = replies.system.tolist()
    places = {key: row for row, key in enumerate(zip(replies.ids, numbers, strict=True))}
    alone: dict[str, list[int]] = {}
    for row, name in enumerate(replies.ids):
        alone.setdefault(name, []).append(row)
    found = np.full(len(records), -1, np.int64)
    for place, record in enumerate(records):
        if record.system:
            found[place] = places.get((record.id, system.get(record.system, -1)), -1)
        else:
            rows = alone.get(record.id, [-1])
            _check_one(rows, record.id, replies, what)
            found[place] = rows[0]
    lost = np.flatnonzero(found < 0).tolist()
    if len(lost) == len(records):
        raise DataError(_nothing(replies, records, what))
    return Matches(found, (_left_over(records, lost, what),) if lost else ())


def _check_one(rows: Sequence[int], name: str, replies: "ReplyIndex", what: str) -> None:
    if len(rows) > 1:
        whose = ", ".join(printable(replies.systems[replies.system[row]]) for row in rows[:_SHOWN])
        raise DataError(
            f"A {what} of reply '{printable(name)}' does not say whose: {len(rows)} systems have a reply "
            f"with this id ({whose}{', …' if len(rows) > _SHOWN else ''}). Add a column `system`."
        )


def _nothing(replies: "ReplyIndex", records: Sequence[Record], what: str) -> str:
    return (
        f"None of the {len(records)} {what}s is of a reply in the run. They are of {_whose(records)}; the "
        f"run has replies such as '{printable(replies.ids[0])}' by system "
        f"'{printable(replies.systems[replies.system[0]])}'. Give both the same ids and systems."
    )


def _left_over(records: Sequence[Record], lost: Sequence[int], what: str) -> str:
    return (
        f"{len(lost)} of {len(records)} {what}s are of no reply in the run and were left out: "
        f"{_whose([records[place] for place in lost])}."
    )


def _whose(records: Sequence[Record]) -> str:
    """The first few replies that records are of, and whether there are more."""
    names = list(dict.fromkeys((one.id, one.system) for one in records))
    shown = [
        f"'{printable(name)}'" + (f" by system '{printable(system)}'" if system else "")
        for name, system in names[:_SHOWN]
    ]
    return ", ".join(shown) + (", …" if len(names) > _SHOWN else "")
