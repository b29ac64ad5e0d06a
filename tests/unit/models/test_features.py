"""Texts as vectors of their words: the same alone and among others, and each read once."""

import numpy as np
import pytest

from dialoscope.models.encoder import TransformerEncoder
from dialoscope.models.fakes import FakeEncoder, FakeWordVectors
from dialoscope.models.features import Features, resolve_embedding
from dialoscope.models.vectors import StaticVectors
from tests.unit.models.tiny import SENTENCES
from tests.unit.models.tiny_encoders import save_encoder

TEXTS = [*SENTENCES, "", " ", SENTENCES[0], "a b c"]


class Counting(FakeEncoder):
    """Says how many texts it was asked to read."""

    asked: list[str]

    def encode_tokens(self, texts):
        self.asked.extend(texts)
        return super().encode_tokens(texts)


@pytest.fixture
def counting(own_scores):
    Counting.asked = []
    return Counting()


def test_pooled_rows_are_the_highest_and_mean_values_of_a_texts_vectors(own_scores):
    features = Features(FakeEncoder())
    highest, mean = features.pool(TEXTS, "max"), features.pool(TEXTS, "mean")
    for place, text in enumerate(TEXTS):
        vectors = FakeEncoder().encode_tokens([text])[0].vectors
        if text.strip():
            assert np.array_equal(highest[place], vectors.max(axis=0))
            assert np.array_equal(mean[place], vectors.mean(axis=0))
        else:
            assert np.isnan(highest[place]).all()
            assert np.isnan(mean[place]).all()


def test_each_text_is_read_once_for_both_ways_of_pooling(counting):
    Features(counting).pool(TEXTS, "max")
    Features(counting).pool(TEXTS[::-1], "mean")
    assert sorted(counting.asked) == sorted(set(TEXTS))


def test_words_one_by_one_are_kept_in_half_precision(counting):
    found = Features(counting).half_precision_rows(TEXTS)
    again = Features(counting).half_precision_rows(TEXTS[::-1])[::-1]
    assert sorted(counting.asked) == sorted(set(TEXTS))
    for text, rows, other in zip(TEXTS, found, again, strict=True):
        assert rows.dtype == np.float16
        assert rows.shape == (len(text.split()), 26)
        assert np.array_equal(rows, other)


def test_words_without_a_vector_are_left_out(own_scores):
    features = Features(FakeWordVectors())
    texts = ["Tea, please", "12", "tea 12 please", ""]
    one, number, other, nothing = features.pool(texts, "mean")
    assert np.array_equal(one, other)
    assert np.isnan(number).all()
    assert np.isnan(nothing).all()
    assert [len(rows) for rows in features.half_precision_rows(texts)] == [2, 0, 2, 0]
    assert not own_scores.exists()


def test_more_texts_than_are_read_together_give_the_same(own_scores):
    texts = [f"{sentence} {number}" for number in range(100) for sentence in SENTENCES]
    features = Features(FakeEncoder())
    rows = dict(features.rows(texts))
    assert sorted(rows) == list(range(len(texts)))
    for place in (0, 17, len(texts) - 1):
        assert np.array_equal(rows[place], FakeEncoder().encode_tokens([texts[place]])[0].vectors)


def test_an_encoders_vectors_are_those_of_all_of_its_tokens(tmp_path, no_scores, one_thread):
    encoder = TransformerEncoder(str(save_encoder("bert", tmp_path / "bert")), device="cpu")
    found = Features(encoder)
    expected = {how: TransformerEncoder(encoder.model, pooling=how, device="cpu") for how in ("max", "mean")}
    for how, other in expected.items():
        assert np.allclose(found.pool(SENTENCES, how), other.encode(SENTENCES), atol=1e-6)
    assert np.isnan(found.pool(["", SENTENCES[0]], "max")).all(axis=1).tolist() == [True, False]


def test_a_name_says_whose_vectors_are_meant(tmp_path):
    model, adapter, words = tmp_path / "model", tmp_path / "adapter", tmp_path / "words"
    for folder, file in ((model, "config.json"), (adapter, "adapter_config.json"), (words, "vectors.txt")):
        folder.mkdir()
        (folder / file).write_text("{}")
    assert resolve_embedding("fake") == FakeEncoder()
    for name in ("glove-50d", str(words), str(words / "vectors.txt")):
        assert resolve_embedding(name) == StaticVectors(name)
    for name in ("minilm", str(model), str(adapter), "bert-base-uncased", "x" * 5000, "~nobody/x", "a\0b"):
        found = resolve_embedding(name, "cpu")
        assert found == TransformerEncoder(name)
        assert found.device == "cpu"
