"""Vectors: those of transformers, whatever is encoded beside, and each computed once."""

import json
import pickle
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from transformers import AutoModel, AutoTokenizer

from dialoscope.core.errors import BackendError, MissingExtra
from dialoscope.core.signature import signature
from dialoscope.models.cache import cache_status
from dialoscope.models.encoder import TransformerEncoder
from dialoscope.models.engines import encoder as encoder_engine
from dialoscope.models.engines.reader import TokenRow
from dialoscope.models.protocols import Encoder, Pair
from dialoscope.models.registry import locate
from tests.unit.models.tiny import SENTENCES
from tests.unit.models.tiny_encoders import ARCHITECTURES, LIMIT, PLAIN, save_encoder

pytestmark = pytest.mark.usefixtures("one_thread", "no_scores")

LONG = " ".join(SENTENCES * 3)
TEXTS = [
    *SENTENCES,
    "",
    "a",
    SENTENCES[2],
    LONG,
    Pair(SENTENCES[0], SENTENCES[1]),
    Pair("", SENTENCES[1]),
    Pair(SENTENCES[1], ""),
    Pair("", ""),
    Pair(SENTENCES[3], "yes"),
]
SHORT = [text for text in TEXTS if text != LONG]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """The folder of a small encoder by its architecture, which is made when it is first asked for."""
    made = {}

    def folder(name):
        if name not in made:
            made[name] = save_encoder(name, tmp_path_factory.mktemp("encoders") / name)
        return made[name]

    return folder


@pytest.fixture(scope="session")
def minilm():
    """Real weights, from the usual cache, where they are fetched once."""
    return locate("minilm")


@pytest.fixture
def copied(tiny, tmp_path):
    """A model that a test may damage."""

    def copy(name):
        return shutil.copytree(tiny(name), tmp_path / name)

    return copy


def encoder(folder, **settings):
    return TransformerEncoder(str(folder), device="cpu", **settings)


