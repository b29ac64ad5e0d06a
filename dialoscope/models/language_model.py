"""Causal language models in the Hugging Face format, named by a folder, an asset, or a model on the hub."""

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
from dialoscope.models.locations import asset_names, find_model, fingerprint
from dialoscope.models.protocols import Continuation, Generation
from dialoscope.models.truncation import Cut, may_exceed

if TYPE_CHECKING:
    from dialoscope.models.engines.language_model import LanguageModelEngine
    from dialoscope.models.engines.token_ids import Vocabulary

Dtype = Literal["float32", "bfloat16", "float16"]
Start = Literal["bos", "none"]


@dataclass(frozen=True)
class TransformerLanguageModel:
    """A causal language model that computes probabilities of texts and generates texts."""

    name: ClassVar[str] = "transformer-lm"
    version: ClassVar[int] = 1

    model: str = "smollm2"
    """A folder, an asset, or a name on the hub."""
    revision: str = "main"
    """Revision of a model on the hub."""
    dtype: Dtype = "float32"
    """Precision of the computation. Half precision is much faster on a GPU but gives different numbers."""
    start: Start = "bos"
    """What precedes every text: the model's start token, or nothing. Without a start token, the first token
    of a text without prefix is not scored."""
    window: int = 0
    """Maximum number of tokens that the model sees at once; 0: the limit of the model."""
    device: str = field(default="auto", compare=False)
    budget: int = field(default=0, compare=False)
    """Number of tokens computed at once; 0: chosen by device."""

    def __post_init__(self) -> None:
        if not self.model:
            raise BackendError("A language model needs a name: a folder, an asset, or a model on the hub.")
        for name, value, choices in (("dtype", self.dtype, Dtype), ("start", self.start, Start)):
            if value not in get_args(choices):
                raise BackendError(f"{name} is '{value}'; it must be one of: {', '.join(get_args(choices))}.")
        if self.window != 0 and self.window < 16:
            raise BackendError(
                f"window is {self.window}; it must be 0 (the limit of the model) or at least 16 tokens."
            )
        if self.budget < 0:
            raise BackendError(
                f"budget is {self.budget}; it must be 0 (chosen by device) or a positive number of tokens."
            )

    def __str__(self) -> str:
        return self.model

    @property
    def fingerprint(self) -> str:
        """The hash of weights, configuration and tokenizer."""
        return fingerprint(self.model, self.revision)

    @property
    def limit(self) -> int:
        """The maximum number of tokens seen at once: the window, or the limit of the model."""
        config = find_model(self.model, self.revision).config
        config = config.get("text_config") or config  # nested in a multimodal model
        sizes = (config.get(name) for name in ("max_position_embeddings", "n_positions"))
        model_limit = next((int(size) for size in sizes if size), 2048)
        if self.window > model_limit:
            raise BackendError(
                f"window is {self.window}; it must be at most {model_limit} for {self.model}, or 0, which is "
                "this maximum."
            )
        return self.window or model_limit

    def cut(self, texts: Sequence[Continuation]) -> Cut:
        """The texts whose prefix is too long and loses its beginning."""
        beginning, end = np.zeros((2, len(texts)), bool)
        room = self.limit - (self.start == "bos")
        long = [index for index, text in enumerate(texts) if may_exceed("".join(text), room)]
        tokens = self._vocabulary.encode_pairs(
            [texts[index].prefix for index in long], [texts[index].text for index in long]
        )
        for index, (prefix, text) in zip(long, tokens, strict=True):
            beginning[index] = len(prefix) + len(text) > room
        return Cut(self.limit, beginning, end)

    @property
    def asset_names(self) -> tuple[str, ...]:
        """The names of the assets that the model consists of, for their licences."""
        return asset_names(self.model)

    def log_probabilities(self, texts: Sequence[Continuation]) -> list[Floats]:
        """The natural log-probability of each token of each text, given its prefix."""
        _ = self.limit  # refuses a window that is too large, even if all texts are in the score cache
        log_probabilities = compute_cached(
            f"{signature(self)} {self.fingerprint}",
            [text_key(*text) for text in texts],
            lambda indices: self._engine.log_probabilities([texts[index] for index in indices], indices),
            label=f"Reading with {self.model}",
        )
        return [values.astype(float) for values in log_probabilities]

    def generate(self, prompts: Sequence[str], how: Generation) -> list[list[str]]:
        """`how.samples` texts for each prompt, without the prompt; for a seed the same in any batch."""
        return self._engine.generate(prompts, how)

    @property
    def _vocabulary(self) -> "Vocabulary":
        return _load_vocabulary(self.model, self.revision, self.fingerprint)

    @property
    def _engine(self) -> "LanguageModelEngine":
        return _load(self, self.device, self.budget, self.fingerprint)


@lru_cache(maxsize=4)
def _load_vocabulary(model: str, revision: str, fingerprint: str) -> "Vocabulary":
    """Load the vocabulary of a model, once for each fingerprint."""
    module = import_engine("token_ids", f"The language model {model}")
    vocabulary: Vocabulary = module.Vocabulary(module.load_tokenizer(find_model(model, revision).folder))
    return vocabulary


@lru_cache(maxsize=2)
def _load(
    description: TransformerLanguageModel, device: str, budget: int, fingerprint: str
) -> "LanguageModelEngine":
    """Load the weights, once per process for all equal descriptions.

    `device` and `budget` are arguments because equal descriptions may differ in them, and `fingerprint` so
    that a folder whose files have changed is loaded again.
    """
    module = import_engine("language_model", f"The language model {description.model}")
    engine: LanguageModelEngine = module.LanguageModelEngine(description)
    return engine
