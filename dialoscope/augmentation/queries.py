"""The queries to paraphrase: the last turn of each context."""

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
"""Data with queries: a file, what was read from one, examples, or turns."""


_SYSTEMS_SHOWN = 10


@dataclass(frozen=True)
class Query:
    """A query, the turns before it, and the other columns of its row."""

    id: str
    history: tuple[str, ...]
    text: str
    answer: str | None = None
    """The reply of the system, if it is asked again."""
    others: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))

    def context(self, text: str) -> list[str]:
        """The context with a variant in place of the query, or after the answer to it."""
        exchange = () if self.answer is None else (self.text, self.answer)
        return [*self.history, *exchange, text]


class ReadQueries(NamedTuple):
    """Queries, and the number of malformed rows that were skipped."""

    queries: list[Query]
    skipped: int
    systems: int = 0
    """Number of systems that are asked again; 0 where a variant replaces the query."""


def read_queries(data: Queryable, ask: str, system: str | None = None) -> ReadQueries:
    """Read the query of each context; if a system is asked again, that of each reply, with the reply."""
    if ask == "again":
        return _read_queries_with_replies(data, system)
    contexts = Contexts.of(data)
    queries = [Query(row.id, row.context[:-1], row.context[-1], others=row.others) for row in contexts.rows]
    return ReadQueries(queries, contexts.skipped)


def _read_queries_with_replies(data: Queryable, system: str | None) -> ReadQueries:
    if isinstance(data, Contexts):
        raise DataError("Asking again needs replies, not only contexts: pass what ds.read returns.")
    log = ReadLog()
    examples = [row.example for row in _replies(data).rows(log) if row.example.context]
    if not examples:
        raise DataError(
            "Asking again needs replies with a context, the last turn of which they answer; no reply has one."
        )
    systems = list(dict.fromkeys(example.system for example in examples))
    if system is not None:
        examples = [example for example in examples if example.system == system]
        if not examples:
            raise DataError(
                f"There is no reply of a system '{printable(system)}'; there are: {_join_names(systems)}."
            )
        systems = [system]
    queries = [_make_query(example, len(systems) > 1) for example in examples]
    return ReadQueries(queries, log.problem_count, len(systems))


def _join_names(systems: Sequence[str]) -> str:
    more = ", ..." if len(systems) > _SYSTEMS_SHOWN else ""
    return ", ".join(map(printable, systems[:_SYSTEMS_SHOWN])) + more


def _replies(data: Queryable) -> RowSource:
    if isinstance(data, (str, Path)):
        return read(data)
    return data if isinstance(data, RowSource) else Replies.of(data)  # type: ignore[arg-type]  # it checks


def _make_query(example: Example, several: bool) -> Query:
    """The query of a reply; among several systems, ids are unique only with the system's name."""
    name = f"{example.system}/{example.id}" if several else example.id
    others: dict[str, object] = {"system": example.system}
    if example.speakers:
        others["speakers"] = [*example.speakers, *example.speakers[-2:]]  # the same two speak once more
    if example.references:
        others["references"] = list(example.references)
    return Query(name, example.context[:-1], example.context[-1], example.response, others)