def by_transformers(folder, texts, layer=-1, **how):
    """Token vectors by one forward pass of transformers for each text."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    found = []
    for text in texts:
        told = tokenizer([text if isinstance(text, str) else tuple(text)], return_tensors="pt", **how)
        if "distilbert" in model.config.model_type:
            del told["token_type_ids"]
        with torch.no_grad():
            states = model(**told, output_hidden_states=True).hidden_states
        found.append((told["input_ids"][0].numpy(), states[layer][0].numpy()))
    return found


def assert_equal(found, wanted, tolerance=1e-5):
    assert len(found) == len(wanted)
    for (ids, vectors), (their_ids, their_vectors) in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(ids, their_ids)
        largest = np.abs(their_vectors).max(initial=1)
        np.testing.assert_allclose(vectors, their_vectors, rtol=0, atol=tolerance * largest)


# The numbers


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_token_vectors_are_those_of_transformers(tiny, name, capfd):
    folder = tiny(name)
    wanted = by_transformers(folder, TEXTS, truncation=True)
    capfd.readouterr()
    found = encoder(folder).encode_tokens(TEXTS)
    assert_equal(found, wanted)
    assert all(tokens.vectors.dtype == np.float32 for tokens in found)
    assert min(np.std(vectors) for _, vectors in wanted) > 0.1, "a model that tells tokens apart"
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("layer", [0, 1, 2, -2, -4])
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_any_layer_can_be_asked_for(tiny, name, layer):
    wanted = by_transformers(tiny(name), SHORT, layer)
    assert_equal(encoder(tiny(name), layer=layer).encode_tokens(SHORT), wanted)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_layers_above_are_not_computed(tiny, name):
    body = encoder(tiny(name), layer=2)._engine.body
    if name in PLAIN:
        assert len(body._layers) == 2
    elif name in ("albert-groups", "modernbert"):  # the one groups, the other ends otherwise with fewer
        assert (body._layer, body._model.config.num_hidden_layers) == (2, 4 if "albert" in name else 3)
    else:
        assert (body._layer, body._model.config.num_hidden_layers) == (None, 2)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_plain_models_are_read_without_padding(tiny, name):
    kind = type(encoder(tiny(name))._engine.body).__name__
    assert kind == ("Bert" if name in PLAIN else "Padded")


@pytest.mark.parametrize("name", ["bert", "xlnet"])
def test_a_text_has_the_first_the_mean_or_the_highest_of_its_tokens(tiny, name):
    tokens = [found.vectors for found in encoder(tiny(name)).encode_tokens(TEXTS)]
    for pooling, pool in (
        ("first", lambda vectors: vectors[0]),
        ("mean", lambda vectors: vectors.mean(axis=0)),
        ("max", lambda vectors: vectors.max(axis=0)),
    ):
        found = encoder(tiny(name), pooling=pooling).encode(TEXTS)
        assert (found.dtype, found.shape) == (np.float32, (len(TEXTS), 32))
        np.testing.assert_allclose(found, [pool(vectors) for vectors in tokens], rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", ["bert", "roberta", "mpnet", "xlnet"])
@pytest.mark.parametrize("budget", [1, 30, 100])
def test_the_budget_does_not_show(tiny, name, budget):
    assert_equal(
        encoder(tiny(name), budget=budget).encode_tokens(TEXTS), encoder(tiny(name)).encode_tokens(TEXTS)
    )


def test_nothing_has_a_shape(tiny):
    assert encoder(tiny("bert")).encode([]).shape == (0, 32)
    assert encoder(tiny("bert")).encode_tokens([]) == []


def test_real_vectors_are_the_same_alone_in_any_batch_and_in_any_order(minilm):
    texts = [*TEXTS, *(f"{one} {other}" for one in SENTENCES for other in SENTENCES)]
    whole = encoder(minilm).encode(texts)
    order = np.random.default_rng(0).permutation(len(texts))
    shuffled = encoder(minilm, budget=90).encode([texts[place] for place in order])
    np.testing.assert_allclose(shuffled, whole[order], rtol=0, atol=1e-5)
    alone = np.concatenate([encoder(minilm).encode([text]) for text in texts[:20]])
    np.testing.assert_allclose(alone, whole[:20], rtol=0, atol=1e-5)


def test_real_vectors_are_those_of_transformers_averaged_over_real_tokens(minilm):
    """The mean that sentence-transformers takes: padded places are out, special tokens are in."""
    texts = [text for text in TEXTS if isinstance(text, str)]
    model = AutoModel.from_pretrained(minilm).eval()
    told = AutoTokenizer.from_pretrained(minilm)(texts, padding=True, return_tensors="pt")
    with torch.no_grad():
        hidden = model(**told).last_hidden_state
    mask = told["attention_mask"][:, :, None].float()
    wanted = (hidden * mask).sum(1) / mask.sum(1)
    np.testing.assert_allclose(encoder(minilm).encode(texts), wanted, rtol=0, atol=1e-5)
    assert_equal(encoder(minilm, layer=4).encode_tokens(TEXTS), by_transformers(minilm, TEXTS, 4))


def test_near_texts_have_near_vectors():
    vectors = TransformerEncoder().encode(["I like my dog.", "My puppy is dear to me.", "Taxes rose in May."])
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.3


# What is read


def test_a_text_that_is_too_long_loses_its_end(tiny):
    found = encoder(tiny("bert"), max_tokens=10).encode_tokens([LONG])
    assert_equal(found, by_transformers(tiny("bert"), [LONG], truncation=True, max_length=10))


@pytest.mark.parametrize("name", ["bert", "roberta", "xlnet"])
def test_a_pair_that_is_too_long_loses_the_beginning_of_its_first_text(tiny, name):
    tokenizer = AutoTokenizer.from_pretrained(tiny(name), truncation_side="left")
    wanted = tokenizer(LONG, SENTENCES[1], truncation="only_first", max_length=30)
    (found,) = encoder(tiny(name), max_tokens=30).encode_tokens([Pair(LONG, SENTENCES[1])])
    assert found.ids.tolist() == wanted["input_ids"]
    (row,) = encoder(tiny(name), max_tokens=30)._engine.reader.rows([Pair(LONG, SENTENCES[1])], [0])
    assert row.kinds.tolist() == wanted.get("token_type_ids", [0] * 30)


def test_a_reply_that_is_too_long_by_itself_keeps_its_beginning(tiny):
    (found,) = encoder(tiny("bert"), max_tokens=12).encode_tokens([Pair(SENTENCES[0], LONG)])
    alone = encoder(tiny("bert")).encode_tokens([LONG])[0]
    cls, sep = alone.ids[[0, -1]]
    assert found.ids.tolist() == [cls, sep, *alone.ids[1:10], sep]


def test_the_limit_is_the_models_own_unless_a_smaller_one_is_chosen(tiny, copied):
    for name in ARCHITECTURES:
        assert encoder(tiny(name))._engine.reader.limit == LIMIT
    assert encoder(tiny("bert"), max_tokens=20)._engine.reader.limit == 20
    folder = copied("xlnet")
    (folder / "tokenizer_config.json").unlink()
    assert encoder(folder)._engine.reader.limit == 512, "neither tokenizer nor positions say how many"
    (folder / "tokenizer_config.json").write_text('{"model_max_length": 1e30}')
    assert encoder(folder)._engine.reader.limit == 512
    for wrong in (3, LIMIT + 1):
        message = f"max_tokens is {wrong}; it must be above 3 and at most {LIMIT} for bert."
        with pytest.raises(BackendError, match=re.escape(message)):
            encoder(tiny("bert"), max_tokens=wrong).encode(["a"])


def test_texts_are_hostile(minilm):
    texts = ["[SEP] [MASK] [CLS]", "\ud800", "\0", "\u202e", "x" * 5000, Pair("\udfff", "[SEP]")]
    found = encoder(minilm).encode_tokens(texts)
    special = Tokenizer.from_file(str(minilm / "tokenizer.json")).token_to_id("[SEP]")
    assert (found[0].ids == special).sum() == 1, "the name of a special token is text"
    assert (found[5].ids == special).sum() == 2
    assert all(np.isfinite(tokens.vectors).all() for tokens in found)


def test_a_text_without_a_token_has_no_vector(copied):
    folder = copied("bert")
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    tokenizer["post_processor"] = None
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    for pooling in ("first", "mean", "max"):
        found = encoder(folder, pooling=pooling).encode(["", "we like tea", ""])
        assert np.isnan(found).all(axis=1).tolist() == [True, False, True]
        assert np.isnan(encoder(folder, pooling=pooling).encode([""])).all()
    assert [tokens.vectors.shape[0] for tokens in encoder(folder).encode_tokens(["", "tea", ""])] == [0, 1, 0]


def test_many_texts_are_read_ahead(tiny, monkeypatch):
    monkeypatch.setattr("dialoscope.models.engines.rows.TEXTS_AT_ONCE", 4)
    assert_equal(
        encoder(tiny("bert")).encode_tokens(TEXTS), by_transformers(tiny("bert"), TEXTS, truncation=True)
    )


# Folders


def test_weights_may_stand_below_a_head_and_have_their_old_names(tiny, tmp_path):
    folder = save_encoder("bert", tmp_path / "whole", "ForMaskedLM")
    wanted = by_transformers(folder, TEXTS, truncation=True)
    weights = load_file(folder / "model.safetensors")
    renamed = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
            "LayerNorm.bias", "LayerNorm.beta"
        ): weight
        for name, weight in weights.items()
    }
    assert "bert.embeddings.LayerNorm.gamma" in renamed
    save_file(renamed, folder / "model.safetensors", {"format": "pt"})
    assert_equal(encoder(folder).encode_tokens(TEXTS), wanted)


def test_a_padding_token_within_a_text_has_the_position_that_roberta_gives_it(tiny):
    body = encoder(tiny("roberta"))._engine.body
    assert body._positions([TokenRow(0, np.array([0, 7, 1, 9, 2]), np.zeros(5, int))]).tolist() == [
        2,
        3,
        1,
        4,
        5,
    ]


@pytest.mark.parametrize("name", ["bert", "distilbert"])
def test_weights_that_lack_are_not_made_up(copied, name):
    folder = copied(name)
    weights = load_file(folder / "model.safetensors")
    lacking = next(weight for weight in weights if "layer.1" in weight and weight.endswith("bias"))
    del weights[lacking]
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    what = "model" if name == "bert" else "encoder"
    with pytest.raises(BackendError, match=rf"{name} is not a complete {what}: (the )?weights .*layer\.1"):
        encoder(folder).encode(["a"])


def test_a_model_that_transformers_does_not_know_is_refused(copied):
    folder = copied("distilbert")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "model_type": "foreign"}))
    with pytest.raises(BackendError, match=r"distilbert cannot be loaded as an encoder: .*foreign"):
        encoder(folder).encode(["a"])


def test_a_configuration_must_say_how_many_layers_there_are(copied):
    folder = copied("bert")
    config = json.loads((folder / "config.json").read_text())
    del config["num_hidden_layers"]
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(BackendError, match=r"config\.json does not say how many layers the model has\."):
        encoder(folder).encode(["a"])


def test_a_folder_that_changed_gives_new_numbers(copied, own_scores):
    folder = copied("bert")
    before = encoder(folder).encode(["tea"])
    weights = load_file(folder / "model.safetensors")
    save_file({name: weight * 2 for name, weight in weights.items()}, folder / "model.safetensors")
    assert np.abs(encoder(folder).encode(["tea"]) - before).max() > 0.1


# What is kept


def test_vectors_are_computed_once(tiny, own_scores, monkeypatch):
    first = encoder(tiny("bert")).encode(TEXTS)
    assert cache_status().entries == len(set(TEXTS))
    monkeypatch.setattr(encoder_engine, "in_batches", lambda *_: pytest.fail("computed again"))
    np.testing.assert_array_equal(encoder(tiny("bert")).encode(TEXTS[::-1]), first[::-1])


def test_what_can_change_a_vector_tells_what_is_kept_apart(tiny, own_scores):
    for settings in ({}, {"pooling": "max"}, {"layer": 1}, {"max_tokens": 20}):
        encoder(tiny("bert"), **settings).encode(["tea"])
    assert cache_status().entries == 4


def test_token_vectors_are_not_kept(tiny, own_scores):
    found = encoder(tiny("bert")).encode_tokens(["tea", "coffee", "tea"])
    assert found[0].vectors is found[2].vectors
    assert cache_status().entries == 0


def test_poolings_share_their_weights(tiny):
    assert encoder(tiny("bert"), pooling="max")._engine is encoder(tiny("bert"))._engine


def test_when_memory_runs_out_batches_become_smaller(tiny, monkeypatch):
    wanted = encoder(tiny("bert"), budget=4096).encode_tokens(TEXTS)
    body = encoder(tiny("bert"), budget=4096)._engine.body
    read, sizes = body.hidden, []

    def hidden(rows):
        sizes.append(sum(len(row.ids) for row in rows))
        if sizes[-1] > 150:
            raise MemoryError
        return read(rows)

    monkeypatch.setattr(body, "hidden", hidden)
    assert_equal(encoder(tiny("bert"), budget=4096).encode_tokens(TEXTS), wanted)
    assert max(sizes) > 150


# The description


def test_a_description_is_light_and_signs_itself():
    described = TransformerEncoder("minilm", layer=5, budget=100, device="cpu")
    assert signature(described) == (
        "transformer-encoder|model:minilm|revision:main|dtype:float32|max_tokens:0|pooling:mean|layer:5|v:1"
    )
    assert described == TransformerEncoder(layer=5) == pickle.loads(pickle.dumps(described))  # noqa: S301
    assert str(described) == "minilm"
    assert isinstance(described, Encoder)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": ""}, "A transformer needs a name: a folder, an asset, or a model on the hub."),
        ({"dtype": "int8"}, "dtype is 'int8'; it must be one of: float32, bfloat16, float16."),
        ({"pooling": "last"}, "pooling is 'last'; it must be one of: first, mean, max."),
        ({"max_tokens": -1}, "max_tokens is -1; it must be 0 (chosen automatically) or more."),
        ({"budget": -5}, "budget is -5; it must be 0 (chosen automatically) or more."),
    ],
)
def test_settings_that_cannot_be_are_refused_at_once(settings, message):
    with pytest.raises(BackendError, match=re.escape(message)):
        TransformerEncoder(**settings)


@pytest.mark.parametrize("layer", [4, -5])
def test_a_layer_that_is_not_there_is_refused(tiny, layer):
    message = (
        f"layer is {layer}; bert has 3 layers, so that it must be between -4 and 3 "
        "(0: the embeddings, -1: the last)."
    )
    with pytest.raises(BackendError, match=re.escape(message)):
        encoder(tiny("bert"), layer=layer).encode(["a"])


def test_without_torch_it_says_what_to_install(tiny, monkeypatch):
    monkeypatch.setitem(sys.modules, "dialoscope.models.engines.encoder", None)
    with pytest.raises(
        MissingExtra, match=r"The encoder .* Install it with: pip install 'dialoscope\[neural\]'"
    ):
        encoder(tiny("bert"), budget=77).encode(["a"])


def test_the_default_encoder_starts_without_transformers(minilm):
    program = (
        "import sys; from dialoscope.models.encoder import TransformerEncoder; "
        f"TransformerEncoder({str(minilm)!r}, device='cpu').encode(['tea']); "
        "print('transformers' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("False\n", "")


def test_a_damaged_configuration_is_an_error_for_people(copied):
    folder = copied("bert")
    (folder / "config.json").write_text("{")
    with pytest.raises(BackendError, match=r"config\.json cannot be read: "):
        encoder(folder).encode(["a"])


def test_a_damaged_tokenizer_configuration_is_an_error_for_people(copied):
    folder = copied("bert")
    (folder / "tokenizer_config.json").write_text("{")
    with pytest.raises(BackendError, match=r"tokenizer_config\.json cannot be read: "):
        encoder(folder).encode(["a"])
