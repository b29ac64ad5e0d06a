"""The laws that hold for every backend: the fakes, and real ones that are small."""

import math
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import FrozenInstanceError, fields
from pathlib import Path
from string import ascii_lowercase
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dialoscope.core.errors import AssetError
from dialoscope.core.records import Example
from dialoscope.core.signature import signature
from dialoscope.models import fakes as fake
from dialoscope.models import protocols as base
from dialoscope.models import registry as assets
from dialoscope.models.http_language_model import HttpLanguageModel
from dialoscope.models.named_models import implements
from dialoscope.models.protocols import Continuation, Generation, Pair
from dialoscope.models.tagger import SpacyTagger
from dialoscope.models.vectors import StaticVectors
from dialoscope.models.wordnet import WordNet
from tests.arithmetic import relative_error
from tests.unit.models import openai_server

TEXTS = [
    "hello there, how are you today?",
    "i am fine",
    "Yesterday we walked to the sea with Mary .",
    "tea",
    "tea",
    "do not do that",
    "\U0001f600 naïve 你好",
    "a\x00b \ud800",
    "",
    "   ",
    "what " * 40,
    "Tea or coffee",
]
LENGTH = 2 * max(map(len, TEXTS)) + 3
"""Tokens: more than any two of the texts have, as most have a character at least."""


def asset(name: str) -> str:
    """The name of an asset that is here; where it is not to be had, what needs it is skipped."""
    try:
        assets.locate(name)
    except AssetError as lacking:
        pytest.skip(str(lacking))
    return name


@pytest.fixture(scope="module")
def server():
    command = [sys.executable, openai_server.__file__]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        process.kill()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module", autouse=True)
