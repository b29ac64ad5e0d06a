"""Labelled pairs of sentences to learn from, and those that are kept apart."""

import gzip
import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import dialoscope.models.registry as assets
from dialoscope.core.errors import TrainingError
from dialoscope.models.protocols import Classifier
from dialoscope.training.contradictions import LABELS, LabelledPair, made_pairs
from dialoscope.training.dialogue_split import Turns, each_clear_of, hash_of, share_of, titles_of
from dialoscope.training.distillation import judged, utterances

_NAMES = (("premise", "hypothesis", "label"), ("sentence1", "sentence2", "gold_label"))
_SNLI = {"snli": "snli_1.0_train_subset.jsonl", "snli-test": "snli_1.0_test.jsonl"}
"""What an asset of pairs calls its files."""


class Source(NamedTuple):
    """A file of pairs (or `snli`, `snli-test`), and what becomes of it: `x.jsonl:validation=.1,test=.2`."""

    path: str
    validation: float = 0.0
    """The share of premises to choose by."""
    test: float = 0.0
    """The share of premises to test on."""
    times: int = 1
    """How often each pair is learned from in an epoch."""

    @classmethod
    def of(cls, text: str) -> "Source":
        """From what a user writes."""
        path, _, settings = text.rpartition(":")
        if "=" not in settings or not path:
            return cls(text)
        chosen = dict(part.partition("=")[::2] for part in settings.split(","))
        try:
            validation, test = (float(chosen.pop(name, 0)) for name in ("validation", "test"))
            found = cls(path, validation, test, int(chosen.pop("times", 1)))
        except ValueError:
            found = cls(path, times=0)
        parts = (found.validation, found.test, found.validation + found.test)
        if chosen or found.times < 1 or not all(0 <= part <= 1 for part in parts):
            raise TrainingError(f"'{text}' cannot be read; write FILE:validation=0.1,test=0.2,times=1.")
        return found


@dataclass(frozen=True)
class PairSplit:
    """Pairs to learn from, to choose by, and to test on."""

    train: tuple[LabelledPair, ...]
    validation: tuple[LabelledPair, ...]
    tests: dict[str, tuple[LabelledPair, ...]]
    removed: int
    """Pairs left out because they also stand in what is kept apart."""

    @property
    def hash(self) -> str:
        """Of all that is learned from and chosen by."""
        return hash_of(
            text
            for part in (self.train, self.validation)
            for pair in part
            for text in (*pair[:3], *map(str, pair.odds))
        )


def split_pairs(
    data: Sequence[str],
    tests: Sequence[str] = (),
    made_from: Sequence[str] = (),
    made: int = 12000,
    seed: int = 0,
    teacher: Classifier | None = None,
    avoid: Sequence[str] = (),
) -> PairSplit:
    """The pairs of files by what shall become of them, and pairs from dialogues.

    These are made by rules, or judged by a teacher; dialogues to be avoided are left out.
    """
    train: list[LabelledPair] = []
    validation: list[LabelledPair] = []
    sources = [Source.of(name) for name in data]
    title = titles_of({Source.of(name).path for name in tests}, "validation")
    tested = {title[path]: tuple(read_pairs(path)) for path in (Source.of(name).path for name in tests)}
    title = titles_of({source.path for source in sources})
    for source in sources:
        parts = _parted(source)
        train += parts.train * source.times
        validation += parts.validation
        if parts.test:
            tested[f"{title[source.path]} (held back)"] = tuple(parts.test)
    from_dialogues = _made(each_clear_of(made_from, avoid), made, seed, teacher)
    train += from_dialogues.train
    validation += from_dialogues.validation
    kept_out = {pair[:2] for part in tested.values() for pair in part}
    clear = tuple(pair for pair in validation if pair[:2] not in kept_out)
    apart = kept_out | {pair[:2] for pair in clear}
    kept = tuple(pair for pair in train if pair[:2] not in apart)
    if not kept or not clear:
        raise TrainingError(
            f"There are {len(kept)} pairs to learn from and {len(clear)} to choose by; both are needed. "
            "Keep some of a file apart: FILE:validation=0.1."
        )
    return PairSplit(kept, clear, tested, len(train) + len(validation) - len(kept) - len(clear))


class _Parts(NamedTuple):
    train: list[LabelledPair]
    validation: list[LabelledPair]
    test: list[LabelledPair]


def _parted(source: Source) -> _Parts:
    """By premise, so that what is tested on was not met with another hypothesis."""
    parts = _Parts([], [], [])
    for pair in read_pairs(source.path):
        share = share_of(pair.premise)
        test = share < source.test
        chosen = not test and share < source.test + source.validation
        parts[2 if test else int(chosen)].append(pair)
    return parts


def _made(corpora: Sequence[Sequence[Turns]], most: int, seed: int, teacher: Classifier | None) -> _Parts:
    """As many of each corpus, a twentieth of its dialogues kept apart to choose by."""
    parts = _Parts([], [], [])

    def pairs_of(part: Sequence[Turns], count: int) -> list[LabelledPair]:
        return judged(utterances(part, count, seed), teacher) if teacher else made_pairs(part, count, seed)

    for every in corpora:
        apart = [turns for turns in every if share_of(turns[0]) < _APART]
        rest = [turns for turns in every if share_of(turns[0]) >= _APART]
        count = most // len(corpora)
        parts.train.extend(pairs_of(rest, count))
        parts.validation.extend(pairs_of(apart, int(count * _APART)))
    return parts


_APART = 0.05


def read_pairs(path: str) -> Iterator[LabelledPair]:
    """The pairs of a file of JSON lines; those on which raters did not agree are left out."""
    file = Path(path)
    if not file.exists() and path in _SNLI:
        file = assets.locate("snli") / _SNLI[path]
    try:
        with (
            gzip.open(file, "rt", encoding="utf-8-sig")
            if path.endswith(".gz")
            else file.open(encoding="utf-8-sig") as lines
        ):
            for number, line in enumerate(lines, 1):
                if line.strip() and (pair := _pair(line, f"{path}:{number}")) is not None:
                    yield pair
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise TrainingError(f"{path} cannot be read: {error}") from error


def _pair(line: str, where: str) -> LabelledPair | None:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise TrainingError(f"{where}: this is no JSON ({error}).") from error
    for names in _NAMES:
        if isinstance(row, dict) and all(isinstance(row.get(name), str) for name in names):
            found = LabelledPair(*(row[name] for name in names))
            if found.label not in (*LABELS, "-"):
                raise TrainingError(
                    f"{where}: the label is '{found.label}'; it must be one of: {', '.join(LABELS)}."
                )
            return found if found.label != "-" else None
    raise TrainingError(f"{where}: a pair has `premise`, `hypothesis` and `label`, which are texts.")
