"""Whole dialogues to learn from, and those that are kept apart."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

from dialoscope.core.errors import TrainingError
from dialoscope.core.records import Example
from dialoscope.models.dialogue_assets import is_asset, read_dialogues

Turns = tuple[str, ...]


def dialogues(*corpora: str) -> list[Turns]:
    """The dialogues of files and assets, each different one once."""
    for corpus in corpora:
        if not is_asset(corpus) and not Path(corpus).exists():
            raise TrainingError(f"There is no file of dialogues {corpus}, nor an asset of that name.")
    found = dict.fromkeys(turns for corpus in corpora for turns in whole(read_dialogues(corpus)))
    return list(found)


def whole(examples: Iterable[Example]) -> Iterator[Turns]:
    """Dialogues as wholes, from replies of which each goes on where the one before ended."""
    last: Turns = ()
    for example in examples:
        turns = (*example.context, example.response)
        if last and turns[: len(last)] != last:
            yield last
        last = turns
    if last:
        yield last


@dataclass(frozen=True)
class Split:
    """Dialogues to learn from, to choose by, and to test on."""

    train: tuple[Turns, ...]
    validation: tuple[Turns, ...]
    tests: dict[str, tuple[Turns, ...]]
    """By the name of the file."""
    removed: int
    """Dialogues that were left out because they also stand in what is kept apart."""

    @property
    def judged(self) -> dict[str, tuple[Turns, ...]]:
        """What figures are of: what is chosen by, and each file of tests by its title."""
        titles = titles_of(self.tests, "validation")
        return {"validation": self.validation, **{titles[name]: part for name, part in self.tests.items()}}

    @property
    def hash(self) -> str:
        """Of all that is learned from and chosen by."""
        return hash_of(
            text for part in (self.train, self.validation) for turns in part for text in (*turns, "")
        )


def split(
    data: Sequence[str], validation: str | float = 0.05, tests: Sequence[str] = (), avoid: Sequence[str] = ()
) -> Split:
    """Dialogues of `data` without those that are kept apart, judged by words alone, and how many these were.

    `validation` is a file, or the share of dialogues; which ones does not depend on their order. Of what is
    to be avoided, no reply to the same turn is kept, in whatever dialogue it stands.
    """
    every = dialogues(*data)
    tested = {name: tuple(dialogues(name)) for name in tests}
    others = [turns for part in tested.values() for turns in part]
    avoided = _avoided(avoid)
    if isinstance(validation, str):
        chosen = tuple(dialogues(validation))
    else:
        if not 0 <= validation <= 1:
            raise TrainingError(f"validation is {validation}; it must be a file, or a share from 0 to 1.")
        chosen = tuple(turns for turns in every if share_of("\n".join(turns)) < validation)
        taken = set(chosen)
        every = [turns for turns in every if turns not in taken]
    kept_out = {words_of(turns) for turns in others}
    clear = tuple(turns for turns in chosen if _is_clear(turns, kept_out, avoided))
    apart = kept_out | {words_of(turns) for turns in clear}
    train = tuple(turns for turns in every if _is_clear(turns, apart, avoided))
    if not train or not clear:
        raise TrainingError(
            f"There are {len(train)} dialogues to learn from and {len(clear)} to choose by; both are needed."
        )
    return Split(train, clear, tested, len(every) + len(chosen) - len(train) - len(clear))


def each_clear_of(corpora: Sequence[str], avoid: Sequence[str]) -> list[list[Turns]]:
    """The dialogues of each corpus in which nobody replies as in those to be avoided to the same turn."""
    avoided = _avoided(avoid)
    return [[one for one in dialogues(name) if avoided.isdisjoint(_exchanges(one))] for name in corpora]


def _avoided(corpora: Sequence[str]) -> set[str]:
    return {exchange for turns in dialogues(*corpora) for exchange in _exchanges(turns)}


def _is_clear(turns: Turns, apart: Set[str], avoided: Set[str]) -> bool:
    return words_of(turns) not in apart and avoided.isdisjoint(_exchanges(turns))


def _exchanges(turns: Turns) -> list[str]:
    """Two turns that follow each other, as words."""
    return [words_of(two) for two in pairwise(turns)]


def titles_of(names: Iterable[str], *taken: str) -> dict[str, str]:
    """What files are called in figures: their names without folder and ending, where these differ."""
    stems = {name: Path(name.removesuffix(".gz")).stem for name in names}
    often = Counter([*stems.values(), *taken])
    return {name: stem if often[stem] == 1 else name for name, stem in stems.items()}


def words_of(turns: Turns) -> str:
    """What a dialogue says, whatever its case, spaces and punctuation."""
    return " ".join(re.findall(r"\w+", "\n".join(turns).casefold()))


def share_of(text: str) -> float:
    """A number between 0 and 1 that depends on the text alone."""
    return int.from_bytes(sha256(text.encode("utf-8", "surrogatepass")).digest()[:6]) / 2**48


def hash_of(texts: Iterable[str]) -> str:
    """A hash of texts in their order."""
    found = sha256()
    for text in texts:
        found.update(f"{len(text)}:{text}".encode("utf-8", "surrogatepass"))
    return found.hexdigest()
