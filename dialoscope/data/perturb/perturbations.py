"""The perturbations: each turns all replies into worse ones."""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from random import Random
from types import MappingProxyType

from dialoscope.core.random import between, drawn, reordered
from dialoscope.data.perturb.pieces import pieces

Cycles = Sequence[tuple[int, ...]]
"""Which replies change places: each takes the text of the next in its cycle, the last that of the first."""

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


def noise(replies: Sequence[str], cycles: Cycles, by: Random) -> list[str]:
    """Words of the data put in at random: a quarter to a half as many as the reply has, at least one."""
    cut = [pieces(reply) for reply in replies]
    words: dict[str, list[str]] = defaultdict(list)
    for one in cut:
        words[one.joint] += one.words
    return [one.joined(_with_noise(one.words, words[one.joint], by)) for one in cut]


def swap(replies: Sequence[str], cycles: Cycles, by: Random) -> list[str]:
    """Each reply under the context of another one."""
    swapped = list(replies)
    for cycle in cycles:
        for place, taken_from in zip(cycle, (*cycle[1:], cycle[0]), strict=True):
            swapped[place] = replies[taken_from]
    return swapped


def shuffle(replies: Sequence[str], cycles: Cycles, by: Random) -> list[str]:
    """The words of each reply in another order, wherever they have one."""
    return [_shuffled(reply, by) for reply in replies]


def generic(replies: Sequence[str], cycles: Cycles, by: Random) -> list[str]:
    """A reply that fits everywhere and says nothing in place of each."""
    return [drawn([text for text in GENERIC if text != reply], by) for reply in replies]


def exchanges(replies: Sequence[str], by: Random) -> list[tuple[int, ...]]:
    """Pairs of replies with different texts, as far as there are such; one triple if their number is odd."""
    group = {text: by.random() for text in sorted(set(replies))}
    own = [by.random() for _ in replies]
    # Equal texts stand together and partners half the list apart, so no text meets itself unless more than
    # half of the replies have it.
    ranked = sorted(range(len(replies)), key=lambda place: (group[replies[place]], own[place]))
    half = len(ranked) // 2
    pairs = reordered([(ranked[place], ranked[place + half]) for place in range(half)], by)
    if len(ranked) % 2 == 0:
        return list(pairs)
    third = ranked[-1]
    host = min(pairs, key=lambda pair: _equal(replies, (*pair, third)) - _equal(replies, pair))
    return [*(pair for pair in pairs if pair != host), (*host, third)]


def _equal(replies: Sequence[str], cycle: tuple[int, ...]) -> int:
    """How many of a cycle would take a text equal to their own."""
    return sum(replies[place] == replies[cycle[turn - 1]] for turn, place in enumerate(cycle))


def _with_noise(words: Sequence[str], others: Sequence[str], by: Random) -> list[str]:
    noisy = list(words)
    fewest, most = (max(1, count) for count in (math.ceil(len(words) / 4), len(words) // 2))
    for _ in range(between(fewest, most, by) if others else 0):
        noisy.insert(between(0, len(noisy), by), drawn(others, by))
    return noisy


def _shuffled(reply: str, by: Random) -> str:
    cut = pieces(reply)
    if len(set(cut.words)) < 2:
        return reply
    words = tuple(reordered(cut.words, by))
    return cut.joined(words if words != cut.words else (*words[1:], words[0]))


PERTURBATIONS: Mapping[str, Callable[[Sequence[str], Cycles, Random], list[str]]] = MappingProxyType(
    {"noise": noise, "swap": swap, "shuffle": shuffle, "generic": generic}
)
