"""A baseline without a model: the reply that people gave to the most similar thing they were told."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, NamedTuple

from dialoscope.core.errors import BackendError
from dialoscope.core.safe_text import printable
from dialoscope.models.dialogue_assets import hash_corpus, is_asset, read_dialogues
from dialoscope.systems.checked_text import as_reply
from dialoscope.systems.protocol import NoAnswer, Question, System
from dialoscope.text.nearest import TfidfIndex, rank_nearest


@dataclass(frozen=True)
class RetrievalSystem(System):
    """Answers with the reply in a corpus whose context is nearest, by the cosine of TF-IDF vectors.

    There is no chance in it: further samples are the replies next in nearness, each another text.
    """

    name: ClassVar[str] = "retrieval"
    at_once: ClassVar[int] = 32
    most_workers: ClassVar[int | None] = 1
    packages: ClassVar[tuple[str, ...]] = ("numpy", "scipy")

    corpus: str
    """A file of dialogues or replies, or an asset such as chitchat."""
    turns: int = 1
    """How many of the last turns are compared; 0: all."""
    same: bool = False
    """Whether the very same context may be found in the corpus: its reply is what people said, no system."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "corpus", str(self.corpus))
        if self.corpus in ("", "-"):
            raise BackendError("Retrieval needs a corpus: retrieval:FILE, or an asset, retrieval:chitchat.")
        if self.turns < 0:
            raise BackendError("turns must be 0 (all) or more.")

    def __str__(self) -> str:
        return self.corpus

    @property
    def label(self) -> str:
        """Named after the corpus."""
        return f"retrieval-{Path(self.corpus).name.partition('.')[0] or self.corpus}"

    @property
    def fingerprint(self) -> str:
        """A hash of the corpus."""
        if not is_asset(self.corpus) and not Path(self.corpus).exists():
            raise BackendError(f"There is no corpus {printable(self.corpus)}.")
        return hash_corpus(self.corpus)

    @property
    def asset_names(self) -> tuple[str, ...]:
        """The corpus, where it is an asset."""
        return (self.corpus,) if is_asset(self.corpus) else ()

    @contextmanager
    def opened(self) -> Iterator["_Searched"]:
        """The corpus, read and indexed."""
        yield _Searched(self, _index(self.corpus, self.turns, self.fingerprint))


class _Corpus(NamedTuple):
    nearest: TfidfIndex
    replies: list[str]
    places: dict[tuple[str, ...], list[int]]
    """Where the replies to a context are."""


@lru_cache(maxsize=1)
def _index(corpus: str, turns: int, fingerprint: str) -> _Corpus:
    """Made once for each content of the corpus."""
    found = list(read_dialogues(corpus))
    if not found:
        raise BackendError(f"{printable(corpus)}: nobody answers anything in it.")
    compared = TfidfIndex([" ".join(example.context[-turns:]) for example in found])
    places: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for place, example in enumerate(found):
        places[example.context].append(place)
    return _Corpus(compared, [example.response for example in found], places)


class _Searched:
    """The corpus at work."""

    def __init__(self, system: RetrievalSystem, corpus: _Corpus) -> None:
        self._system, self._corpus = system, corpus

    def answers(self, questions: Sequence[Question]) -> Iterator[str | NoAnswer]:
        """One after the other."""
        return map(self._answer, questions)

    def _answer(self, question: Question) -> str | NoAnswer:
        near = self._corpus.nearest.similarities(" ".join(question.context[-self._system.turns :]))
        if not self._system.same:
            near[self._corpus.places.get(question.context, [])] = 0
        wanted, found = question.sample + 1, list[str]()
        for most in (4 * wanted, len(near)):
            replies = (self._corpus.replies[place] for place in rank_nearest(near, most))
            found = list(dict.fromkeys(replies))
            if len(found) >= wanted:
                return as_reply(found[question.sample])
        return NoAnswer(
            f"no more than {len(found)} replies in the corpus come near this"
            if found
            else "nothing in the corpus has a word in common with this"
        )