def own_scores():
    """What was computed is asked for anew, so that laws are not met by remembering."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DIALOSCOPE_SCORES", "off")
        yield


def hand_made_vectors(folder) -> StaticVectors:
    (folder / "words.txt").write_text("tea 1 2 3\ncoffee 1 2 2.5\nthe -1 0 1\n", encoding="utf-8")
    return StaticVectors(str(folder / "words.txt"))


def tiny_language_model(folder) -> Any:
    pytest.importorskip("transformers")
    from dialoscope.models.language_model import TransformerLanguageModel
    from tests.unit.models.tiny import save_model

    return TransformerLanguageModel(str(save_model("llama", folder / "llama")), device="cpu")


def tiny_encoder(folder) -> Any:
    transformers = pytest.importorskip("transformers")
    from dialoscope.models.encoder import TransformerEncoder

    return TransformerEncoder(str(save_bert(folder / "encoder", transformers.BertModel)), device="cpu")


def tiny_classifier(folder) -> Any:
    transformers = pytest.importorskip("transformers")
    from dialoscope.models.classifier import TransformerClassifier

    place = save_bert(folder / "classifier", transformers.BertForSequenceClassification)
    return TransformerClassifier(str(place), device="cpu")


def save_bert(folder, kind):
    """A small random model with the tokenizer of the others."""
    import torch
    from transformers import BertConfig

    from tests.unit.models.tiny import save_quietly, save_tokenizer, vocabulary_size

    save_tokenizer(folder)
    size = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
    names = {0: "ENTAILMENT", 1: "NEUTRAL", 2: "CONTRADICTION"}
    config = BertConfig(vocab_size=vocabulary_size(folder), **size, id2label=names, pad_token_id=1)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        save_quietly(kind(config), folder)
    return folder


class Case(NamedTuple):
    """A backend, and where it comes from."""

    kind: type
    make: Callable[[Any, str], Any]


CASES = {
    "fake-lm": Case(base.LanguageModel, lambda folder, server: fake.FakeLanguageModel()),
    "http-lm": Case(base.LanguageModel, lambda folder, server: HttpLanguageModel(server, "tiny")),
    "http-chat": Case(base.LanguageModel, lambda folder, server: HttpLanguageModel(server, "tiny", "chat")),
    "transformer-lm": Case(base.LanguageModel, lambda folder, server: tiny_language_model(folder)),
    "fake-encoder": Case(base.Encoder, lambda folder, server: fake.FakeEncoder()),
    "transformer-encoder": Case(base.Encoder, lambda folder, server: tiny_encoder(folder)),
    "fake-classifier": Case(base.Classifier, lambda folder, server: fake.FakeClassifier()),
    "transformer-classifier": Case(base.Classifier, lambda folder, server: tiny_classifier(folder)),
    "fake-regressor": Case(base.Regressor, lambda folder, server: fake.FakeRegressor()),
    "fake-vectors": Case(base.WordVectors, lambda folder, server: fake.FakeWordVectors()),
    "static-vectors": Case(base.WordVectors, lambda folder, server: hand_made_vectors(folder)),
    "glove": Case(base.WordVectors, lambda folder, server: StaticVectors(asset("glove-50d"))),
    "fake-tagger": Case(base.Tagger, lambda folder, server: fake.FakeTagger()),
    "spacy-tagger": Case(base.Tagger, lambda folder, server: SpacyTagger(asset("spacy-tagger"))),
    "fake-lexicon": Case(base.Lexicon, lambda folder, server: fake.FakeLexicon()),
    "wordnet": Case(base.Lexicon, lambda folder, server: WordNet(asset("wordnet"))),
}


@pytest.fixture(scope="module")
def made(folder, server):
    """Each backend, made once."""
    found: dict[str, Any] = {}

    def make(name):
        if name not in found:
            found[name] = CASES[name].make(folder, server)
        return found[name]

    return make


def named(*kinds, without=""):
    names = [name for name, case in CASES.items() if name != without and (not kinds or case.kind in kinds)]
    return pytest.mark.parametrize("name", names)


def pairs(texts):
    return [Pair(text, TEXTS[len(text) % 3]) for text in texts]


def rated(texts):
    return [Example(text, "s", text, (TEXTS[len(text) % 3],), (TEXTS[0], text)) for text in texts]


def of_language_model(backend, texts):
    sampled = backend.generate(texts, Generation(max_tokens=4, samples=2, sample=True, seed=3))
    likeliest = backend.generate(texts, Generation(max_tokens=4))
    if getattr(backend, "api", "") == "chat":
        return zip(sampled, likeliest, strict=True)
    after = [Continuation(TEXTS[len(text) % 3], text) for text in texts]
    return zip(sampled, likeliest, backend.log_probabilities(after), strict=True)


def of_encoder(backend, texts):
    count = len(texts)
    both = [*texts, *pairs(texts)]
    vectors, tokens = backend.encode(both), backend.encode_tokens(both)
    ids, of_tokens = [one.ids for one in tokens], [one.vectors for one in tokens]
    columns = (
        vectors[:count],
        vectors[count:],
        ids[:count],
        ids[count:],
        of_tokens[:count],
        of_tokens[count:],
    )
    return zip(*columns, strict=True)


def of_lexicon(backend, texts):
    words = [text.split()[-1] if text.split() else text for text in texts]
    return [
        (backend.synsets(word), backend.synsets(word, "n"), backend.base_forms(word, "v")) for word in words
    ]


ANSWERS = {
    base.LanguageModel: of_language_model,
    base.Encoder: of_encoder,
    base.Classifier: lambda backend, texts: zip(backend.classify(pairs(texts)), strict=True),
    base.Regressor: lambda backend, texts: zip(backend.rate(rated(texts)), strict=True),
    base.WordVectors: lambda backend, texts: zip(backend.vectors(texts), strict=True),
    base.Tagger: lambda backend, texts: zip(backend.tag(texts), strict=True),
    base.Lexicon: of_lexicon,
}


def answers(name, backend, texts):
    """All that a backend says about each text."""
    return list(ANSWERS[CASES[name].kind](backend, list(texts)))


def assert_alike(backend, one, other):
    """What a model gives may be off on either side; everything else is the same."""
    folder = Path(getattr(backend, "model", ""))
    error = math.sqrt(2) * relative_error(folder, LENGTH) if (folder / "config.json").is_file() else 0
    assert len(one) == len(other)
    for mine, yours in zip(one, other, strict=True):
        for here, there in zip(mine, yours, strict=True):
            if isinstance(here, np.ndarray):
                assert here.dtype == there.dtype
                scale = max(1.0, np.abs(there).max(initial=0, where=~np.isnan(there)))
                np.testing.assert_allclose(here, there, rtol=0, atol=error * scale)
            else:
                assert here == there


@named()
def test_it_has_all_that_its_kind_asks_for(made, name):
    assert implements(made(name), CASES[name].kind)


@named()
def test_batches_do_not_show(made, name):
    alone = [answers(name, made(name), [text])[0] for text in TEXTS]
    assert_alike(made(name), answers(name, made(name), TEXTS), alone)
    assert_alike(
        made(name), [*answers(name, made(name), TEXTS[:5]), *answers(name, made(name), TEXTS[5:])], alone
    )


@named()
@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(order=st.lists(st.integers(0, len(TEXTS) - 1), max_size=2 * len(TEXTS)))
def test_order_and_duplicates_do_not_show(made, name, order):
    together = answers(name, made(name), TEXTS)
    found = answers(name, made(name), [TEXTS[place] for place in order])
    assert_alike(made(name), found, [together[place] for place in order])


@named()
def test_nothing_in_nothing_out(made, name):
    assert answers(name, made(name), []) == []


@named()
def test_a_copy_is_as_good(made, name):
    copy = pickle.loads(pickle.dumps(made(name)))  # noqa: S301 - our own
    assert copy == made(name)
    assert hash(copy) == hash(made(name))
    assert copy.fingerprint == made(name).fingerprint
    assert_alike(copy, answers(name, copy, TEXTS[:4]), answers(name, made(name), TEXTS[:4]))


@named()
def test_its_signature_holds_every_setting_that_can_change_a_number(made, name):
    description = made(name)
    signed = signature(description)
    assert signed.startswith(f"{description.name}")
    assert signed.endswith(f"|v:{description.version}")
    for field in fields(description):
        assert (f"|{field.name}:" in signed) == field.compare


@named()
def test_nothing_of_it_can_be_changed(made, name):
    for field in fields(made(name)):
        with pytest.raises(FrozenInstanceError):
            setattr(made(name), field.name, None)


@named()
def test_its_fingerprint_is_short_plain_text_and_stays(made, name):
    fingerprint = made(name).fingerprint
    assert fingerprint.isascii()
    assert fingerprint.isprintable()
    assert 0 < len(fingerprint) <= 128
    assert made(name).fingerprint == fingerprint


def test_describing_backends_loads_nothing():
    program = """
