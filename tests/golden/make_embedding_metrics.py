"""Write embedding_metrics.json: Average, Extrema and Greedy by nlg-eval's code and by that of FBD's authors.

python tests/golden/make_embedding_metrics.py EVALUATE BASELINE VECTORS

EVALUATE is nlg-eval's nlgeval/word2vec/evaluate.py, BASELINE the baseline.py that eval_metric.py of
yhlleo/frechet-bert-distance imports, VECTORS the folder of the asset glove-50d.
Wants its own environment: `pip install gensim==4.4.0 nltk==3.10.4 scikit-learn==1.7.2 tqdm pyarrow`, and
NLTK's punkt_tab where NLTK_DATA says (llama-index-core 0.14.10 carries it in its wheel).
"""

import os
import sys
import tempfile
import types
from collections import Counter
from contextlib import chdir
from functools import partial
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

import nltk.tokenize
import numpy as np
import pyarrow.parquet
from _shared import load_texts, origin, write

LIBRARIES = ("numpy", "nltk", "gensim", "tqdm")
NOTES = [
    "nlg-eval prints six digits; when its file is loaded, its format is changed to all of them, and nothing "
    "else. Its Embedding is given the vectors as gensim 3 held them.",
    "nlg-eval cuts words with NLTK's word_tokenize, which splits sentences first. The cases 'treebank' are "
    "made with preserve_line=True, which does not. same_words names the replies whose words are the same "
    "either way, in the reply and all its references.",
    "null: the code stops (an empty text; with fbd's average and extrema also one without a known word).",
    "The system scores of nlg-eval are over the replies with two references that have a number, since its "
    "code wants as many references for each reply. Those of fbd are over the replies that have a number.",
    "tiny: small whole numbers for few words, with many zeros and ties; the last dimension is positive.",
]
NLG_EVAL = {
    "average": "EmbeddingAverageCosineSimilairty",
    "extrema": "VectorExtremaCosineSimilarity",
    "greedy": "GreedyMatchingScore",
}
FBD = {
    "average": ("sent_embd_score", "cal_embd_average"),
    "extrema": ("vec_sent_score", "cal_vec_extr"),
    "greedy": ("greedy_sent_score", "cal_greedy_match"),
}
UNIT_TEST = {
    "references": ["this is a test", "this is also a test"],
    "response": "this is a good test",
    "published": {"vectors": "GloVe 6B 300d", "average": 0.980075, "extrema": 0.94509, "greedy": 0.960771},
}


def load(path, **changes):
    """Return a foreign file as a module; its unneeded imports are replaced by stubs."""
    for name in ("rouge", "tokenizeChinese"):
        sys.modules[name] = types.SimpleNamespace(tokenizeSentence=None)
    module = types.ModuleType(path.stem)
    source = path.read_text(encoding="utf-8")
    for old, new in changes.items():
        source = source.replace(old, new)
    exec(compile(source, str(path), "exec"), module.__dict__)  # noqa: S102 - named by the caller
    return module


def glove(folder):
    """Return words and vectors of the asset."""
    words = pyarrow.parquet.read_table(next(folder.glob("*.parquet"))).columns
    texts = next(column for column in words if str(column.type).endswith("string"))
    return texts.to_pylist(), np.load(next(folder.glob("*.npy")))


def tiny():
    """Return a few common words with random vectors, written in tests as a file of their own."""
    texts = [text for entry in load_texts() for text in (entry["response"], *entry["references"])]
    counts = Counter(word for text in texts for word in text.split())
    words = [word for word, _ in counts.most_common(60)]
    values = np.random.default_rng(5).integers(-2, 3, (len(words), 6)).astype(np.float32)
    values[:, -1] = np.abs(values[:, -1]) + 1
    return words, values


def as_file(words, vectors):
    """Return a file in GloVe's format, with the shortest form of each number."""
    rows = zip(words, vectors, strict=True)
    return "".join(f"{word} {' '.join(map(str, row))}\n" for word, row in rows)


def embedding(module, words, vectors):
    """Return nlg-eval's own embedding, with the content of its file."""
    engine = module.Embedding.__new__(module.Embedding)
    vocabulary = {word: types.SimpleNamespace(index=row) for row, word in enumerate(words)}
    engine.m = types.SimpleNamespace(vectors=vectors, vocab=vocabulary)
    engine.unk = vectors.mean(axis=0)
    return engine


def by_nlg_eval(module, responses, sources, engine):
    """Return the three numbers, None where the code stops."""
    try:
        with np.errstate(invalid="ignore"):
            lines = module.eval_emb_metrics(responses, sources, emb=engine).splitlines()
    except (AssertionError, ValueError):
        return dict.fromkeys(NLG_EVAL)
    values = {name: float(value) for name, value in (line.split(":") for line in lines)}
    return {metric: values[name] for metric, name in NLG_EVAL.items()}


