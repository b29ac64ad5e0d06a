"""Drafts of variants, which a method proposes in order of preference."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple, Optional, Protocol

from dialoscope.augmentation.queries import Query
from dialoscope.models.protocols import Encoder


class WordChange(NamedTuple):
    """A word of the query, and its replacement."""

    old: str
    new: str


class Draft(Protocol):
    """A text that could be a variant of a query."""

    @property
    def text(self) -> str:
        """The text itself."""

    @property
    def variant(self) -> str:
        """A label of how it was made, such as `verbs`."""

    @property
    def changes(self) -> tuple[WordChange, ...]:
        """The words that were replaced, if any."""

    def reduce(self) -> Optional["Draft"]:
        """A draft with fewer changes, if there is one."""


class Drafts(NamedTuple):
    """The drafts of one query."""

    candidates: Iterator[Draft]
    """The drafts, best first; they are made lazily."""
    missing: tuple[str, ...] = ()
    """What is missing for a draft: kinds of words that can be replaced, or a history."""


class Method(Protocol):
    """A way to make variants, as a frozen dataclass with a signature."""

    __dataclass_fields__: ClassVar[dict[str, Any]]
    name: ClassVar[str]
    version: ClassVar[int]
    default_min_similarity: ClassVar[float]
    """The default of the minimum similarity of a variant and the query."""

    def drafts(self, queries: Sequence[Query], encoder: Encoder, count: int, seed: int) -> list[Drafts]:
        """For each query, drafts for `count` variants, and some more if possible."""
