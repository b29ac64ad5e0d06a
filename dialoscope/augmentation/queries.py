"""What is to be asked in other words: the last turn of each context."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from dialoscope.core.errors import DataError
from dialoscope.core.records import Example
from dialoscope.core.safe_text import printable
from dialoscope.data.contexts import Contexts
from dialoscope.data.problems import ReadLog
from dialoscope.data.replies import Replies, RowSource, read

Queryable = Contexts | RowSource | str | Path | Iterable[Example | str | Sequence[str]]
"""Whatever holds queries: a file, what was read from one, examples, or turns."""


_SYSTEMS_SHOWN = 10


@dataclass(frozen=True)
class Query:
    """A query, what was said before it, and what its row holds besides."""

    id: str
    history: tuple[str, ...]
    text: str
    answer: str | None = None
    """What the system said, where it is to be asked again."""
    others: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))

    def context(self, text: str) -> list[str]:
        """The context in which a system is asked this in place of the query, or again after its answer."""
        asked = () if self.answer is None else (self.text, self.answer)
        return [*self.history, *asked, text]


class Read(NamedTuple):
    """Queries, and how many malformed rows there are besides."""

    queries: list[Query]
    skipped: int
    systems: int = 0
    """How many are asked again; none where a variant stands in the place of the query."""


def queries_of(data: Queryable, ask: str, system: str | None = None) -> Read:
    """The query of each context; where a system is to be asked again, that of each reply, with the reply."""
    if ask == "again":
        return _answered(data, system)
    found = Contexts.of(data)
    queries = [Query(row.id, row.context[:-1], row.context[-1], others=row.others) for row in found.rows]
    return Read(queries, found.skipped)


def _answered(data: Queryable, system: str | None) -> Read:
    if isinstance(data, Contexts):
        raise DataError("To ask again, replies are needed, not contexts alone: give what ds.read returns.")
    log = ReadLog()
    examples = [row.example for row in _replies(data).rows(log) if row.example.context]
    if not examples:
        raise DataError("To ask again, replies need a context, the last turn of which they answer; none has.")
    systems = list(dict.fromkeys(example.system for example in examples))
    if system is not None:
        examples = [example for example in examples if example.system == system]
        if not examples:
            raise DataError(
                f"There is no reply of a system '{printable(system)}'; there are: {_listed(systems)}."
            )
        systems = [system]
    queries = [_asked(example, len(systems) > 1) for example in examples]
    return Read(queries, log.problem_count, len(systems))


def _listed(systems: Sequence[str]) -> str:
    more = ", ..." if len(systems) > _SYSTEMS_SHOWN else ""
    return ", ".join(map(printable, systems[:_SYSTEMS_SHOWN])) + more


def _replies(data: Queryable) -> RowSource:
    if isinstance(data, (str, Path)):
        return read(data)
    return data if isinstance(data, RowSource) else Replies.of(data)  # type: ignore[arg-type]  # it checks


def _asked(example: Example, several: bool) -> Query:
    """The query that a reply answers; ids of replies are unique for one system only."""
    name = f"{example.system}/{example.id}" if several else example.id
    others: dict[str, object] = {"system": example.system}
    if example.speakers:
        others["speakers"] = [*example.speakers, *example.speakers[-2:]]  # the same two speak once more
    if example.references:
        others["references"] = list(example.references)
    return Query(name, example.context[:-1], example.context[-1], example.response, others)