def nlg_eval_cases(module, tokenizer, name, engine):
    """One case for each metric."""
    texts = load_texts()
    replies = {
        entry["id"]: by_nlg_eval(
            module, [entry["response"]], [[text] for text in entry["references"]], engine
        )
        for entry in texts
    }
    two = [
        entry
        for entry in texts
        if len(entry["references"]) == 2 and replies[entry["id"]]["average"] is not None
    ]
    sources = [[entry["references"][index] for entry in two] for index in (0, 1)]
    system = by_nlg_eval(module, [entry["response"] for entry in two], sources, engine)
    for metric in NLG_EVAL:
        yield {
            "settings": {"metric": metric, "variant": "nlg-eval", "tokenizer": tokenizer, "vectors": name},
            "system": system[metric],
            "corpus": [entry["id"] for entry in two],
            "replies": {reply: numbers[metric] for reply, numbers in replies.items()},
        }


def fbd_cases(module, name, words, vectors):
    """One case for each metric; its code reads a file of a fixed name."""
    texts = load_texts()
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        Path("glove.840B.300d.txt").write_text(as_file(words, vectors), encoding="utf-8")
        lines = module.process_wordembe("./glove.840B.300d.txt")
        for metric, (of_reply, of_systems) in FBD.items():
            replies = {entry["id"]: by_fbd(getattr(module, of_reply), entry, lines) for entry in texts}
            defined = [entry for entry in texts if replies[entry["id"]] is not None]
            references, responses = (
                [entry["references"] for entry in defined],
                [entry["response"] for entry in defined],
            )
            yield {
                "settings": {"metric": metric, "variant": "fbd", "tokenizer": "split", "vectors": name},
                "system": float(getattr(module, of_systems)(references, [responses])[0]),
                "corpus": [entry["id"] for entry in defined],
                "replies": replies,
            }


def by_fbd(score, entry, lines):
    """Return a number, None where the code stops."""
    try:
        return float(score(entry["references"][0], entry["response"], lines))
    except (IndexError, ValueError, ZeroDivisionError):
        return None


def same_words():
    """Return the replies for which splitting sentences first changes nothing."""
    split = nltk.tokenize.word_tokenize
    return [
        entry["id"]
        for entry in load_texts()
        if all(
            split(text) == split(text, preserve_line=True)
            for text in (entry["response"], *entry["references"])
        )
    ]


def cases(nlg_eval, baseline, sets):
    """Yield the cases of both programs with both sets of vectors."""
    for name, (words, vectors) in sets.items():
        engine = embedding(nlg_eval, words, vectors)
        original = nltk.tokenize.word_tokenize
        yield from nlg_eval_cases(nlg_eval, "word_tokenize", name, engine)
        nltk.tokenize.word_tokenize = partial(original, preserve_line=True)
        yield from nlg_eval_cases(nlg_eval, "treebank", name, engine)
        nltk.tokenize.word_tokenize = original
        yield from fbd_cases(baseline, name, words, vectors)


def main(evaluate, baseline, folder):
    """Run both and write."""
    sets = {"glove-50d": glove(folder), "tiny": tiny()}
    nlg_eval = load(evaluate, **{"%0.6f": "%.17g"})
    engine = embedding(nlg_eval, *sets["glove-50d"])
    sources = [[text] for text in UNIT_TEST["references"]]
    write(
        "embedding_metrics.json",
        {
            "origin": origin(
                "scikit-learn",
                Path(__file__).name,
                libraries={name: version(name) for name in LIBRARIES},
                nlg_eval="Maluuba/nlg-eval, nlgeval/word2vec/evaluate.py, commit "
                "12829a2682861d130cfbbeb5d49286538e681e40",
                nlg_eval_sha256=sha256(evaluate.read_bytes()).hexdigest(),
                fbd="yhlleo/frechet-bert-distance, baseline.py, as imported by eval_metric.py of commit "
                "a8e41ea000238991f0719a26cac6d73064e1b318",
                fbd_sha256=sha256(baseline.read_bytes()).hexdigest(),
            ),
            "notes": NOTES,
            "tiny": as_file(*sets["tiny"]),
            "same_words": same_words(),
            "unit_test": UNIT_TEST
            | {"glove-50d": by_nlg_eval(nlg_eval, [UNIT_TEST["response"]], sources, engine)},
            "cases": list(cases(nlg_eval, load(baseline), sets)),
        },
    )


if __name__ == "__main__":
    os.environ["TQDM_DISABLE"] = "1"
    main(*map(Path, sys.argv[1:4]))
