"""Replies that stand against each other, as tokens: the one that people gave, and wrong ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dialoscope.models.engines.token_ids import Vocabulary
from dialoscope.training.dialogue_split import Turns
from dialoscope.training.negatives import BROKEN, NO_EPOCH, Exchange, drawn, judged_by, wrong_replies
from dialoscope.training.recipes import LmRecipe

Text = list[int]


class Candidate(NamedTuple):
    """A reply after what was said, as tokens."""

    ids: Text
    begins: int
    """Where the reply begins."""


Rivals = list[Candidate]
"""Replies to the same, of which the first is right."""


@dataclass(frozen=True)
class Arena:
    """Makes rivals as a language model reads them."""

    recipe: LmRecipe
    words: Vocabulary
    begin: Text
    """What stands before every text: a token, or nothing."""
    longest: int
    """The most tokens that are read at once."""

    def drawn(self, exchanges: Sequence[Exchange], epoch: int) -> list[Rivals]:
        """Other exchanges and other wrong replies each time; some replies stand alone, beside broken ones."""
        recipe = self.recipe
        chance = np.random.default_rng([recipe.seed, epoch, 1])
        found = drawn(exchanges, recipe, chance)
        broken = [kind for kind in recipe.negatives if kind in BROKEN]
        alone = chance.random(len(found)) < (recipe.begin if broken and self.begin else 0.0)
        after, apart = (
            [one for one, is_alone in zip(found, alone, strict=True) if is_alone == part]
            for part in (False, True)
        )
        return [
            *(self._after(after, recipe.each, epoch) if after else []),
            *(self._alone(apart, broken, epoch) if apart else []),
        ]

    def judged(self, dialogues: Sequence[Turns]) -> list[Rivals]:
        """A right reply and a wrong one, in some exchanges that are always the same."""
        return self._after(judged_by(dialogues, self.recipe.turns), 1, NO_EPOCH)

    def _after(self, found: Sequence[Exchange], each: int, epoch: int) -> list[Rivals]:
        """Replies after what they reply to."""
        return self._read(found, wrong_replies(found, self.recipe.negatives, each, (self.recipe.seed, epoch)))

    def _alone(self, found: Sequence[Exchange], kinds: Sequence[str], epoch: int) -> list[Rivals]:
        """Replies without what they reply to, where those beside them are no replies of people."""
        wrong = wrong_replies(found, kinds, 1, (self.recipe.seed, epoch, 1))
        real = {one.reply for one in found}
        kept = [place for place, made in enumerate(wrong) if real.isdisjoint(made)]
        return self._read(
            [found[place]._replace(context=()) for place in kept], [wrong[place] for place in kept]
        )

    def _read(self, found: Sequence[Exchange], wrong: Sequence[Turns]) -> list[Rivals]:
        replies = [(one.reply, *others) for one, others in zip(found, wrong, strict=True)]
        said = [lines(one.context) for one, several in zip(found, replies, strict=True) for _ in several]
        made = self.words.encode_pairs(said, [reply for several in replies for reply in several])
        return [[self._cut(*next(made)) for _ in several] for several in replies]

    def _cut(self, said: Sequence[int], reply: Sequence[int]) -> Candidate:
        """What is too long loses the beginning of what was said, then the end of the reply."""
        reply = reply[: self.longest - 1]
        room = self.longest - len(self.begin) - len(reply)
        before = [*self.begin, *said[max(len(said) - room, 0) :]]
        return Candidate([*before, *reply], len(before))


def shared_out(rivals: Sequence[Rivals], parts: int) -> list[list[Rivals]]:
    """So many parts, of about as many tokens each, with those of like length together."""
    found: list[list[Rivals]] = [[] for _ in range(parts)]
    ordered = sorted(rivals, key=lambda one: max(len(candidate.ids) for candidate in one))
    sizes = np.cumsum([sum(len(candidate.ids) for candidate in one) for one in ordered])
    for one, upto in zip(ordered, sizes.tolist(), strict=True):
        found[(upto - 1) * parts // int(sizes[-1])].append(one)
    return found


def lines(turns: Turns) -> str:
    """As the metrics show a dialogue to a model."""
    return "".join(f"{turn}\n" for turn in turns)
