"""Joining records from other files, such as ratings, to the replies of a run."""

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
    """A record that names its reply."""

    @property
    def id(self) -> str:
        """The id of the reply."""
        ...

    @property
    def system(self) -> str:
        """The system of the reply; empty if the id alone identifies it."""
        ...


class Matches(NamedTuple):
    """The replies that records belong to."""

    reply: Ints
    """The row of each record's reply in the run, -1 if the run has none."""
    notes: tuple[str, ...]
    """A sentence on records without a reply."""


def find(replies: "ReplyIndex", records: Sequence[Record], what: str) -> Matches:
    """The replies of these records; an error if none of them has one.

    `what` is the kind of record in messages, such as "rating".
    """
    for record in records:
        if not hasattr(record, "id") or not hasattr(record, "system"):
            raise DataError(
                f"This is not a {what}, but {describe_value(record)}. "
                f"Read a file of them with ds.read_{what}s(path)."
            )
    if not records:
        raise DataError(f"There is not one {what} to join to the replies.")
    rows = _find_rows(replies, records, what)
    unmatched = [record for record, row in zip(records, rows, strict=True) if row < 0]
    if len(unmatched) == len(records):
        raise DataError(
            f"None of the {len(records)} {what}s is of a reply in the run. They are of "
            f"{_list_replies(records)}; the run has replies such as '{printable(replies.ids[0])}' by system "
            f"'{printable(replies.systems[replies.system[0]])}'. Give both the same ids and systems."
        )
    note = (
        f"{len(unmatched)} of {len(records)} {what}s are of no reply in the run and were left out: "
        f"{_list_replies(unmatched)}."
    )
    return Matches(np.array(rows, np.int64), (note,) if unmatched else ())


def _find_rows(replies: "ReplyIndex", records: Sequence[Record], what: str) -> list[int]:
    """The row of each record's reply, -1 if there is none."""
    system_number = {name: number for number, name in enumerate(replies.systems)}
    row_of = {key: row for row, key in enumerate(zip(replies.ids, replies.system.tolist(), strict=True))}
    rows_of_id: dict[str, list[int]] = {}
    for row, id in enumerate(replies.ids):  # noqa: A001
        rows_of_id.setdefault(id, []).append(row)
    rows = []
    for record in records:
        if record.system:
            rows.append(row_of.get((record.id, system_number.get(record.system, -1)), -1))
        else:
            candidates = rows_of_id.get(record.id, [-1])
            _check_unique(candidates, record.id, replies, what)
            rows.append(candidates[0])
    return rows


def _check_unique(rows: Sequence[int], name: str, replies: "ReplyIndex", what: str) -> None:
    if len(rows) > 1:
        systems = ", ".join(printable(replies.systems[replies.system[row]]) for row in rows[:_SHOWN])
        raise DataError(
            f"A {what} of reply '{printable(name)}' does not say whose: {len(rows)} systems have a reply "
            f"with this id ({systems}{', …' if len(rows) > _SHOWN else ''}). Add a column `system`."
        )


def _list_replies(records: Sequence[Record]) -> str:
    """The first few replies that records are of, and whether there are more."""
    names = list(dict.fromkeys((record.id, record.system) for record in records))
    shown = [
        f"'{printable(name)}'" + (f" by system '{printable(system)}'" if system else "")
        for name, system in names[:_SHOWN]
    ]
    return ", ".join(shown) + (", …" if len(names) > _SHOWN else "")
