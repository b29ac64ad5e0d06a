"""Right and wrong replies to the same context as tokens, for the contrastive loss of a language model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dialoscope.models.engines.token_ids import Vocabulary
from dialoscope.training.dialogue_split import Turns
from dialoscope.training.negatives import (
    BROKEN,
    VALIDATION_EPOCH,
    Exchange,
    sample_exchanges,
    sample_wrong_replies,
    validation_exchanges,
)
from dialoscope.training.recipes import LmRecipe

TokenIds = list[int]


class Candidate(NamedTuple):
    """A context and a reply, as tokens."""

    ids: TokenIds
    begins: int
    """The index of the reply's first token."""


Candidates = list[Candidate]
"""Replies to the same context, of which the first is right."""


@dataclass(frozen=True)
class CandidateSampler:
    """Samples right and wrong replies as a language model reads them."""

    recipe: LmRecipe
    words: Vocabulary
    begin: TokenIds
    """The token at the beginning of each text, or none."""
    longest: int
    """The maximum number of tokens of a text."""

    def sample(self, exchanges: Sequence[Exchange], epoch: int) -> list[Candidates]:
        """Other exchanges and negatives in each epoch; some replies have no context, and broken negatives."""
        recipe = self.recipe
        rng = np.random.default_rng([recipe.seed, epoch, 1])
        sampled = sample_exchanges(exchanges, recipe, rng)
        broken = [kind for kind in recipe.negatives if kind in BROKEN]
        is_alone = rng.random(len(sampled)) < (recipe.begin if broken and self.begin else 0.0)
        with_context, alone = (
            [exchange for exchange, flag in zip(sampled, is_alone, strict=True) if flag == wanted]
            for wanted in (False, True)
        )
        return [
            *(self._with_context(with_context, recipe.negatives_per_pair, epoch) if with_context else []),
            *(self._alone(alone, broken, epoch) if alone else []),
        ]

    def validation(self, dialogues: Sequence[Turns]) -> list[Candidates]:
        """A right and a wrong reply in some exchanges, the same ones each time."""
        return self._with_context(validation_exchanges(dialogues, self.recipe.turns), 1, VALIDATION_EPOCH)

    def _with_context(self, exchanges: Sequence[Exchange], count: int, epoch: int) -> list[Candidates]:
        wrong = sample_wrong_replies(exchanges, self.recipe.negatives, count, (self.recipe.seed, epoch))
        return self._tokenize(exchanges, wrong)

    def _alone(self, exchanges: Sequence[Exchange], kinds: Sequence[str], epoch: int) -> list[Candidates]:
        """Replies without context, where the wrong one is not a reply that somebody gave."""
        wrong = sample_wrong_replies(exchanges, kinds, 1, (self.recipe.seed, epoch, 1))
        real = {exchange.reply for exchange in exchanges}
        indices = [index for index, replies in enumerate(wrong) if real.isdisjoint(replies)]
        return self._tokenize(
            [exchanges[index]._replace(context=()) for index in indices], [wrong[index] for index in indices]
        )

    def _tokenize(self, exchanges: Sequence[Exchange], wrong: Sequence[Turns]) -> list[Candidates]:
        replies = [(exchange.reply, *others) for exchange, others in zip(exchanges, wrong, strict=True)]
        contexts = [
            join_lines(exchange.context)
            for exchange, own in zip(exchanges, replies, strict=True)
            for _ in own
        ]
        tokens = self.words.encode_pairs(contexts, [reply for own in replies for reply in own])
        return [[self._truncate(*next(tokens)) for _ in own] for own in replies]

    def _truncate(self, context: Sequence[int], reply: Sequence[int]) -> Candidate:
        """A text that is too long loses the beginning of the context, then the end of the reply."""
        reply = reply[: self.longest - 1]
        room = self.longest - len(self.begin) - len(reply)
        before = [*self.begin, *context[max(len(context) - room, 0) :]]
        return Candidate([*before, *reply], len(before))


def divide(candidates: Sequence[Candidates], parts: int) -> list[list[Candidates]]:
    """So many parts, of about as many tokens each, with those of similar length together."""
    divided: list[list[Candidates]] = [[] for _ in range(parts)]
    ordered = sorted(candidates, key=lambda own: max(len(candidate.ids) for candidate in own))
    sizes = np.cumsum([sum(len(candidate.ids) for candidate in own) for own in ordered])
    for own, end in zip(ordered, sizes.tolist(), strict=True):
        divided[(end - 1) * parts // int(sizes[-1])].append(own)
    return divided


def join_lines(turns: Turns) -> str:
    """A dialogue as metrics show it to a model, a turn on each line."""
    return "".join(f"{turn}\n" for turn in turns)
