"""Some replies to be measured together, and what was already worked out about them."""

from collections.abc import Iterable, Iterator, Sequence
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
        self.undefined: dict[str, set[int]] = {}
        """The replies that have no value for a reason other than missing input, by that reason."""

    def report_undefined(self, reason: str, replies: Iterable[int]) -> None:
        """Record why these replies are undefined: the run shows the reason, their number and the first.

        The reason follows "1 reply has no" and begins with the metric: "rouge-w, which compares at most …".
        """
        self.undefined.setdefault(reason, set()).update(replies)

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
