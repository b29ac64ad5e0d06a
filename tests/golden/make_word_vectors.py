"""Write word_vectors.json: files that gensim writes, and the numbers that gensim reads from them.

Wants its own environment: `pip install gensim==4.4.0`.
"""

import base64
import tempfile
from pathlib import Path

import numpy as np
from _shared import origin, write
from gensim.models import KeyedVectors

WORDS = ["tea", "Tea", "the", "don't", "naïve", "你好", "\U0001f600", "3.5", "New_York", "..."]


def vectors():
    """Seven dimensions of plain, large, tiny and negative numbers."""
    values = np.random.default_rng(7).standard_normal((len(WORDS), 7)).astype(np.float32)
    values[1] *= 1e30
    values[2] *= 1e-30
    values[3] = 0
    return values


def main():
    """Write each format as gensim writes it, with the values that it reads back."""
    written = KeyedVectors(7)
    written.add_vectors(WORDS, vectors())
    cases = []
    for name, is_binary, has_header in [
        ("binary", True, True),
        ("text", False, True),
        ("glove", False, False),
    ]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            written.save_word2vec_format(path, binary=is_binary, write_header=has_header)
            loaded = KeyedVectors.load_word2vec_format(path, binary=is_binary, no_header=not has_header)
            cases.append(
                {
                    "format": name,
                    "file": base64.b64encode(path.read_bytes()).decode(),
                    "vectors": {word: [float(number) for number in loaded[word]] for word in WORDS},
                }
            )
    write("word_vectors.json", {"origin": origin("gensim", Path(__file__).name), "cases": cases})


if __name__ == "__main__":
    main()
