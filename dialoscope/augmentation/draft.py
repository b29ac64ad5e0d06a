"""Drafts of variants: what a method proposes, in the order in which it would have them."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple, Optional, Protocol

from dialoscope.augmentation.queries import Query
from dialoscope.models.protocols import Encoder


class Change(NamedTuple):
    """A word of the query, and what became of it."""

    old: str
    new: str


class Draft(Protocol):
    """A text that could stand for a query."""

    @property
    def text(self) -> str:
        """The text itself."""

    @property
    def variant(self) -> str:
        """How it was made, in a word or two."""

    @property
    def changes(self) -> tuple[Change, ...]:
        """The words that became others, where it was made by replacing words."""

    def nearer(self) -> Optional["Draft"]:
        """The same with less of a change, where that can be."""


class Drafts(NamedTuple):
    """What can be made of one query."""

    those: Iterator[Draft]
    """The best first; made as they are asked for."""
    lacking: tuple[str, ...] = ()
    """What it lacks: kinds of words for which nothing can stand, or a history."""


class Method(Protocol):
    """A way to make variants, as a frozen dataclass that signs itself."""

    __dataclass_fields__: ClassVar[dict[str, Any]]
    name: ClassVar[str]
    version: ClassVar[int]
    usual_nearest: ClassVar[float]
    """How near to the query its variants must be, where nobody says."""

    def drafts(self, queries: Sequence[Query], encoder: Encoder, count: int, seed: int) -> list[Drafts]:
        """For each query, drafts for the `count` variants that are wanted, and more of them if it can."""
