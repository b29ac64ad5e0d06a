"""The perturbations: each replaces all replies by worse ones."""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from random import Random
from types import MappingProxyType

from dialoscope.core.random import choose, permute, random_integer
from dialoscope.data.perturb.pieces import split_reply

Cycles = Sequence[tuple[int, ...]]
"""The replies that are exchanged: each takes the text of the next in its cycle, the last of the first."""

GENERIC = (
    "I don't know.",
    "I'm not sure.",
    "That's nice.",
    "Okay, sounds good.",
    "I see what you mean.",
    "Really? Tell me more.",
    "Yes, I think so too.",
    "Haha, that's funny.",
    "Maybe, who knows.",
    "I have no idea what to say.",
)


def noise(replies: Sequence[str], cycles: Cycles, rng: Random) -> list[str]:
    """Insert random words of the data: a quarter to half of the number of words, at least one."""
    split = [split_reply(reply) for reply in replies]
    words: dict[str, list[str]] = defaultdict(list)
    for pieces in split:
        words[pieces.joint] += pieces.words
    return [pieces.join(_insert_words(pieces.words, words[pieces.joint], rng)) for pieces in split]


def swap(replies: Sequence[str], cycles: Cycles, rng: Random) -> list[str]:
    """Put each reply under the context of another one."""
    swapped = list(replies)
    for cycle in cycles:
        for target, source in zip(cycle, (*cycle[1:], cycle[0]), strict=True):
            swapped[target] = replies[source]
    return swapped


def shuffle(replies: Sequence[str], cycles: Cycles, rng: Random) -> list[str]:
    """Put the words of each reply in another order, wherever there is one."""
    return [_shuffle_words(reply, rng) for reply in replies]


def generic(replies: Sequence[str], cycles: Cycles, rng: Random) -> list[str]:
    """Replace each reply by one that fits every context and says nothing."""
    return [choose([text for text in GENERIC if text != reply], rng) for reply in replies]


def pair_replies(replies: Sequence[str], rng: Random) -> list[tuple[int, ...]]:
    """Return pairs of replies, with different texts as far as possible; one triple if their number is odd."""
    group = {text: rng.random() for text in sorted(set(replies))}
    own = [rng.random() for _ in replies]
    # Equal texts are adjacent and partners half the list apart, so no text is paired with itself unless more
    # than half of the replies have it.
    ranked = sorted(range(len(replies)), key=lambda index: (group[replies[index]], own[index]))
    half = len(ranked) // 2
    pairs = permute([(ranked[index], ranked[index + half]) for index in range(half)], rng)
    if len(ranked) % 2 == 0:
        return list(pairs)
    third = ranked[-1]
    host = min(pairs, key=lambda pair: _count_equal(replies, (*pair, third)) - _count_equal(replies, pair))
    return [*(pair for pair in pairs if pair != host), (*host, third)]


def _count_equal(replies: Sequence[str], cycle: tuple[int, ...]) -> int:
    """Return the number of replies in a cycle that would take a text equal to their own."""
    return sum(replies[index] == replies[cycle[turn - 1]] for turn, index in enumerate(cycle))


def _insert_words(words: Sequence[str], others: Sequence[str], rng: Random) -> list[str]:
    noisy = list(words)
    low, high = (max(1, count) for count in (math.ceil(len(words) / 4), len(words) // 2))
    for _ in range(random_integer(low, high, rng) if others else 0):
        noisy.insert(random_integer(0, len(noisy), rng), choose(others, rng))
    return noisy


def _shuffle_words(reply: str, rng: Random) -> str:
    pieces = split_reply(reply)
    if len(set(pieces.words)) < 2:
        return reply
    words = tuple(permute(pieces.words, rng))
    return pieces.join(words if words != pieces.words else (*words[1:], words[0]))


PERTURBATIONS: Mapping[str, Callable[[Sequence[str], Cycles, Random], list[str]]] = MappingProxyType(
    {"noise": noise, "swap": swap, "shuffle": shuffle, "generic": generic}
)