import sys
from dialoscope.models import bilinear, classifier, encoder, fakes, http_language_model
from dialoscope.models import language_model, tagger, vectors, wordnet
here = "/no/such/folder"
made = [
    language_model.TransformerLanguageModel(here), encoder.TransformerEncoder(here), wordnet.WordNet(here),
    classifier.TransformerClassifier(here),
    http_language_model.HttpLanguageModel("http://localhost:9/v1", "any"),
    vectors.StaticVectors(here), tagger.SpacyTagger(here), fakes.FakeLanguageModel(), fakes.FakeEncoder(),
    fakes.FakeClassifier(), fakes.FakeWordVectors(), fakes.FakeTagger(), fakes.FakeLexicon(),
    bilinear.BilinearRegressor(here), fakes.FakeRegressor(),
]
[hash(one) for one in made]
heavy = {"torch", "transformers", "tokenizers", "safetensors", "spacy", "nltk", "pyarrow", "scipy"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", program], check=True)


@named(base.LanguageModel, without="http-chat")  # a chat has no log-probabilities
def test_log_probabilities_are_numbers_below_zero_and_no_text_has_none(made, name):
    found = made(name).log_probabilities(
        [Continuation("Hello", text) for text in (" there", "", " you and me")]
    )
    assert all(values.dtype == float and values.ndim == 1 for values in found)
    assert all((values < 0).all() for values in found)
    assert [bool(len(values)) for values in found] == [True, False, True]


@named(base.LanguageModel, without="http-chat")  # a chat has no log-probabilities
def test_a_prefix_counts(made, name):
    one, other = made(name).log_probabilities(
        [Continuation("tea or", " tea"), Continuation("milk a", " tea")]
    )
    assert one.sum() != other.sum()


@named(base.LanguageModel)
@pytest.mark.parametrize("samples", [1, 3])
def test_as_many_texts_are_written_as_asked_for_and_a_seed_repeats_them(made, name, samples):
    how = Generation(max_tokens=5, samples=samples, sample=True, seed=5, stop=("e",))
    first, second = (made(name).generate(["hello there", "and you"], how) for _ in range(2))
    assert first == second
    assert [len(texts) for texts in first] == [samples, samples]
    assert not any("e" in text for texts in first for text in texts)


@named(base.Encoder)
def test_vectors_have_one_length_and_single_precision(made, name):
    vectors = made(name).encode(["tea", "tea and milk", Pair("tea", "milk")])
    assert vectors.dtype == np.float32
    tokens = made(name).encode_tokens(["tea", "tea and milk", Pair("tea", "milk")])
    assert {one.vectors.shape[1] for one in tokens} == {vectors.shape[1]}
    assert all(one.vectors.dtype == np.float32 and len(one.ids) == len(one.vectors) for one in tokens)
    assert made(name).encode([]).shape == (0, vectors.shape[1])


@named(base.Classifier)
def test_probabilities_add_up_to_one(made, name):
    labels = made(name).labels
    found = made(name).classify(pairs(TEXTS))
    assert found.shape == (len(TEXTS), len(labels))
    assert made(name).classify([]).shape == (0, len(labels))
    assert labels == tuple(label.lower() for label in labels)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-6)


