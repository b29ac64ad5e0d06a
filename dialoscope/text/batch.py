"""Some replies to be measured together, and what was already worked out about them."""

from collections.abc import Iterator, Sequence
from typing import overload

from dialoscope.records import Example
from dialoscope.tally import Shared


class Batch(Shared, Sequence[Example]):
    """A sequence of examples on which metrics share their work.

    Tokens, n-gram codes and overlaps are the same for every metric that asks with the same settings,
    so each is made once. Nothing outlives the batch.
    """

    def __init__(self, examples: Sequence[Example]) -> None:
        self._examples = examples
        self._made = {}

    def __len__(self) -> int:
        return len(self._examples)

    def __iter__(self) -> Iterator[Example]:
        return iter(self._examples)

    @overload
    def __getitem__(self, place: int) -> Example: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Example]: ...
    def __getitem__(self, place: int | slice) -> Example | Sequence[Example]:
        return self._examples[place]
