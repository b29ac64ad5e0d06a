"""Whole dialogues, split into training, validation and test data."""

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


def read_whole_dialogues(*corpora: str) -> list[Turns]:
    """The different dialogues of files and assets."""
    for corpus in corpora:
        if not is_asset(corpus) and not Path(corpus).exists():
            raise TrainingError(f"There is no file of dialogues {corpus}, nor an asset of that name.")
    return list(
        dict.fromkeys(turns for corpus in corpora for turns in whole_dialogues(read_dialogues(corpus)))
    )


def whole_dialogues(examples: Iterable[Example]) -> Iterator[Turns]:
    """Whole dialogues from their replies; a reply whose context ends with the one before continues it."""
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
    """Dialogues for training, validation and tests."""

    train: tuple[Turns, ...]
    validation: tuple[Turns, ...]
    tests: dict[str, tuple[Turns, ...]]
    """By the name of the file."""
    removed: int
    """The number of dialogues that were left out because they are also in held-out data."""

    @property
    def evaluated(self) -> dict[str, tuple[Turns, ...]]:
        """The data that figures are computed on: validation, and each test file by its title."""
        titles = titles_of(self.tests, "validation")
        return {"validation": self.validation, **{titles[name]: part for name, part in self.tests.items()}}

    @property
    def hash(self) -> str:
        """A hash of the training and validation data."""
        return hash_of(
            text for part in (self.train, self.validation) for turns in part for text in (*turns, "")
        )


def split(
    data: Sequence[str], validation: str | float = 0.05, tests: Sequence[str] = (), avoid: Sequence[str] = ()
) -> Split:
    """Split the dialogues of `data`, without those that are also in held-out data by their words.

    `validation` is a file, or the share of dialogues, chosen by their words and not by their order. No
    dialogue is kept in which somebody gives a reply of the files to avoid to the same turn.
    """
    every = read_whole_dialogues(*data)
    tested = {name: tuple(read_whole_dialogues(name)) for name in tests}
    avoided = _exchanges_of(avoid)
    if isinstance(validation, str):
        chosen = tuple(read_whole_dialogues(validation))
    else:
        if not 0 <= validation <= 1:
            raise TrainingError(f"validation is {validation}; it must be a file, or a share from 0 to 1.")
        chosen = tuple(turns for turns in every if share_of("\n".join(turns)) < validation)
        in_validation = set(chosen)
        every = [turns for turns in every if turns not in in_validation]
    held_out = {words_of(turns) for part in tested.values() for turns in part}
    clear = tuple(turns for turns in chosen if _is_clear(turns, held_out, avoided))
    held_out |= {words_of(turns) for turns in clear}
    train = tuple(turns for turns in every if _is_clear(turns, held_out, avoided))
    if not train or not clear:
        raise TrainingError(
            f"There are {len(train)} dialogues for training and {len(clear)} for validation; both are needed."
        )
    return Split(train, clear, tested, len(every) + len(chosen) - len(train) - len(clear))


def read_without(corpora: Sequence[str], avoid: Sequence[str]) -> list[list[Turns]]:
    """The dialogues of each corpus that have no exchange in common with the files to avoid."""
    avoided = _exchanges_of(avoid)
    return [
        [turns for turns in read_whole_dialogues(name) if avoided.isdisjoint(_exchanges(turns))]
        for name in corpora
    ]


def _exchanges_of(corpora: Sequence[str]) -> set[str]:
    return {exchange for turns in read_whole_dialogues(*corpora) for exchange in _exchanges(turns)}


def _is_clear(turns: Turns, held_out: Set[str], avoided: Set[str]) -> bool:
    return words_of(turns) not in held_out and avoided.isdisjoint(_exchanges(turns))


def _exchanges(turns: Turns) -> list[str]:
    """The words of each two consecutive turns."""
    return [words_of(pair) for pair in pairwise(turns)]


def titles_of(names: Iterable[str], *reserved: str) -> dict[str, str]:
    """The names of files in figures: without folder and ending, where these differ."""
    stems = {name: Path(name.removesuffix(".gz")).stem for name in names}
    counts = Counter([*stems.values(), *reserved])
    return {name: stem if counts[stem] == 1 else name for name, stem in stems.items()}


def words_of(turns: Turns) -> str:
    """The words of a dialogue, whatever its case, spaces and punctuation."""
    return " ".join(re.findall(r"\w+", "\n".join(turns).casefold()))


def share_of(text: str) -> float:
    """A number between 0 and 1 that depends on the text alone."""
    return int.from_bytes(sha256(text.encode("utf-8", "surrogatepass")).digest()[:6]) / 2**48


def hash_of(texts: Iterable[str]) -> str:
    """A hash of texts in their order."""
    digest = sha256()
    for text in texts:
        digest.update(f"{len(text)}:{text}".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
