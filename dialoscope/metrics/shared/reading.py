"""What metrics ask of a language model: which texts, each of them once, however many metrics ask."""

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
"""What is read of each reply; nothing where there is nothing to read."""


class Reading:
    """The texts that metrics have a model read for a batch, and what it said of them."""

    def __init__(self, lm: LanguageModel) -> None:
        self.lm = lm
        self.waiting: dict[Continuation, None] = {}
        self.found: dict[Continuation, Floats] = {}

    def add(self, texts: Texts) -> None:
        """Texts to read when the next answer is wanted."""
        self.waiting.update((text, None) for text in texts if text is not None and text not in self.found)

    def answers(self, texts: Texts) -> list[Floats]:
        """The log-probabilities of each text's tokens; none for a reply with nothing to read."""
        self.add(texts)
        if self.waiting:
            asked = list(self.waiting)
            self.found.update(zip(asked, self.lm.log_probabilities(asked), strict=True))
            self.waiting.clear()
        return [self.found[text] if text is not None else np.empty(0) for text in texts]


def reading(batch: Batch, lm: LanguageModel) -> Reading:
    """The one reading of a batch by a model."""
    return batch.once(("reading", lm), lambda: Reading(lm))


def in_context(batch: Batch, turns: int, join: Join, spaces: Spaces) -> Texts:
    """Each reply after the last so many turns of its context (0: all); nothing where either is blank."""
    return batch.once(
        ("in context", turns, join, spaces),
        lambda: [_continuation(example, turns, join, spaces) for example in batch],
    )


def alone(batch: Batch, spaces: Spaces) -> Texts:
    """Each reply with nothing before it; nothing for a blank one."""
    return batch.once(
        ("alone", spaces),
        lambda: [
            Continuation("", reply_text(example, spaces)) if example.response.strip() else None
            for example in batch
        ],
    )


def note_cut_texts(batch: Batch, lm: LanguageModel, texts: Texts) -> list[str]:
    """What a run notes of replies that the model could not read with all that comes before them."""
    return note_cutting(batch, lm, ((row, text) for row, text in enumerate(texts) if text is not None))


def reply_text(example: Example, spaces: Spaces) -> str:
    """The reply, without the spaces around it unless they are to be kept."""
    return example.response if spaces == "keep" else example.response.strip()


def totals(log_probabilities: Sequence[Floats]) -> Sums:
    """For each text the sum over its tokens and their number; undefined without a token."""
    rows = [
        (math.fsum(values), float(len(values))) if len(values) else (math.nan, math.nan)
        for values in log_probabilities
    ]
    return Sums(np.array(rows, float).reshape(-1, 2))


def _continuation(example: Example, turns: int, join: Join, spaces: Spaces) -> Continuation | None:
    """A space belongs to the word that follows it, a newline to the line that it ends."""
    turns_read, reply = example.context[-turns:], reply_text(example, spaces)
    if not (reply.strip() and "".join(turns_read).strip()):
        return None
    if join == "space":
        return Continuation(" ".join(turns_read), f" {reply}")
    return Continuation("".join(f"{turn}\n" for turn in turns_read), reply)
