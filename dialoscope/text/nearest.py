"""The texts of a collection that are most similar to a text, by the cosine of TF-IDF vectors."""

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from dialoscope.core.arrays import Floats, Ints

_WORD = re.compile(r"\w+(?:['’]\w+)*")


class TfidfIndex:
    """An index of texts by their words."""

    def __init__(self, texts: Sequence[str]) -> None:
        from scipy.sparse import csr_array

        counts = [Counter(split_words(text)) for text in texts]
        self._columns: dict[str, int] = {}
        for count in counts:
            for word in count:
                self._columns.setdefault(word, len(self._columns))
        indices = np.array([self._columns[word] for count in counts for word in count], np.int64)
        ends = np.cumsum([0, *map(len, counts)])
        document_counts = np.bincount(indices, minlength=max(len(self._columns), 1))
        self._idf: Floats = np.log((1 + len(texts)) / (1 + document_counts)) + 1
        weights = np.array([1 + np.log(times) for count in counts for times in count.values()], float)
        weights *= self._idf[indices]
        lengths = np.sqrt(np.add.reduceat(np.append(weights**2, 0.0), ends[:-1])) if len(texts) else weights
        weights /= np.repeat(lengths, np.diff(ends))
        shape = (len(texts), max(len(self._columns), 1))
        # The columns are words, so that only texts with a word of the query are read.
        self._by_word = csr_array((weights, indices, ends), shape=shape).tocsc()

    def similarities(self, text: str) -> Floats:
        """Return the similarity of each text: 1 for the same words and counts, 0 for no word in common."""
        count = Counter(word for word in split_words(text) if word in self._columns)
        similarities = np.zeros(self._by_word.shape[0])
        columns = np.array([self._columns[word] for word in count], np.int64)
        weights = np.array([1 + np.log(times) for times in count.values()], float) * self._idf[columns]
        length = np.sqrt((weights**2).sum())
        for column, weight in zip(columns.tolist(), weights.tolist(), strict=True):
            begin, end = self._by_word.indptr[column : column + 2]
            similarities[self._by_word.indices[begin:end]] += self._by_word.data[begin:end] * weight / length
        return similarities


def rank_by_similarity(similarities: Floats, most: int) -> Ints:
    """Return the indices of the most similar texts, most similar first, without those of similarity 0.

    Of texts that are equally similar, the first comes first.
    """
    indices = np.flatnonzero(similarities > 0)
    if len(indices) > most:  # include all ties with the last one, so that they are resolved by index
        threshold = np.partition(similarities[indices], -most)[-most]
        indices = indices[similarities[indices] >= threshold]
    return indices[np.argsort(-similarities[indices], kind="stable")][:most]


def split_words(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    return _WORD.findall(text.lower())
