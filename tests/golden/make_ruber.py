"""Write ruber.json: referenced RUBER and its blends by plain numpy, on what Dialoscope fetches.

    python tests/golden/make_ruber.py FOLDER-OF-MINILM FOLDER-OF-GLOVE-50D

Vectors of tokens are those of transformers in double precision; vectors of words are read from their files by
pyarrow and numpy. Probabilities of the unreferenced part are random, since any can come from a model.
"""

import re
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import torch
import transformers
from _shared import load_texts, origin, write

FOLDER, WORDS = map(Path, sys.argv[1:3])


def highest(rows):
    return [max(column) for column in zip(*rows, strict=True)]


def lowest(rows):
    return [min(column) for column in zip(*rows, strict=True)]


def mean(rows):
    return [sum(column) / len(rows) for column in zip(*rows, strict=True)]


POOLINGS = {"max": highest, "min": lowest, "mean": mean, "max-min": lambda rows: highest(rows) + lowest(rows)}


def main():
    """Write each embedding with each pooling, and each blend of one of them."""
    torch.set_num_threads(1)
    texts = [text for text in load_texts() if text["response"].strip()]
    plain = [text for text in texts if all(map(str.isascii, [text["response"], *text["references"]]))]
    cases = [
        {
            "settings": {"encoder": "minilm", "pooling": pooling},
            "replies": referenced(texts, tokens(), pooling),
        }
        for pooling in POOLINGS
    ]
    cases += [
        {
            "settings": {"vectors": "glove-50d", "pooling": pooling},
            "replies": referenced(plain, words(), pooling),
        }
        for pooling in POOLINGS
    ]
    source = origin("transformers", Path(__file__).name, torch=torch.__version__, numpy=np.__version__)
    write(
        "ruber.json", {"origin": {**source, "date": "2026-11-16"}, "cases": cases, "blends": blends(cases[0])}
    )


def tokens():
    """The vector of each token, special ones included, each text read alone."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(FOLDER)
    model = transformers.AutoModel.from_pretrained(FOLDER).double().eval()

    def vectors(text):
        with torch.no_grad():
            return model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].tolist()

    return vectors


def words():
    """The vector of each word that has one."""
    names = pq.read_table(WORDS / "glove_6B_index.parquet")["index"].to_pylist()
    rows = np.load(WORDS / "glove_6B_50d_emb.npy", mmap_mode="r")
    row_of = {name: row for row, name in enumerate(names)}
    return lambda text: [
        rows[row_of[word]].astype(float).tolist()
        for word in re.findall("[a-z0-9]+", text.lower())
        if word in row_of
    ]


def referenced(texts, vectors, pooling):
    """The cosine with the best reference, for each reply."""
    return {text["id"]: best(text, vectors, POOLINGS[pooling]) for text in texts}


def best(text, vectors, pool):
    references = filter(str.strip, text["references"])
    cosines = [cosine(vectors(text["response"]), vectors(reference), pool) for reference in references]
    return max((value for value in cosines if value is not None), default=None)


def cosine(reply, reference, pool):
    if not (reply and reference):
        return None
    first, second = np.array(pool(reply)), np.array(pool(reference))
    return float(first @ second / np.sqrt((first @ first) * (second @ second)))


def blends(case):
    """Return the blends of both parts, each scaled to 0 to 1 over all replies."""
    cosines = {name: value for name, value in case["replies"].items() if value is not None}
    values = np.random.default_rng(3).beta(0.5, 0.5, len(cosines)).tolist()
    probabilities = dict(zip(cosines, values, strict=True))
    pairs = {name: (scaled(probabilities)[name], scaled(cosines)[name]) for name in cosines}
    return {
        "probabilities": probabilities,
        "min": {name: min(pair) for name, pair in pairs.items()},
        "max": {name: max(pair) for name, pair in pairs.items()},
        "arithmetic": {name: sum(pair) / 2 for name, pair in pairs.items()},
        "geometric": {name: (pair[0] * pair[1]) ** 0.5 for name, pair in pairs.items()},
    }


def scaled(values):
    low, high = min(values.values()), max(values.values())
    return {name: (value - low) / (high - low) for name, value in values.items()}


if __name__ == "__main__":
    main()
