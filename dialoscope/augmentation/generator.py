"""Variants by a generator: what else could have been said at this point, by a language model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from dialoscope.augmentation.draft import Change, Drafts
from dialoscope.augmentation.queries import Query
from dialoscope.core.progress import bar
from dialoscope.models.language_model import TransformerLanguageModel
from dialoscope.models.protocols import Encoder, Generation, LanguageModel

NO_HISTORY = "history"
"""What a query lacks with which a dialogue begins."""

_SPARE = 4
"""Texts generated beyond those wanted, for some will be equal to others, or too far from the query."""
_AT_ONCE = 32
"""Prompts given to the model before a waiting person is told."""


@dataclass(frozen=True)
class Generator:
    """The history is continued by a language model; its best beams stand for the query."""

    name: ClassVar[str] = "generator"
    version: ClassVar[int] = 1
    usual_nearest: ClassVar[float] = -1

    lm: LanguageModel = TransformerLanguageModel()
    sample: bool = False
    """Whether texts are drawn at random in place of the best beams; servers can do nothing else."""
    max_tokens: int = 40

    def drafts(self, queries: Sequence[Query], encoder: Encoder, count: int, seed: int) -> list[Drafts]:
        """For each query with a history, what the model would say in its place, the likeliest first."""
        prompts = [_prompt(query) for query in queries]
        asked = list(dict.fromkeys(prompt for prompt in prompts if prompt))
        written = self._written(asked, self._how(count + _SPARE, seed))
        found = dict(zip(asked, written, strict=True))
        return [
            Drafts(iter(self._texts(found[prompt]))) if prompt else Drafts(iter(()), (NO_HISTORY,))
            for prompt in prompts
        ]

    def _written(self, prompts: Sequence[str], how: Generation) -> list[list[str]]:
        with bar(f"Writing with {self.lm}", len(prompts), unit="queries") as advance:
            found = []
            for start in range(0, len(prompts), _AT_ONCE):
                found += self.lm.generate(prompts[start : start + _AT_ONCE], how)
                advance(min(_AT_ONCE, len(prompts) - start))
        return found

    def _how(self, texts: int, seed: int) -> Generation:
        if self.sample:
            return Generation(self.max_tokens, samples=texts, sample=True, top_p=0.9, seed=seed)
        return Generation(self.max_tokens, samples=texts, beams=texts)

    def _texts(self, texts: Sequence[str]) -> "list[Written]":
        what = "sample" if self.sample else "beam"
        return [Written(text.strip(), f"{what} {place}") for place, text in enumerate(texts, 1)]


class Written(NamedTuple):
    """A text as the generator wrote it."""

    text: str
    variant: str
    changes: tuple[Change, ...] = ()

    def nearer(self) -> None:
        """There is no less of it."""


def _prompt(query: Query) -> str:
    """The history, a turn a line; empty where there is none."""
    return "".join(f"{' '.join(turn.split())}\n" for turn in query.history)
