"""Classifiers of pairs of texts in the Hugging Face format, such as NLI and relevance models."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dialoscope.core.arrays import Floats
from dialoscope.models.cache import compute_cached, text_key
from dialoscope.models.encoder import Transformer
from dialoscope.models.engines import import_engine
from dialoscope.models.locations import find_model
from dialoscope.models.protocols import Pair

if TYPE_CHECKING:
    from dialoscope.models.engines.encoder import ClassifierEngine


@dataclass(frozen=True)
class TransformerClassifier(Transformer):
    """A classifier that reads two texts together and returns the probability of each class.

    A model with a single output rates the relevance of the second text to the first, between 0 and 1.
    """

    name: ClassVar[str] = "transformer-classifier"
    version: ClassVar[int] = 1

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels in the configuration of the model, in lower case."""
        config = find_model(self.model, self.revision).config
        names = config.get("id2label") or {0: "LABEL_0", 1: "LABEL_1"}
        labels = tuple(str(names[number]).lower() for number in sorted(names, key=int))
        return labels if len(labels) > 1 else ("relevance",)

    def classify(self, pairs: Sequence[Pair]) -> Floats:
        """Probabilities, one row per pair and one column per label."""
        if not pairs:
            return np.zeros((0, len(self.labels)))
        probabilities = compute_cached(
            self._identity,
            [text_key(*pair) for pair in pairs],
            lambda indices: self._engine.probabilities(pairs, indices),
            label=f"Classifying with {self.model}",
        )
        return np.stack(probabilities)

    @property
    def _engine(self) -> "ClassifierEngine":
        return _load(self, self.device, self.budget, self.fingerprint)


@lru_cache(maxsize=2)
def _load(
    description: TransformerClassifier, device: str, budget: int, fingerprint: str
) -> "ClassifierEngine":
    """Load the weights, once per process for each description, device, budget and fingerprint."""
    module = import_engine("encoder", f"The classifier {description.model}")
    engine: ClassifierEngine = module.ClassifierEngine(description)
    return engine
