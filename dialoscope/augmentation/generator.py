"""Variants by a language model: other continuations of the turns before the query."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from dialoscope.augmentation.draft import Drafts, WordChange
from dialoscope.augmentation.queries import Query
from dialoscope.core.progress import progress_bar
from dialoscope.models.language_model import TransformerLanguageModel
from dialoscope.models.protocols import Encoder, Generation, LanguageModel

NO_HISTORY = "history"
"""The missing input of the first turn of a dialogue."""

_SPARE = 4
"""The number of extra texts, since some are equal to others or too different from the query."""
_AT_ONCE = 32
"""The number of prompts between two updates of the progress bar."""


@dataclass(frozen=True)
class Generator:
    """A language model continues the history; its best beams replace the query."""

    name: ClassVar[str] = "generator"
    version: ClassVar[int] = 1
    default_min_similarity: ClassVar[float] = -1

    lm: LanguageModel = TransformerLanguageModel()
    sample: bool = False
    """Whether texts are sampled at random instead of by beam search, which servers do not have."""
    max_tokens: int = 40

    def drafts(self, queries: Sequence[Query], encoder: Encoder, count: int, seed: int) -> list[Drafts]:
        """For each query with a history, what the model would say instead, the likeliest first."""
        prompts = [_make_prompt(query) for query in queries]
        different = list(dict.fromkeys(prompt for prompt in prompts if prompt))
        texts = self._generate(different, self._generation(count + _SPARE, seed))
        generated = dict(zip(different, texts, strict=True))
        return [
            Drafts(iter(self._label(generated[prompt]))) if prompt else Drafts(iter(()), (NO_HISTORY,))
            for prompt in prompts
        ]

    def _generate(self, prompts: Sequence[str], settings: Generation) -> list[list[str]]:
        with progress_bar(f"Writing with {self.lm}", len(prompts), unit="queries") as advance:
            texts = []
            for start in range(0, len(prompts), _AT_ONCE):
                texts += self.lm.generate(prompts[start : start + _AT_ONCE], settings)
                advance(min(_AT_ONCE, len(prompts) - start))
        return texts

    def _generation(self, texts: int, seed: int) -> Generation:
        if self.sample:
            return Generation(self.max_tokens, samples=texts, sample=True, top_p=0.9, seed=seed)
        return Generation(self.max_tokens, samples=texts, beams=texts)

    def _label(self, texts: Sequence[str]) -> "list[GeneratedDraft]":
        kind = "sample" if self.sample else "beam"
        return [GeneratedDraft(text.strip(), f"{kind} {number}") for number, text in enumerate(texts, 1)]


class GeneratedDraft(NamedTuple):
    """A text of the generator."""

    text: str
    variant: str
    changes: tuple[WordChange, ...] = ()

    def reduce(self) -> None:
        """None: a generated text cannot have fewer changes."""


def _make_prompt(query: Query) -> str:
    """The history, each turn on a line; empty if there is none."""
    return "".join(f"{' '.join(turn.split())}\n" for turn in query.history)
