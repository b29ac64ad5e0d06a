"""Exchanges between people, and replies that do not belong there, to learn the difference from."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from dialoscope.core.errors import TrainingError
from dialoscope.text.nearest import TfidfIndex, rank_nearest
from dialoscope.training.dialogue_split import Turns, share_of, words_of
from dialoscope.training.recipes import Rivalry
from dialoscope.training.styles import STYLES

_SEARCHED = 4096
"""How many replies, drawn by chance, near ones are looked for among."""
_NEAREST = 5
_COMMONEST = 20
_JUDGED_BY = 4000
"""How many exchanges a training is judged by."""
NO_EPOCH = 2**31
"""What chance is begun with for these."""
_TRIES = 50
"""How often another reply is drawn where the one drawn says the same as the right one."""


class Exchange(NamedTuple):
    """What people said, and what was said to it."""

    context: Turns
    """Oldest first."""
    reply: str
    dialogue: int = 0
    """Which of the dialogues it stands in."""


def exchanges(dialogues: Sequence[Turns], turns: int) -> list[Exchange]:
    """Every turn after the first, with so many turns before it; what says nothing is left out."""
    return [
        Exchange(talk[max(place - turns, 0) : place], talk[place], number)
        for number, talk in enumerate(dialogues)
        for place in range(1, len(talk))
        if talk[place].strip() and talk[place - 1].strip()
    ]


def judged_by(dialogues: Sequence[Turns], turns: int) -> list[Exchange]:
    """Some exchanges of dialogues that are kept apart, always the same ones."""
    return sorted(exchanges(dialogues, turns), key=lambda one: share_of(f"{one[:2]}"))[:_JUDGED_BY]


def drawn(found: Sequence[Exchange], recipe: Rivalry, chance: np.random.Generator) -> list[Exchange]:
    """Those that are learned from in an epoch, as they are shown in it."""
    places = np.sort(chance.permutation(len(found))[: recipe.pairs]).tolist()
    return [_shown(found[place], recipe, chance) for place in places]


def _shown(exchange: Exchange, recipe: Rivalry, chance: np.random.Generator) -> Exchange:
    """With as many of its turns as chance says, and perhaps written as other corpora write."""
    said = exchange.context[-int(chance.integers(1, recipe.turns + 1)) :]
    if chance.random() >= recipe.restyle:
        return exchange._replace(context=said)
    style = STYLES[chance.integers(len(STYLES))]
    return exchange._replace(context=tuple(map(style, said)), reply=style(exchange.reply))


def wrong_replies(
    found: Sequence[Exchange], kinds: Sequence[str], each: int, seed: Sequence[int]
) -> list[Turns]:
    """For each exchange so many replies that do not belong there, each of a kind that chance chooses.

    A kind that is named twice is chosen twice as often. Where a kind has nothing to give, such as a word
    that cannot be shuffled, any other reply is taken.
    """
    for kind in kinds:
        if kind not in KINDS:
            raise TrainingError(f"There are no wrong replies of the kind '{kind}', but: {', '.join(KINDS)}.")
    different = different_replies(found)
    if not kinds or each < 1 or different <= each:
        raise TrainingError(
            f"For each reply {each} wrong ones of {len(kinds)} kinds are asked for, but there are only "
            f"{different} different replies. Ask for fewer, at least one, or give more dialogues."
        )
    pool = _Pool(found, np.random.default_rng([*seed, len(found)]))
    chosen = pool.chance.integers(len(kinds), size=(len(found), each))
    return [
        _wrong(pool, place, [kinds[number] for number in numbers])
        for place, numbers in enumerate(chosen.tolist())
    ]


def _wrong(pool: "_Pool", place: int, kinds: Sequence[str]) -> Turns:
    right = _words(pool.found[place].reply)
    taken: list[str] = []
    for kind in kinds:
        made = _MAKERS[kind](pool, place)
        if made is None or made in taken or (_words(made) == right and kind != "shuffled"):
            made = pool.other(place, taken)
        taken.append(made)
    return tuple(taken)


class _Pool:
    """The replies that there are."""

    def __init__(self, found: Sequence[Exchange], chance: np.random.Generator) -> None:
        self.found, self.chance = found, chance

    def drawn(self) -> str:
        """Any reply."""
        return self.found[int(self.chance.integers(len(self.found)))].reply

    def other(self, place: int, taken: Sequence[str] = ()) -> str:
        """A reply to something else, which says something else."""
        avoided = {_words(self.found[place].reply), *map(_words, taken)}
        for _ in range(_TRIES):
            if _words(reply := self.drawn()) not in avoided:
                return reply
        return next(one.reply for one in self.found if _words(one.reply) not in avoided)

    @cached_property
    def by_dialogue(self) -> Mapping[int, list[str]]:
        """What is said in each dialogue."""
        found: dict[int, list[str]] = {}
        for one in self.found:
            found.setdefault(one.dialogue, []).append(one.reply)
        return found

    @cached_property
    def searched(self) -> list[Exchange]:
        """Those among which near ones are looked for."""
        places = self.chance.permutation(len(self.found))[:_SEARCHED]
        return [self.found[place] for place in sorted(places.tolist())]

    @cached_property
    def index(self) -> TfidfIndex:
        """Of these."""
        return TfidfIndex([one.reply for one in self.searched])

    @cached_property
    def commonest(self) -> list[str]:
        """What is replied most often."""
        return [reply for reply, _ in Counter(one.reply for one in self.found).most_common(_COMMONEST)]


def _from_dialogue(pool: _Pool, place: int) -> str | None:
    """Something else that is said in the same dialogue."""
    own = pool.found[place]
    others = [turn for turn in pool.by_dialogue[own.dialogue] if turn != own.reply]
    return others[pool.chance.integers(len(others))] if others else None


def _near(pool: _Pool, place: int) -> str | None:
    """A reply from another dialogue that shares words with what was said."""
    own = pool.found[place]
    near = [
        pool.searched[one].reply
        for one in rank_nearest(pool.index.similarities(own.context[-1]), 2 * _NEAREST).tolist()
        if pool.searched[one].dialogue != own.dialogue
    ][:_NEAREST]
    return near[pool.chance.integers(len(near))] if near else None


def _shuffled(pool: _Pool, place: int) -> str | None:
    """The words of the right reply in another order."""
    words = pool.found[place].reply.split()
    made = " ".join(words[number] for number in pool.chance.permutation(len(words)).tolist())
    return made if made != " ".join(words) else None


def _repeated(pool: _Pool, place: int) -> str | None:
    """What was said just before."""
    return pool.found[place].context[-1]


def _spliced(pool: _Pool, place: int) -> str | None:
    """The first half of the right reply, and the second half of another."""
    first, second = pool.found[place].reply.split(), pool.drawn().split()
    return " ".join(first[: (len(first) + 1) // 2] + second[len(second) // 2 :])


def _generic(pool: _Pool, place: int) -> str | None:
    """One of the replies that are given most often, whatever was said."""
    return pool.commonest[pool.chance.integers(len(pool.commonest))]


_MAKERS: Mapping[str, Callable[[_Pool, int], str | None]] = MappingProxyType(
    {
        "random": lambda pool, place: pool.other(place),
        "dialogue": _from_dialogue,
        "near": _near,
        "shuffled": _shuffled,
        "repeated": _repeated,
        "spliced": _spliced,
        "generic": _generic,
    }
)

KINDS = tuple(_MAKERS)
"""The kinds of wrong replies."""
BROKEN = ("shuffled", "spliced")
"""Those that are wrong whatever was said."""


def different_replies(found: Sequence[Exchange]) -> int:
    """How many replies say different things."""
    return len({_words(one.reply) for one in found})


def _words(text: str) -> str:
    return words_of((text,)) or text
