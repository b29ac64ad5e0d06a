"""What augmenting made: rows to ask a system with, and what could not be made."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dialoscope.augmentation.queries import Query
from dialoscope.augmentation.selection import Variant
from dialoscope.core.errors import DataError
from dialoscope.core.files import check_file_writable, write_atomically
from dialoscope.core.safe_text import printable
from dialoscope.data.jsonl import as_line
from dialoscope.data.problems import quantity

ORIGINAL = "original"

_LACKING: Mapping[str, str] = {
    "verbs": "no verb that a synonym could stand for",
    "nouns": "no noun that a synonym could stand for",
    "modifiers": "no adjective or adverb that a synonym could stand for",
    "history": "nothing before it that a generator could go on from",
}


@dataclass(frozen=True)
class Tally:
    """How many variants there are, and why no more."""

    queries: int
    wanted: int
    """Variants of each query."""
    variants: int
    """Of all queries that were not left out."""
    short: int
    """Queries with some variants, but fewer than wanted."""
    without: int
    """Queries that were left out because they have none."""
    empty: int
    """Those of them that say nothing."""
    far: int
    """Drafts turned down because they were too far from the query; most have made room for others."""
    lacking: Mapping[str, int]
    """How many queries lack what: verbs, nouns or modifiers that can be replaced, or a history."""
    skipped: int = 0
    """Malformed rows that were passed over."""
    systems: int = 0
    """How many systems are asked again; none where a variant stands in the place of the query."""
    fewest: int = 1
    """Queries with fewer variants than this were left out."""


@dataclass(frozen=True)
class Augmented:
    """Queries and their variants, as rows."""

    rows: tuple[Mapping[str, Any], ...]
    """For each query its own row and one for each variant; they have the query's id as their group."""
    tally: Tally
    signature: str
    """How the variants were made."""

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def jsonl(self) -> str:
        """The rows as text, one a line."""
        return "".join(as_line(row).decode() for row in self.rows)

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the rows into a file, which is there whole or not at all."""
        path = Path(path)
        refuse_taken(path, overwrite=overwrite)
        if path.exists() and not path.is_file():  # a pipe or a device, which a file must not replace
            path.write_text(self.jsonl(), encoding="utf-8")
            return
        saved = write_atomically(path, map(as_line, self.rows), replace=overwrite)
        if saved != path:
            raise DataError(
                f"{printable(str(path))} was written by another process in the meantime, and is not replaced "
                f"without --overwrite. These rows were saved as {printable(str(saved))}."
            )

    def summary(self) -> list[str]:
        """What was made and what could not be, a line each."""
        tally = self.tally
        too_few = " (left out)" if tally.fewest > 1 else ""
        told = [
            f"{_queries(tally.queries)}, {quantity(tally.variants, 'variant')}: all {tally.wanted} for "
            f"{tally.queries - tally.short - tally.without}, fewer for {tally.short}{too_few}, none for "
            f"{tally.without} (left out)."
        ]
        if tally.systems > 1:
            told.append(
                f"Replies of {tally.systems} systems; name one with --system, and ask it its own rows only."
            )
        told += [f"{_queries(number)}: {_LACKING[what]}." for what, number in tally.lacking.items() if number]
        if tally.empty:
            told.append(f"{_queries(tally.empty)}: nothing but white space.")
        if tally.far:
            told.append(f"{quantity(tally.far, 'draft')}: too far from the query; others were tried instead.")
        if tally.skipped:
            told.append(f"{quantity(tally.skipped, 'malformed row')}: passed over.")
        return told


def refuse_taken(path: Path, *, overwrite: bool) -> None:
    """Say that there is such a file, or that it cannot be written, before any work is done."""
    shown = printable(str(path))
    if path.is_dir() or (path.is_file() and not overwrite):
        raise DataError(f"{shown} is there already; choose another name, or replace a file with --overwrite.")
    if not path.parent.is_dir():
        raise DataError(f"{shown}: there is no folder {printable(str(path.parent))} to write it to.")
    try:
        if path.is_file() or not path.exists():  # a pipe or a device has nothing beside it
            check_file_writable(path)
    except OSError as failed:
        raise DataError(f"{shown} cannot be written: {failed.strerror}.") from failed


def rows_of(query: Query, variants: Sequence[Variant]) -> Iterator[dict[str, Any]]:
    """The query's own row and those of its variants."""
    yield _row(query, 0, Variant(query.text, ORIGINAL, 1.0))
    yield from (_row(query, place, variant) for place, variant in enumerate(variants, 1))


def _row(query: Query, place: int, variant: Variant) -> dict[str, Any]:
    """What the query's row holds besides comes last, and gives way to what is told here."""
    own = {
        "id": f"{query.id}#{place}",
        "group": query.id,
        "variant": variant.how,
        "context": query.context(variant.text),
        "changes": [list(change) for change in variant.changes],
        "similarity": round(variant.similarity, 4),
    }
    return {**own, **query.others, **own}


def _queries(number: int) -> str:
    return "1 query" if number == 1 else f"{number} queries"
