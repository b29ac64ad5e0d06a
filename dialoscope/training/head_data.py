"""The training data of a head: exchanges and wrong replies as numbers of texts, each text once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dialoscope.core.arrays import Ints
from dialoscope.core.errors import TrainingError
from dialoscope.training.dialogue_split import Turns, share_of, words_of
from dialoscope.training.negatives import (
    Exchange,
    count_different_replies,
    list_exchanges,
    sample_wrong_replies,
)
from dialoscope.training.recipes import RuberRecipe

CANDIDATES = 10
"""The number of replies among which the right one is ranked, where there are as many."""
_PER_VALIDATION = 10
"""The number of training exchanges for each exchange of validation."""


class IndexedExchanges(NamedTuple):
    """Exchanges with wrong replies, as numbers of texts."""

    queries: Ints  # (exchanges,)
    right: Ints  # (exchanges,)
    wrong: Ints  # (exchanges, wrong replies)

    def restrict_to(self, has_features: NDArray[np.bool_]) -> "IndexedExchanges":
        """The exchanges of which every text is known."""
        rows = has_features[self.queries] & has_features[self.right] & has_features[self.wrong].all(axis=1)
        return IndexedExchanges(*(column[rows] for column in self))


@dataclass(frozen=True)
class HeadData:
    """Exchanges for training, validation and tests."""

    texts: tuple[str, ...]
    training: IndexedExchanges
    evaluated: Mapping[str, IndexedExchanges]
    """`validation`, and test data by name; wrong replies are of the same kinds as in training."""
    ranked: Mapping[str, IndexedExchanges]
    """The same exchanges with random replies."""

    @property
    def contexts(self) -> Ints:
        """The numbers of the texts that are contexts."""
        parts = (self.training, *self.evaluated.values(), *self.ranked.values())
        return np.unique(np.concatenate([part.queries for part in parts]))

    def restrict_to(self, has_features: NDArray[np.bool_]) -> "HeadData":
        """The exchanges of which the embedding knows a word of each text."""
        data = replace(
            self,
            training=self.training.restrict_to(has_features),
            evaluated={name: part.restrict_to(has_features) for name, part in self.evaluated.items()},
            ranked={name: part.restrict_to(has_features) for name, part in self.ranked.items()},
        )
        for name, part in {"training": data.training, **data.evaluated, **data.ranked}.items():
            if not len(part.right):
                raise TrainingError(
                    f"No exchange is left ({name}): in none of them the embedding knows a word of each text."
                )
        return data


def is_in_part(turns: Turns, part: str) -> bool:
    """Whether a dialogue belongs to a part, such as `2/2`: the second of two halves of any corpus.

    It depends on the dialogue's words alone, so that systems trained on `1/2` and metrics trained on `2/2`
    never have a dialogue in common.
    """
    number, _, count = part.partition("/")
    return int(share_of(f"part {words_of(turns)}") * int(count)) == int(number) - 1


def make_head_data(
    train: Sequence[Turns], evaluated: Mapping[str, Sequence[Turns]], recipe: RuberRecipe
) -> HeadData:
    """Sample wrong replies; they do not depend on the seed, so that another seed encodes no new text."""
    numbers: dict[str, int] = {}
    training = _select(train, recipe.turns, recipe.pairs)
    limit = max(recipe.pairs // _PER_VALIDATION, 1)
    others = {name: _select(part, recipe.turns, limit) for name, part in evaluated.items()}
    for name, part in {"training": training, **others}.items():
        if not part:
            raise TrainingError(f"There is no exchange of two turns that are not blank ({name}).")
    pool = max(recipe.negatives_per_pair, min(recipe.negative_pool, count_different_replies(training) - 1))
    return HeadData(
        training=_index(training, recipe.negatives, pool, 0, numbers),
        evaluated={
            name: _index(part, recipe.negatives, recipe.negatives_per_pair, 1, numbers)
            for name, part in others.items()
        },
        ranked={
            name: _index(part, ("random",), min(CANDIDATES, count_different_replies(part)) - 1, 2, numbers)
            for name, part in others.items()
        },
        texts=tuple(numbers),  # last, when all texts have a number
    )


def _select(dialogues: Sequence[Turns], turns: int, limit: int) -> list[Exchange]:
    """At most so many exchanges, of whole dialogues, in an order that depends on their words alone."""
    chosen: list[Turns] = []
    count = 0
    for dialogue in sorted(dialogues, key=lambda dialogue: share_of(f"order {words_of(dialogue)}")):
        if count >= limit:
            break
        chosen.append(tuple(" ".join(turn.split()) for turn in dialogue))
        count += len(dialogue) - 1
    return list_exchanges(chosen, turns)[:limit]


def _index(
    exchanges: Sequence[Exchange], kinds: Sequence[str], count: int, seed: int, numbers: dict[str, int]
) -> IndexedExchanges:
    """Exchanges with `count` wrong replies each; new texts get the next numbers."""
    wrong = sample_wrong_replies(exchanges, kinds, count, (seed,))

    def number(text: str) -> int:
        return numbers.setdefault(text, len(numbers))

    return IndexedExchanges(
        np.array([number("\n".join(exchange.context)) for exchange in exchanges]),
        np.array([number(exchange.reply) for exchange in exchanges]),
        np.array([[number(text) for text in texts] for texts in wrong]),
    )
