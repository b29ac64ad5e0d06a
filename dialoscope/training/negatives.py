"""Exchanges between people as positive pairs, and wrong replies as negatives."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from dialoscope.core.errors import TrainingError
from dialoscope.core.records import is_blank
from dialoscope.text.nearest import TfidfIndex, rank_by_similarity
from dialoscope.training.dialogue_split import Turns, share_of, words_of
from dialoscope.training.recipes import NegativeSampling
from dialoscope.training.styles import STYLES

_SEARCHED = 4096
"""The number of random replies that near ones are searched in."""
_NEAREST = 5
_COMMONEST = 20
_VALIDATION = 4000
"""The maximum number of exchanges that figures of validation and test data are computed on."""
VALIDATION_EPOCH = 2**31
"""In place of an epoch, this seeds the negatives of validation and test data."""
_TRIES = 50
"""The number of random replies that are tried when one says the same as the right one."""


class Exchange(NamedTuple):
    """A reply and the turns before it."""

    context: Turns
    """The turns before the reply, oldest first."""
    reply: str
    dialogue: int = 0
    """The number of the dialogue that the exchange is from."""


def list_exchanges(dialogues: Sequence[Turns], turns: int) -> list[Exchange]:
    """Every turn after the first, with at most so many turns before it; blank ones are left out."""
    return [
        Exchange(dialogue[max(index - turns, 0) : index], dialogue[index], number)
        for number, dialogue in enumerate(dialogues)
        for index in range(1, len(dialogue))
        if not is_blank(dialogue[index]) and not is_blank(dialogue[index - 1])
    ]


def validation_exchanges(dialogues: Sequence[Turns], turns: int) -> list[Exchange]:
    """Some exchanges of held-out dialogues, the same ones each time."""
    exchanges = list_exchanges(dialogues, turns)
    return sorted(exchanges, key=lambda exchange: share_of(f"{exchange[:2]}"))[:_VALIDATION]


def sample_exchanges(
    exchanges: Sequence[Exchange], recipe: NegativeSampling, rng: np.random.Generator
) -> list[Exchange]:
    """The exchanges of an epoch, with a random number of turns and perhaps in another style."""
    indices = np.sort(rng.permutation(len(exchanges))[: recipe.pairs]).tolist()
    return [_vary(exchanges[index], recipe, rng) for index in indices]


def _vary(exchange: Exchange, recipe: NegativeSampling, rng: np.random.Generator) -> Exchange:
    """The exchange with fewer turns, and perhaps in the style of another corpus."""
    context = exchange.context[-int(rng.integers(1, recipe.turns + 1)) :]
    if rng.random() >= recipe.restyle:
        return exchange._replace(context=context)
    style = STYLES[rng.integers(len(STYLES))]
    return exchange._replace(context=tuple(map(style, context)), reply=style(exchange.reply))


def sample_wrong_replies(
    exchanges: Sequence[Exchange], kinds: Sequence[str], count: int, seed: Sequence[int]
) -> list[Turns]:
    """For each exchange `count` replies that do not belong there, each of a random kind.

    A kind that is named twice is sampled twice as often. Where a kind has no reply to offer, such as a single
    word that cannot be shuffled, any other reply is taken.
    """
    for kind in kinds:
        if kind not in KINDS:
            raise TrainingError(f"There are no wrong replies of the kind '{kind}', but: {', '.join(KINDS)}.")
    different = count_different_replies(exchanges)
    if not kinds or count < 1 or different <= count:
        raise TrainingError(
            f"For each reply {count} wrong ones of {len(kinds)} kinds are asked for, but there are only "
            f"{different} different replies. Ask for fewer, at least one, or give more dialogues."
        )
    pool = _Pool(exchanges, np.random.default_rng([*seed, len(exchanges)]))
    chosen = pool.rng.integers(len(kinds), size=(len(exchanges), count))
    return [
        _make_wrong_replies(pool, index, [kinds[number] for number in numbers])
        for index, numbers in enumerate(chosen.tolist())
    ]


def _make_wrong_replies(pool: "_Pool", index: int, kinds: Sequence[str]) -> Turns:
    right = _extract_words(pool.exchanges[index].reply)
    replies: list[str] = []
    for kind in kinds:
        reply = _MAKERS[kind](pool, index)
        if reply is None or reply in replies or (_extract_words(reply) == right and kind != "shuffled"):
            reply = pool.another(index, replies)
        replies.append(reply)
    return tuple(replies)


class _Pool:
    """The replies that wrong ones are made from."""

    def __init__(self, exchanges: Sequence[Exchange], rng: np.random.Generator) -> None:
        self.exchanges, self.rng = exchanges, rng

    def random(self) -> str:
        """Any reply."""
        return self.exchanges[int(self.rng.integers(len(self.exchanges)))].reply

    def another(self, index: int, others: Sequence[str] = ()) -> str:
        """A reply of another exchange that differs in its words from the right one, and from others."""
        avoided = {_extract_words(self.exchanges[index].reply), *map(_extract_words, others)}
        for _ in range(_TRIES):
            if _extract_words(reply := self.random()) not in avoided:
                return reply
        return next(
            exchange.reply for exchange in self.exchanges if _extract_words(exchange.reply) not in avoided
        )

    @cached_property
    def by_dialogue(self) -> Mapping[int, list[str]]:
        """The replies of each dialogue."""
        replies: dict[int, list[str]] = {}
        for exchange in self.exchanges:
            replies.setdefault(exchange.dialogue, []).append(exchange.reply)
        return replies

    @cached_property
    def searched(self) -> list[Exchange]:
        """The exchanges in which near replies are searched."""
        indices = self.rng.permutation(len(self.exchanges))[:_SEARCHED]
        return [self.exchanges[index] for index in sorted(indices.tolist())]

    @cached_property
    def nearest(self) -> TfidfIndex:
        """The search index of these replies."""
        return TfidfIndex([exchange.reply for exchange in self.searched])

    @cached_property
    def commonest(self) -> list[str]:
        """The most frequent replies."""
        counts = Counter(exchange.reply for exchange in self.exchanges)
        return [reply for reply, _ in counts.most_common(_COMMONEST)]


def _sample_from_dialogue(pool: _Pool, index: int) -> str | None:
    """Another reply of the same dialogue."""
    exchange = pool.exchanges[index]
    others = [turn for turn in pool.by_dialogue[exchange.dialogue] if turn != exchange.reply]
    return others[pool.rng.integers(len(others))] if others else None


def _sample_near(pool: _Pool, index: int) -> str | None:
    """A reply from another dialogue that shares words with the last turn."""
    exchange = pool.exchanges[index]
    near = [
        pool.searched[number].reply
        for number in rank_by_similarity(
            pool.nearest.similarities(exchange.context[-1]), 2 * _NEAREST
        ).tolist()
        if pool.searched[number].dialogue != exchange.dialogue
    ][:_NEAREST]
    return near[pool.rng.integers(len(near))] if near else None


def _shuffle_words(pool: _Pool, index: int) -> str | None:
    """The words of the right reply in another order."""
    words = pool.exchanges[index].reply.split()
    shuffled = " ".join(words[number] for number in pool.rng.permutation(len(words)).tolist())
    return shuffled if shuffled != " ".join(words) else None


def _repeat_turn(pool: _Pool, index: int) -> str | None:
    """The last turn of the context."""
    return pool.exchanges[index].context[-1]


def _splice_halves(pool: _Pool, index: int) -> str | None:
    """The first half of the right reply, and the second half of another."""
    first, second = pool.exchanges[index].reply.split(), pool.random().split()
    return " ".join(first[: (len(first) + 1) // 2] + second[len(second) // 2 :])


def _sample_frequent(pool: _Pool, index: int) -> str | None:
    """One of the most frequent replies."""
    return pool.commonest[pool.rng.integers(len(pool.commonest))]


_MAKERS: Mapping[str, Callable[[_Pool, int], str | None]] = MappingProxyType(
    {
        "random": lambda pool, index: pool.another(index),
        "dialogue": _sample_from_dialogue,
        "near": _sample_near,
        "shuffled": _shuffle_words,
        "repeated": _repeat_turn,
        "spliced": _splice_halves,
        "generic": _sample_frequent,
    }
)

KINDS = tuple(_MAKERS)
"""The kinds of wrong replies."""
BROKEN = ("shuffled", "spliced")
"""The kinds that are wrong in any context."""


def count_different_replies(exchanges: Sequence[Exchange]) -> int:
    """The number of replies that differ in their words."""
    return len({_extract_words(exchange.reply) for exchange in exchanges})


def _extract_words(text: str) -> str:
    """The words of a text; a text without words is compared as it is."""
    return words_of((text,)) or text
