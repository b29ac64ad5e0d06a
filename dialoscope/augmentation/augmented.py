"""The result of `augment`: rows to ask a system with, and counts."""

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

_MISSING: Mapping[str, str] = {
    "verbs": "no verb with a suitable synonym",
    "nouns": "no noun with a suitable synonym",
    "modifiers": "no adjective or adverb with a suitable synonym",
    "history": "no turn before it that a generator could continue",
}


@dataclass(frozen=True)
class AugmentationCounts:
    """The number of variants, and the reasons why there are no more."""

    queries: int
    wanted: int
    """Number of variants asked for of each query."""
    variants: int
    """Number of variants of all queries that were not left out."""
    partial: int
    """Number of queries with some variants, but fewer than wanted."""
    without: int
    """Number of queries without variants, which were left out."""
    blank: int
    """Number of these that are blank."""
    rejected: int
    """Number of drafts rejected as too different from the query; most were replaced by others."""
    missing: Mapping[str, int]
    """Number of queries without verbs, nouns or modifiers that can be replaced, or without a history."""
    skipped: int = 0
    """Number of malformed rows that were skipped."""
    systems: int = 0
    """Number of systems that are asked again; 0 where a variant replaces the query."""
    fewest: int = 1
    """Minimum number of variants; queries with fewer were left out."""


@dataclass(frozen=True)
class Augmented:
    """Queries and their variants as rows."""

    rows: tuple[Mapping[str, Any], ...]
    """One for each query and one for each of its variants, with the query's id as their group."""
    counts: AugmentationCounts
    signature: str
    """The settings that the variants depend on."""

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def jsonl(self) -> str:
        """The rows as JSON, one on each line."""
        return "".join(as_line(row).decode() for row in self.rows)

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the rows into a file, completely or not at all."""
        path = Path(path)
        check_output(path, overwrite=overwrite)
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
        """The counts in words, a line each."""
        counts = self.counts
        too_few = " (left out)" if counts.fewest > 1 else ""
        lines = [
            f"{_queries(counts.queries)}, {quantity(counts.variants, 'variant')}: all {counts.wanted} for "
            f"{counts.queries - counts.partial - counts.without}, fewer for {counts.partial}{too_few}, none "
            f"for {counts.without} (left out)."
        ]
        if counts.systems > 1:
            lines.append(
                f"Replies of {counts.systems} systems; name one with --system, and ask it its own rows only."
            )
        lines += [
            f"{_queries(number)}: {_MISSING[what]}." for what, number in counts.missing.items() if number
        ]
        if counts.blank:
            lines.append(f"{_queries(counts.blank)}: blank.")
        if counts.rejected:
            lines.append(
                f"{quantity(counts.rejected, 'draft')}: too different from the query; others were tried."
            )
        if counts.skipped:
            lines.append(f"{quantity(counts.skipped, 'malformed row')}: skipped.")
        return lines


def check_output(path: Path, *, overwrite: bool) -> None:
    """Refuse a file that exists or cannot be written, before any work is done."""
    shown = printable(str(path))
    if path.is_dir() or (path.is_file() and not overwrite):
        raise DataError(f"{shown} exists already; choose another name, or replace a file with --overwrite.")
    if not path.parent.is_dir():
        raise DataError(f"{shown}: there is no folder {printable(str(path.parent))} to write it to.")
    try:
        if path.is_file() or not path.exists():  # a pipe or a device has nothing beside it
            check_file_writable(path)
    except OSError as failed:
        raise DataError(f"{shown} cannot be written: {failed.strerror}.") from failed


def make_rows(query: Query, variants: Sequence[Variant]) -> Iterator[dict[str, Any]]:
    """The row of the query itself and those of its variants."""
    yield _make_row(query, 0, Variant(query.text, ORIGINAL, 1.0))
    yield from (_make_row(query, number, variant) for number, variant in enumerate(variants, 1))


def _make_row(query: Query, number: int, variant: Variant) -> dict[str, Any]:
    """A row; other columns of the query come last, and never replace those of the variant."""
    own = {
        "id": f"{query.id}#{number}",
        "group": query.id,
        "variant": variant.label,
        "context": query.context(variant.text),
        "changes": [list(change) for change in variant.changes],
        "similarity": round(variant.similarity, 4),
    }
    return {**own, **query.others, **own}


def _queries(number: int) -> str:
    return "1 query" if number == 1 else f"{number} queries"
