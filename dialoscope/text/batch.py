"""Replies that are measured together, with the results that metrics share."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import overload

from dialoscope.core.records import Example, is_blank
from dialoscope.core.tally import SharedWork


class Batch(SharedWork, Sequence[Example]):
    """A sequence of examples on which metrics share their work.

    Tokens, n-gram codes and overlaps are the same for every metric with the same settings, so each is
    computed once. No result outlives the batch. Texts that consist of characters without width, which
    tokenizers and models would treat as words, are empty here.
    """

    def __init__(self, examples: Sequence[Example]) -> None:
        self._examples = examples if all(map(_is_plain, examples)) else list(map(_make_plain, examples))
        self._results = {}
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
    def __getitem__(self, index: int) -> Example: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Example]: ...
    def __getitem__(self, index: int | slice) -> Example | Sequence[Example]:
        return self._examples[index]


def _is_plain(example: Example) -> bool:
    return not any(map(_is_invisible, (example.response, *example.context, *example.references)))


def _make_plain(example: Example) -> Example:
    if _is_plain(example):
        return example
    context, references = (
        tuple(map(_blank_if_invisible, texts)) for texts in (example.context, example.references)
    )
    return replace(
        example, response=_blank_if_invisible(example.response), context=context, references=references
    )


def _blank_if_invisible(text: str) -> str:
    return "" if _is_invisible(text) else text


def _is_invisible(text: str) -> bool:
    return not text.isascii() and is_blank(text)
