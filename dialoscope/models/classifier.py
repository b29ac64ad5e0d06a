"""Classifiers of pairs of the Hugging Face kind: natural language inference, relevance."""

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
    """How probable each class is for a pair of texts that a model reads together.

    A model with a single output says how well the second text suits the first, between 0 and 1.
    """

    name: ClassVar[str] = "transformer-classifier"
    version: ClassVar[int] = 1

    @property
    def labels(self) -> tuple[str, ...]:
        """What the columns stand for, as the model's configuration names them, in lower case."""
        config = find_model(self.model, self.revision).config
        named = config.get("id2label") or {0: "LABEL_0", 1: "LABEL_1"}
        labels = tuple(str(named[place]).lower() for place in sorted(named, key=int))
        return labels if len(labels) > 1 else ("relevance",)

    def classify(self, pairs: Sequence[Pair]) -> Floats:
        """A row of probabilities for each pair, a column for each label."""
        if not pairs:
            return np.zeros((0, len(self.labels)))
        found = compute_cached(
            self._identity,
            [text_key(*pair) for pair in pairs],
            lambda places: self._engine.probabilities(pairs, places),
            what=f"Judging with {self.model}",
        )
        return np.stack(found)

    @property
    def _engine(self) -> "ClassifierEngine":
        return _loaded(self, self.device, self.budget, self.fingerprint)


@lru_cache(maxsize=2)
def _loaded(
    description: TransformerClassifier, device: str, budget: int, fingerprint: str
) -> "ClassifierEngine":
    """The weights, loaded once for each description, device, content of the folder, and process."""
    side = import_engine("encoder", f"The classifier {description.model}")
    loaded: ClassifierEngine = side.ClassifierEngine(description)
    return loaded
