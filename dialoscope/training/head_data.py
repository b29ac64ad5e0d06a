"""What a head learns from: exchanges and wrong replies, each text once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dialoscope.core.arrays import Ints
from dialoscope.core.errors import TrainingError
from dialoscope.training.dialogue_split import Turns, share_of, words_of
from dialoscope.training.negatives import Exchange, different_replies, exchanges, wrong_replies
from dialoscope.training.recipes import RuberRecipe

CANDIDATES = 10
"""Among so many a reply's place is reported, where there are as many."""
_JUDGED = 10
"""For so many exchanges to learn from, there is at most one to choose by."""


class Rivals(NamedTuple):
    """Exchanges with replies that do not belong there, as numbers of texts."""

    queries: Ints  # (exchanges,)
    right: Ints  # (exchanges,)
    wrong: Ints  # (exchanges, wrong replies)

    def among(self, known: NDArray[np.bool_]) -> "Rivals":
        """Those of which every text is known."""
        whole = known[self.queries] & known[self.right] & known[self.wrong].all(axis=1)
        return Rivals(*(part[whole] for part in self))


@dataclass(frozen=True)
class Lesson:
    """Exchanges to learn from and to judge by."""

    texts: tuple[str, ...]
    training: Rivals
    judged: Mapping[str, Rivals]
    """By name: `validation` is chosen by, others are reported on. Wrong replies are of the same kinds."""
    ranked: Mapping[str, Rivals]
    """The same exchanges with random replies."""

    @property
    def contexts(self) -> Ints:
        """The numbers of those texts that are contexts."""
        parts = (self.training, *self.judged.values(), *self.ranked.values())
        return np.unique(np.concatenate([part.queries for part in parts]))

    def among(self, known: NDArray[np.bool_]) -> "Lesson":
        """Without exchanges of which a text has nothing that the embedding knows."""
        found = replace(
            self,
            training=self.training.among(known),
            judged={name: one.among(known) for name, one in self.judged.items()},
            ranked={name: one.among(known) for name, one in self.ranked.items()},
        )
        parts = {"to learn from": found.training, **found.judged, **found.ranked}
        for name, one in parts.items():
            if not len(one.right):
                raise TrainingError(
                    f"No exchange is left ({name}): in none of them the embedding knows a word of each text."
                )
        return found


def in_part(turns: Turns, part: str) -> bool:
    """Whether a dialogue belongs to a part, such as `2/2`: the second of two halves of any corpus.

    It depends on the dialogue's words alone, so that whoever trains systems on `1/2` and metrics on `2/2`
    never shows both the same dialogue.
    """
    number, _, count = part.partition("/")
    return int(share_of(f"part {words_of(turns)}") * int(count)) == int(number) - 1


def lesson_of(train: Sequence[Turns], judged: Mapping[str, Sequence[Turns]], recipe: RuberRecipe) -> Lesson:
    """Draws wrong replies; which ones does not depend on the seed, for which no text shall be read anew."""
    numbers: dict[str, int] = {}
    learned = _some(train, recipe.turns, recipe.pairs)
    least = {name: max(recipe.pairs // _JUDGED, 1) for name in judged}
    others = {name: _some(part, recipe.turns, least[name]) for name, part in judged.items()}
    for name, part in {"to learn from": learned, **others}.items():
        if not part:
            raise TrainingError(f"There is no exchange of two turns that say something ({name}).")
    training = _rivals(learned, recipe.negatives, _ready(learned, recipe), 0, numbers)
    tested = {name: _rivals(part, recipe.negatives, recipe.each, 1, numbers) for name, part in others.items()}
    ranked = {
        name: _rivals(part, ("random",), min(CANDIDATES, different_replies(part)) - 1, 2, numbers)
        for name, part in others.items()
    }
    return Lesson(tuple(numbers), training, tested, ranked)


def _ready(learned: Sequence[Exchange], recipe: RuberRecipe) -> int:
    """How many wrong replies stand ready for each exchange."""
    return max(recipe.each, min(recipe.ready, different_replies(learned) - 1))


def _some(dialogues: Sequence[Turns], turns: int, most: int) -> list[Exchange]:
    """So many exchanges at most, of whole dialogues, in an order that depends on their words alone."""
    chosen: list[Turns] = []
    count = 0
    for talk in sorted(dialogues, key=lambda talk: share_of(f"order {words_of(talk)}")):
        if count >= most:
            break
        chosen.append(tuple(" ".join(turn.split()) for turn in talk))
        count += len(talk) - 1
    return exchanges(chosen, turns)[:most]


def _rivals(
    found: Sequence[Exchange], kinds: Sequence[str], each: int, seed: int, numbers: dict[str, int]
) -> Rivals:
    wrong = wrong_replies(found, kinds, each, (seed,))

    def number(text: str) -> int:
        return numbers.setdefault(text, len(numbers))

    return Rivals(
        np.array([number("\n".join(one.context)) for one in found]),
        np.array([number(one.reply) for one in found]),
        np.array([[number(text) for text in texts] for texts in wrong]),
    )
