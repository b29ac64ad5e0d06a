"""A baseline without a model: the reply in a corpus to the most similar context."""

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
from dialoscope.text.nearest import TfidfIndex, rank_by_similarity


@dataclass(frozen=True)
class RetrievalSystem(System):
    """Replies with the reply in a corpus to the nearest context, by the cosine of TF-IDF vectors.

    It is deterministic: further samples are the next nearest replies that differ.
    """

    name: ClassVar[str] = "retrieval"
    at_once: ClassVar[int] = 32
    most_workers: ClassVar[int | None] = 1
    packages: ClassVar[tuple[str, ...]] = ("numpy", "scipy")

    corpus: str
    """A file of dialogues or replies, or an asset such as chitchat."""
    turns: int = 1
    """Number of last turns that are compared; 0: all."""
    same: bool = False
    """Whether the same context may be retrieved from the corpus; its reply is a reference."""

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
        """A name made of that of the corpus."""
        return f"retrieval-{Path(self.corpus).name.partition('.')[0] or self.corpus}"

    @property
    def fingerprint(self) -> str:
        """A hash of the corpus."""
        if not is_asset(self.corpus) and not Path(self.corpus).exists():
            raise BackendError(f"There is no corpus {printable(self.corpus)}.")
        return hash_corpus(self.corpus)

    @property
    def asset_names(self) -> tuple[str, ...]:
        """The corpus, if it is an asset."""
        return (self.corpus,) if is_asset(self.corpus) else ()

    @contextmanager
    def opened(self) -> Iterator["_RetrievalSession"]:
        """Read and index the corpus."""
        yield _RetrievalSession(self, _index(self.corpus, self.turns, self.fingerprint))


class _Corpus(NamedTuple):
    nearest: TfidfIndex
    replies: list[str]
    indices: dict[tuple[str, ...], list[int]]
    """The indices of the replies to each context."""


@lru_cache(maxsize=1)
def _index(corpus: str, turns: int, fingerprint: str) -> _Corpus:
    """The index of a corpus; a changed corpus is indexed again."""
    examples = list(read_dialogues(corpus))
    if not examples:
        raise BackendError(f"{printable(corpus)}: it has no turn with a turn before it.")
    nearest = TfidfIndex([" ".join(example.context[-turns:]) for example in examples])
    indices: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for index, example in enumerate(examples):
        indices[example.context].append(index)
    return _Corpus(nearest, [example.response for example in examples], indices)


class _RetrievalSession:
    """Searches the corpus."""

    def __init__(self, system: RetrievalSystem, corpus: _Corpus) -> None:
        self._system, self._corpus = system, corpus

    def answers(self, questions: Sequence[Question]) -> Iterator[str | NoAnswer]:
        """Answer the questions one by one."""
        return map(self._answer, questions)

    def _answer(self, question: Question) -> str | NoAnswer:
        similarities = self._corpus.nearest.similarities(" ".join(question.context[-self._system.turns :]))
        if not self._system.same:
            similarities[self._corpus.indices.get(question.context, [])] = 0
        wanted, replies = question.sample + 1, list[str]()
        for count in (4 * wanted, len(similarities)):
            nearest = (self._corpus.replies[index] for index in rank_by_similarity(similarities, count))
            replies = list(dict.fromkeys(nearest))
            if len(replies) >= wanted:
                return as_reply(replies[question.sample])
        return NoAnswer(
            f"no more than {len(replies)} replies in the corpus have a word in common with this"
            if replies
            else "nothing in the corpus has a word in common with this"
        )