@named(base.WordVectors)
def test_a_word_has_a_whole_vector_or_none(made, name):
    found = made(name).vectors(["tea", "\x00", "coffee", ""])
    assert found.shape == (4, made(name).dims)
    assert found.dtype == np.float32
    assert np.isnan(found).all(axis=1).tolist() == [False, True, False, True]
    assert not np.isnan(found[[0, 2]]).any()


@named(base.WordVectors)
def test_the_mean_of_all_vectors_is_a_vector_like_them(made, name):
    mean = made(name).mean
    assert mean.shape == (made(name).dims,)
    assert mean.dtype == np.float32
    assert np.isfinite(mean).all()
    np.testing.assert_array_equal(made(name).mean, mean)


def test_the_mean_of_all_vectors_is_what_it_says(made):
    np.testing.assert_allclose(made("static-vectors").mean, np.array([1, 4, 6.5]) / 3, rtol=1e-6)
    letters = made("fake-vectors").vectors(list(ascii_lowercase))
    np.testing.assert_allclose(made("fake-vectors").mean, letters.mean(axis=0), rtol=1e-6)


@named(base.Tagger)
def test_words_stand_where_they_say(made, name):
    for text, words in zip(TEXTS, made(name).tag(TEXTS), strict=True):
        assert all(text[word.start :].startswith(word.text) and word.text for word in words)
        assert [word.start for word in words] == sorted({word.start for word in words})


@named(base.Lexicon)
def test_a_word_is_among_those_of_its_meanings(made, name):
    lexicon = made(name)
    for word, part in [("car", "n"), ("cars", "n"), ("buy", "v"), ("happy", "a")]:
        assert word.removesuffix("s") in lexicon.base_forms(word, part)
        for synset in lexicon.synsets(word, part):
            members = {member.lower() for member in lexicon.members(synset)}
            assert members & set(lexicon.base_forms(word, part))
    assert lexicon.synsets("car", "n") == lexicon.synsets("Cars", "n")
    assert set(lexicon.synsets("car", "n")) <= set(lexicon.synsets("car"))
    assert lexicon.synsets("qwertzuiop") == ()
