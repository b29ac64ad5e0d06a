"""A causal language model of the Hugging Face kind: a folder, an asset, or a name on the hub."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

import numpy as np

from dialoscope.core.arrays import Floats
from dialoscope.core.errors import BackendError
from dialoscope.core.signature import signature
from dialoscope.models.cache import compute_cached, text_key
from dialoscope.models.engines import import_engine
from dialoscope.models.locations import asset_names, fingerprint, find_model
from dialoscope.models.protocols import Continuation, Generation
from dialoscope.models.truncation import Cut, may_exceed

if TYPE_CHECKING:
    from dialoscope.models.engines.language_model import Engine
    from dialoscope.models.engines.token_ids import Words

Dtype = Literal["float32", "bfloat16", "float16"]
Start = Literal["bos", "none"]


@dataclass(frozen=True)
class TransformerLanguageModel:
    """How likely texts are to a causal language model, and what it writes."""

    name: ClassVar[str] = "transformer-lm"
    version: ClassVar[int] = 1

    model: str = "smollm2"
    """A folder, an asset, or a name on the hub."""
    revision: str = "main"
    """Of a model on the hub."""
    dtype: Dtype = "float32"
    """How precisely it computes. Half precision is much faster on a GPU, and gives other numbers."""
    start: Start = "bos"
    """What stands before every text: the model's own first token, or nothing. Without it the first token of a
    text that has no prefix is not scored."""
    window: int = 0
    """The most tokens it sees at once; 0: as many as it was made for."""
    device: str = field(default="auto", compare=False)
    budget: int = field(default=0, compare=False)
    """Tokens computed at once; 0: what suits the device."""

    def __post_init__(self) -> None:
        if not self.model:
            raise BackendError("A language model needs a name: a folder, an asset, or a name on the hub.")
        for name, value, known in (("dtype", self.dtype, Dtype), ("start", self.start, Start)):
            if value not in get_args(known):
                raise BackendError(f"{name} is '{value}'; it must be one of: {', '.join(get_args(known))}.")
        if self.window != 0 and self.window < 16:
            raise BackendError(
                f"window is {self.window}; it must be 0 (the model's own) or at least 16 tokens."
            )
        if self.budget < 0:
            raise BackendError(
                f"budget is {self.budget}; it must be 0 (what suits the device) or more tokens."
            )

    def __str__(self) -> str:
        return self.model

    @property
    def fingerprint(self) -> str:
        """A hash of weights, configuration and tokenizer."""
        return fingerprint(self.model, self.revision)

    @property
    def limit(self) -> int:
        """The most tokens that are seen at once: the window, or as many as the model was made for."""
        config = find_model(self.model, self.revision).config
        config = config.get("text_config") or config  # a model of several senses nests that of text
        sizes = (config.get(name) for name in ("max_position_embeddings", "n_positions"))
        own = next((int(size) for size in sizes if size), 2048)
        if self.window > own:
            raise BackendError(
                f"window is {self.window}; it must be at most {own} for {self.model}, or 0 for all of that."
            )
        return self.window or own

    def cut(self, texts: Sequence[Continuation]) -> Cut:
        """Which texts are read without all that precedes them."""
        beginning, end = np.zeros((2, len(texts)), bool)
        room = self.limit - (self.start == "bos")
        long = [place for place, text in enumerate(texts) if may_exceed("".join(text), room)]
        tokens = self._words.numbered(
            [texts[place].prefix for place in long], [texts[place].text for place in long]
        )
        for place, (prefix, text) in zip(long, tokens, strict=True):
            beginning[place] = len(prefix) + len(text) > room
        return Cut(self.limit, beginning, end)

    @property
    def asset_names(self) -> tuple[str, ...]:
        """The assets behind it, for their licences."""
        return asset_names(self.model)

    def log_probabilities(self, texts: Sequence[Continuation]) -> list[Floats]:
        """The natural logarithm of each token's probability, for each text given its prefix."""
        _ = self.limit  # a window that is too wide is refused also where all is in the score cache
        found = compute_cached(
            f"{signature(self)} {self.fingerprint}",
            [text_key(*text) for text in texts],
            lambda places: self._engine.log_probabilities([texts[place] for place in places], places),
            what=f"Reading with {self.model}",
        )
        return [values.astype(float) for values in found]

    def generate(self, prompts: Sequence[str], how: Generation) -> list[list[str]]:
        """`how.samples` texts for each prompt, without the prompt; the same for a seed in any batch."""
        return self._engine.generate(prompts, how)

    @property
    def _words(self) -> "Words":
        return _vocabulary(self.model, self.revision, self.fingerprint)

    @property
    def _engine(self) -> "Engine":
        return _loaded(self, self.device, self.budget, self.fingerprint)


@lru_cache(maxsize=4)
def _vocabulary(model: str, revision: str, fingerprint: str) -> "Words":
    """The tokenizer of a model, loaded once for each content of its folder."""
    side = import_engine("token_ids", f"The language model {model}")
    words: Words = side.Words(side.vocabulary(find_model(model, revision).folder))
    return words


@lru_cache(maxsize=2)
def _loaded(description: TransformerLanguageModel, device: str, budget: int, fingerprint: str) -> "Engine":
    """The weights, loaded once for each description and process, however often the description is copied.

    Device and budget are told apart here, though descriptions that differ in nothing else are equal; and what
    is in the folder: once it was changed, the old weights must not answer for the new.
    """
    side = import_engine("language_model", f"The language model {description.model}")
    loaded: Engine = side.Engine(description)
    return loaded
