"""The similarity of texts by an encoder."""

from collections.abc import Sequence

import numpy as np

from dialoscope.core.arrays import Floats
from dialoscope.models.protocols import Encoder, Pair


def cosine_similarities(encoder: Encoder, pairs: Sequence[Pair]) -> Floats:
    """The cosine similarity of the texts of each pair, NaN for a zero vector; a text is encoded once."""
    if not pairs:
        return np.zeros(0)
    texts = list(dict.fromkeys(text for pair in pairs for text in pair))
    index = {text: number for number, text in enumerate(texts)}
    vectors = encoder.encode(texts).astype(float)
    with np.errstate(invalid="ignore"):
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    first, second = (vectors[[index[pair[side]] for pair in pairs]] for side in (0, 1))
    similarities: Floats = np.einsum("ij,ij->i", first, second)
    return similarities
