"""The queries of metrics to a language model, which computes each text once for all metrics."""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from dialoscope.core.arrays import Floats
from dialoscope.core.records import Example
from dialoscope.core.tally import Sums
from dialoscope.metrics.shared.truncation_notes import note_cutting
from dialoscope.models.protocols import Continuation, LanguageModel
from dialoscope.text.batch import Batch

Join = Literal["newline", "space"]
Spaces = Literal["strip", "keep"]
Texts = Sequence[Continuation | None]
"""The text read for each reply; None where there is none."""


class Reading:
    """The texts of a batch that metrics have a model read, and their log-probabilities."""

    def __init__(self, lm: LanguageModel) -> None:
        self.lm = lm
        self.waiting: dict[Continuation, None] = {}
        self.log_probabilities: dict[Continuation, Floats] = {}

    def add(self, texts: Texts) -> None:
        """Add texts, which are read with the next query."""
        self.waiting.update(
            (text, None) for text in texts if text is not None and text not in self.log_probabilities
        )

    def answers(self, texts: Texts) -> list[Floats]:
        """Return the log-probabilities of each text's tokens; none for a missing text."""
        self.add(texts)
        if self.waiting:
            asked = list(self.waiting)
            self.log_probabilities.update(zip(asked, self.lm.log_probabilities(asked), strict=True))
            self.waiting.clear()
        return [self.log_probabilities[text] if text is not None else np.empty(0) for text in texts]


def reading(batch: Batch, lm: LanguageModel) -> Reading:
    """Return the reading of a batch by a model, which all metrics share."""
    return batch.once(("reading", lm), Reading, lm)


def in_context(batch: Batch, turns: int, join: Join, spaces: Spaces) -> Texts:
    """Return each reply after the last turns of its context (0: all); None where either is blank."""
    return batch.once(
        ("in context", turns, join, spaces),
        lambda: [_continuation(example, turns, join, spaces) for example in batch],
    )


def alone(batch: Batch, spaces: Spaces) -> Texts:
    """Return each reply without context; None for a blank reply."""
    return batch.once(
        ("alone", spaces),
        lambda: [
            Continuation("", reply_text(example, spaces)) if example.response.strip() else None
            for example in batch
        ],
    )


def note_cut_texts(batch: Batch, lm: LanguageModel, texts: Texts) -> list[str]:
    """Return notes on replies that the model could not read with all of their context."""
    return note_cutting(batch, lm, ((row, text) for row, text in enumerate(texts) if text is not None))


def reply_text(example: Example, spaces: Spaces) -> str:
    """Return the reply, without the spaces around it unless `spaces` is `keep`."""
    return example.response if spaces == "keep" else example.response.strip()


def totals(log_probabilities: Sequence[Floats]) -> Sums:
    """Return for each text the sum over its tokens and their number; undefined without a token."""
    rows = [
        (math.fsum(values), float(len(values))) if len(values) else (math.nan, math.nan)
        for values in log_probabilities
    ]
    return Sums(np.array(rows, float).reshape(-1, 2))


def _continuation(example: Example, turns: int, join: Join, spaces: Spaces) -> Continuation | None:
    """Join context and reply: a space belongs to the next word, a newline to the line before it."""
    turns_read, reply = example.context[-turns:], reply_text(example, spaces)
    if not (reply.strip() and "".join(turns_read).strip()):
        return None
    if join == "space":
        return Continuation(" ".join(turns_read), f" {reply}")
    return Continuation("".join(f"{turn}\n" for turn in turns_read), reply)
