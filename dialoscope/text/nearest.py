"""Which texts of many are nearest to a text: cosines of TF-IDF vectors."""

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from dialoscope.core.arrays import Floats, Ints

_WORD = re.compile(r"\w+(?:['’]\w+)*")


class Nearest:
    """An index of texts; of those that are equally near, the first comes first."""

    def __init__(self, texts: Sequence[str]) -> None:
        from scipy.sparse import csr_array

        counts = [Counter(words(text)) for text in texts]
        self._columns: dict[str, int] = {}
        for count in counts:
            for word in count:
                self._columns.setdefault(word, len(self._columns))
        indices = np.array([self._columns[word] for count in counts for word in count], np.int64)
        ends = np.cumsum([0, *map(len, counts)])
        seen = np.bincount(indices, minlength=max(len(self._columns), 1))
        self._rarity: Floats = np.log((1 + len(texts)) / (1 + seen)) + 1
        weights = np.array([1 + np.log(times) for count in counts for times in count.values()], float)
        weights *= self._rarity[indices]
        lengths = np.sqrt(np.add.reduceat(np.append(weights**2, 0.0), ends[:-1])) if len(texts) else weights
        weights /= np.repeat(lengths, np.diff(ends))
        shape = (len(texts), max(len(self._columns), 1))
        # By words, so that only texts with a word of the question are looked at.
        self._by_word = csr_array((weights, indices, ends), shape=shape).tocsc()

    def similarities(self, text: str) -> Floats:
        """How near each text is: 1 for the same words as often, 0 for none in common."""
        count = Counter(word for word in words(text) if word in self._columns)
        found = np.zeros(self._by_word.shape[0])
        columns = np.array([self._columns[word] for word in count], np.int64)
        weights = np.array([1 + np.log(times) for times in count.values()], float) * self._rarity[columns]
        length = np.sqrt((weights**2).sum())
        for column, weight in zip(columns.tolist(), weights.tolist(), strict=True):
            begin, end = self._by_word.indptr[column : column + 2]
            found[self._by_word.indices[begin:end]] += self._by_word.data[begin:end] * weight / length
        return found


def ranked(similarities: Floats, most: int) -> Ints:
    """The places of the nearest, the nearest first; those with nothing in common are not among them."""
    places = np.flatnonzero(similarities > 0)
    if len(places) > most:  # all that are as near as the last of them, so that ties are settled by place
        least = np.partition(similarities[places], -most)[-most]
        places = places[similarities[places] >= least]
    return places[np.argsort(-similarities[places], kind="stable")][:most]


def words(text: str) -> list[str]:
    """The words of a text, in lower case."""
    return _WORD.findall(text.lower())
