"""Document frequencies of tokens in people's texts, and the weights derived from them."""

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np

from dialoscope.core.arrays import Floats, Ints
from dialoscope.core.errors import BackendError, DataError, MetricError
from dialoscope.core.safe_text import printable
from dialoscope.core.signature import signature
from dialoscope.core.tally import begins_run
from dialoscope.data.dialogues import EVERYBODY
from dialoscope.data.replies import read
from dialoscope.metrics.shared.matching import in_chunks, text_size
from dialoscope.models.cache import compute_cached, text_key
from dialoscope.models.corpus import hash_path
from dialoscope.models.encoder import TransformerEncoder
from dialoscope.models.protocols import Encoder


@dataclass(frozen=True)
class Sentences:
    """People's texts in a file: a text on each line, or anything that replies can be read from."""

    name: ClassVar[str] = "sentences"
    version: ClassVar[int] = 1

    file: str

    @property
    def fingerprint(self) -> str:
        """A hash of the content of the file."""
        try:
            return hash_path(Path(self.file))
        except BackendError as absent:
            raise MetricError(f"idf must be none, references, or a file of texts. {absent}") from absent

    def texts(self) -> Iterator[str]:
        """Yield each line; the references of a row, or else its response; every turn of a dialogue."""
        if Path(self.file).suffix.lower() == ".txt":
            yield from filter(str.strip, _lines(Path(self.file)))
            return
        for example in read(self.file, speaker=EVERYBODY):
            yield from example.references or (example.response,)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise DataError(f"{printable(str(path))} is not UTF-8, from byte {error.start} on.") from error
    except OSError as error:
        raise DataError(f"{printable(str(path))} cannot be read: {error.strerror}.") from error


class Frequencies(NamedTuple):
    """The number of texts in which each token occurs."""

    texts: int
    ids: Ints
    """The tokens that occur, ascending."""
    counts: Ints

    def weights(self, ids: Ints) -> Floats:
        """The inverse document frequency of these tokens, as bert-score smooths it."""
        index = np.searchsorted(self.ids, ids)
        is_counted = np.append(self.ids, -1)[index] == ids
        counts = np.where(is_counted, np.append(self.counts, 0)[index], 0)
        return np.asarray(np.log((self.texts + 1) / (counts + 1)))


def frequencies(ids: Ints, owner: Ints, times: Ints) -> Frequencies:
    """Return document frequencies of tokens with their texts; a text counts as often as it occurs."""
    order = np.lexsort((ids, owner))
    ids, owner = ids[order], owner[order]
    once = begins_run(ids, owner)
    different, index = np.unique(ids[once], return_inverse=True)
    counts = np.bincount(index, times[owner[once]], len(different)).astype(np.int64)
    return Frequencies(int(times.sum()), different, counts)


def corpus_frequencies(encoder: Encoder, corpus: Sentences, read_as: Callable[[str], str]) -> Frequencies:
    """Return the frequencies in all texts of a corpus, as the encoder reads them; counts are cached."""
    shallow = _shallowest(encoder)
    (table,) = compute_cached(
        f"document frequencies {signature(shallow)} {shallow.fingerprint}",
        # The ending says how the file is read, and so which texts the same bytes are.
        [text_key(signature(corpus), Path(corpus.file).suffix, corpus.fingerprint, read_as("a text"))],
        lambda _: [(0, _count_tokens(shallow, corpus, read_as))],
        use_cache=isinstance(encoder, TransformerEncoder),
    )
    return Frequencies(int(table[0, 0]), *table[:, 1:])


def _shallowest(encoder: Encoder) -> Encoder:
    """Return the encoder without its layers if possible, as tokenizing needs none."""
    if isinstance(encoder, TransformerEncoder):
        return dataclasses.replace(encoder, layer=0)
    return encoder


def _count_tokens(encoder: Encoder, corpus: Sentences, read_as: Callable[[str], str]) -> Ints:
    """Return a column with the number and count of each token, after one with the number of texts."""
    times = Counter(map(read_as, corpus.texts()))
    if not times:
        raise MetricError(f"{printable(corpus.file)} holds no text, so that no token can be weighed by it.")
    counts: Counter[int] = Counter()
    for texts in in_chunks(list(times), text_size):
        tokens = [text.ids for text in encoder.encode_tokens(texts)]
        owner = np.repeat(np.arange(len(texts)), [len(ids) for ids in tokens])
        part = frequencies(np.concatenate(tokens), owner, np.array([times[text] for text in texts]))
        counts.update(dict(zip(part.ids.tolist(), part.counts.tolist(), strict=True)))
    ids = sorted(counts)
    return np.array([[times.total(), *ids], [0, *(counts[token] for token in ids)]], np.int64)
