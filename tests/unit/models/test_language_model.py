"""Log-probabilities: those of transformers, whatever is scored beside, and each computed once."""

import dataclasses
import json
import math
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer
from transformers import (
    AutoModelForCausalLM,
    BertConfig,
    BertLMHeadModel,
    GPT2Model,
    GPTNeoXForCausalLM,
    LlamaModel,
)

from dialoscope.core.errors import BackendError, MissingExtra
from dialoscope.core.signature import signature
from dialoscope.models.cache import cache_status
from dialoscope.models.engines import (
    attention,
    causal,
    import_engine,
)
from dialoscope.models.engines import (
    language_model as lm_engine,
)
from dialoscope.models.engines.device import choose_device, halving
from dialoscope.models.engines.packing import cut
from dialoscope.models.language_model import TransformerLanguageModel
from dialoscope.models.protocols import Continuation, Generation, LanguageModel
from tests.arithmetic import log_probability_error
from tests.unit.models.tiny import BEGIN, END, MODELS, SENTENCES, save_quietly, stir, vocabulary_size

pytestmark = pytest.mark.usefixtures("one_thread", "no_scores")

GREEDY = Generation(max_tokens=8)
DIALOGUE = [" ".join(SENTENCES[:turns]) for turns in range(4)]
PAIRS = [
    *(Continuation("", sentence) for sentence in SENTENCES[:3]),
    *(Continuation(context, f" {reply}") for context in DIALOGUE for reply in SENTENCES[2:5]),
    Continuation(DIALOGUE[2], ""),
    Continuation("", ""),
    Continuation("", "x"),
    Continuation(DIALOGUE[3], " y"),
    Continuation("", " ".join(SENTENCES * 2)),  # longer than the window
    Continuation(" ".join(SENTENCES * 3), f" {SENTENCES[0]}"),
    Continuation("how are yo", "u?"),  # tokens that end elsewhere than words do
]
PLAIN = {"mistral-sliding", "gemma2", "gemma2-wide", "gemma3", "bloom", "falcon-alibi", "gpt-neo", "mamba"}
LLAMAS = {"llama", "llama-tied"}


def model(folder, **settings):
    return TransformerLanguageModel(str(folder), device="cpu", **settings)


def by_transformers(folder, pairs, window=96, start=(0,), dtype=torch.float32):
    """One forward pass of transformers for each text, or for each part of one that exceeds the window."""
    theirs = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype).eval()
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    return [
        np.array([value for piece in cut(*ids, start, window) for value in _forward(theirs, *piece)])
        for ids in (tuple(tokenizer.encode(text).ids for text in pair) for pair in pairs)
    ]


def _forward(theirs, before, tokens):
    with torch.no_grad():
        found = theirs(input_ids=torch.tensor([[*before, *tokens]]), use_cache=False).logits[0]
    rows = found[len(before) - 1 : -1].double().log_softmax(-1)
    return rows[torch.arange(len(tokens)), list(tokens)].tolist()


def assert_equal(found, wanted, tolerance=5e-5):
    """Means over a text are held to 1e-5, the law; single tokens vary a little more."""
    assert [len(values) for values in found] == [len(values) for values in wanted]
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=tolerance)
        if len(one):
            np.testing.assert_allclose(one.mean(), other.mean(), rtol=0, atol=max(1e-5, tolerance / 5))


# The numbers


@pytest.mark.parametrize("name", MODELS)
def test_log_probabilities_are_those_of_transformers(tiny, name, capfd):
    folder = tiny(name)
    wanted = by_transformers(folder, PAIRS)
    capfd.readouterr()
    found = model(folder, window=96).log_probabilities(PAIRS)
    assert_equal(found, wanted)
    assert all(values.dtype == float for values in found)
    assert max(np.std(values) for values in wanted if len(values)) > 0.3, "a model that tells tokens apart"
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", MODELS)
def test_models_are_read_in_packs_where_that_gives_their_numbers(tiny, name):
    kind = type(model(tiny(name))._engine.decoder).__name__
    if name in LLAMAS:
        assert kind == "Llama"
    elif name in PLAIN:
        assert kind == "Plain"
    elif name not in ("granite", "cohere", "gptj"):  # could be either
        assert kind == "Packed"


@pytest.mark.parametrize("name", ["llama", "gpt2", "bloom"])
@pytest.mark.parametrize("budget", [1, 16, 100, 5000])
def test_the_budget_does_not_show(tiny, name, budget):
    assert_equal(
        model(tiny(name), budget=budget).log_probabilities(PAIRS),
        model(tiny(name)).log_probabilities(PAIRS),
    )


@pytest.mark.parametrize("name", ["llama", "gpt2", "mistral-sliding"])
def test_what_is_scored_beside_and_in_which_order_does_not_show(tiny, name):
    together = model(tiny(name)).log_probabilities(PAIRS)
    mixed = np.random.default_rng(1).permutation(len(PAIRS)).tolist()
    assert_equal(
        model(tiny(name)).log_probabilities([PAIRS[place] for place in mixed]),
        [together[place] for place in mixed],
    )
    assert_equal([model(tiny(name)).log_probabilities([pair])[0] for pair in PAIRS], together)
    assert_equal(model(tiny(name)).log_probabilities([*PAIRS, *PAIRS]), [*together, *together])


def test_texts_planned_in_several_parts_are_all_scored(tiny, monkeypatch):
    monkeypatch.setattr(lm_engine, "FIRST_TEXTS", 2)
    monkeypatch.setattr(lm_engine, "MOST_TEXTS", 4)
    assert_equal(model(tiny("llama")).log_probabilities(PAIRS), by_transformers(tiny("llama"), PAIRS))


@pytest.mark.parametrize("name", ["llama", "gpt-neox"])
def test_large_trees_have_the_same_numbers(tiny, name, monkeypatch):
    """They are computed node by node."""
    monkeypatch.setattr(attention, "LONGEST_MASKED", 20)
    assert_equal(model(tiny(name), budget=999).log_probabilities(PAIRS), by_transformers(tiny(name), PAIRS))


@pytest.mark.parametrize("window", [16, 33])
def test_a_smaller_window_shows_less(tiny, window):
    found = model(tiny("gpt2"), window=window).log_probabilities(PAIRS)
    assert_equal(found, by_transformers(tiny("gpt2"), PAIRS, window=window))
    long = PAIRS.index(Continuation(" ".join(SENTENCES * 3), f" {SENTENCES[0]}"))
    assert not np.allclose(found[long], model(tiny("gpt2")).log_probabilities(PAIRS)[long])


def test_a_window_beyond_the_models_own_is_refused(tiny):
    with pytest.raises(
        BackendError, match=r"window is 5000; it must be at most \d+ for .*, or 0, which is this maximum"
    ):
        model(tiny("gpt2"), window=5000).log_probabilities(PAIRS)


def test_without_a_token_to_begin_with_a_first_token_is_not_scored(tiny):
    bare = model(tiny("llama"), start="none")
    assert_equal(bare.log_probabilities(PAIRS), by_transformers(tiny("llama"), PAIRS, start=()))
    whole = model(tiny("llama")).log_probabilities(PAIRS)
    lengths = [len(values) for values in bare.log_probabilities(PAIRS)]
    lost = [len(values) - length for values, length in zip(whole, lengths, strict=True)]
    assert lost == [int(not pair.prefix and bool(pair.text)) for pair in PAIRS]


def test_an_empty_text_has_no_tokens_and_nothing_asked_is_nothing_answered(tiny):
    assert [len(values) for values in model(tiny("llama")).log_probabilities([Continuation("a", "")])] == [0]
    assert model(tiny("llama")).log_probabilities([]) == []


def test_special_tokens_in_a_text_are_text(tiny):
    spoken = [Continuation("", f"{END} hi {BEGIN}"), Continuation(f"{BEGIN}", END)]
    found = model(tiny("llama")).log_probabilities(spoken)
    assert [len(values) for values in found] > [4, 1]
    assert len(found[1]) == len(END), "one token for each byte, since none of them were learned"


def test_half_a_character_is_read_as_one_that_stands_for_any(tiny):
    odd, plain = (
        model(tiny("gpt2")).log_probabilities([Continuation(f"a{x}", f"b{x}")]) for x in ("\ud800", "\ufffd")
    )
    assert_equal(odd, plain)


def test_any_text_can_be_scored(tiny):
    texts = ["\x00", "\u202e", "🙂" * 3, "\r\n\t", " ", "नमस्ते", "𝔞"]
    for values in model(tiny("llama")).log_probabilities([Continuation(text, text) for text in texts]):
        assert len(values)
        assert (values < 0).all()


def test_all_probabilities_of_a_next_token_sum_to_one(tiny):
    size = vocabulary_size(tiny("gpt2"))
    words = Tokenizer.from_file(str(tiny("gpt2") / "tokenizer.json"))
    engine = model(tiny("gpt2"))._engine
    pieces = [cut(words.encode("how are").ids, (token,), (0,), 96)[0] for token in range(size)]
    total = sum(math.exp(float(values[0])) for _, values in engine._score(pieces))
    assert total == pytest.approx(1, abs=1e-5)


def test_half_precision_is_near(tiny):
    exact = model(tiny("llama")).log_probabilities(PAIRS)
    rough = model(tiny("llama"), dtype="float16").log_probabilities(PAIRS)
    assert_equal(rough, exact, tolerance=0.2)
    assert any(not np.allclose(one, other, atol=1e-4) for one, other in zip(rough, exact, strict=True))


def test_weights_in_several_files_are_read(tiny, tmp_path):
    shutil.copytree(tiny("llama"), tmp_path / "shards")
    (tmp_path / "shards" / "model.safetensors").unlink()
    theirs = AutoModelForCausalLM.from_pretrained(tiny("llama"))
    save_quietly(theirs, tmp_path / "shards", max_shard_size="30KB")
    assert len(list((tmp_path / "shards").glob("*.safetensors"))) > 1
    assert_equal(model(tmp_path / "shards").log_probabilities(PAIRS), by_transformers(tiny("llama"), PAIRS))


# Laws on real weights


REAL = [
    *(Continuation(context, f" {reply}") for context in DIALOGUE[:3] for reply in SENTENCES[2:4]),
    Continuation("", "Once upon a time there was a cat."),
    Continuation("The capital of France is", " Paris."),
]


@pytest.fixture(scope="module")
def real_scores(smollm2):
    old = os.environ.get("DIALOSCOPE_SCORES")
    os.environ["DIALOSCOPE_SCORES"] = "off"
    yield model(smollm2).log_probabilities(REAL)
    os.environ.pop("DIALOSCOPE_SCORES") if old is None else os.environ.update(DIALOSCOPE_SCORES=old)


def test_real_weights_give_the_numbers_of_transformers(smollm2, real_scores):
    wanted = by_transformers(smollm2, REAL, window=8192, start=(1,), dtype=torch.float64)
    error = log_probability_error(smollm2, length=64)
    for values, exact in zip(real_scores, wanted, strict=True):
        np.testing.assert_allclose(values, exact, rtol=0, atol=error)
    assert real_scores[-1].mean() > -3, "it knows"


def test_real_replies_have_the_same_number_alone_in_any_batch_and_without_sharing(smollm2, real_scores):
    alone = [model(smollm2).log_probabilities([pair])[0] for pair in REAL]
    mixed = np.random.default_rng(3).permutation(len(REAL)).tolist()
    other = model(smollm2, budget=30).log_probabilities([REAL[place] for place in mixed])
    for place, values in enumerate(real_scores):
        assert alone[place].mean() == pytest.approx(values.mean(), abs=1e-5)
        assert other[mixed.index(place)].mean() == pytest.approx(values.mean(), abs=1e-5)


# Memory


class Narrow:
    """A decoder that has room for only so many tokens at once."""

    def __init__(self, decoder, room, error):
        self.decoder, self.room, self.error, self.asked, self.failed = decoder, room, error, [], 0
        self.logits = decoder.logits

    def hidden(self, ids, positions, attention):
        if len(ids) > self.room:
            self.failed += 1
            raise self.error
        self.asked.append(len(ids))
        return self.decoder.hidden(ids, positions, attention)


@pytest.mark.parametrize(
    "error",
    [
        torch.cuda.OutOfMemoryError("CUDA out of memory"),
        MemoryError(),
        RuntimeError("[enforce fail at alloc_cpu.cpp:66] DefaultCPUAllocator: can't allocate memory"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_less_is_computed_at_once_when_memory_runs_out(tiny, error, monkeypatch):
    wanted = model(tiny("llama")).log_probabilities(PAIRS)
    engine = model(tiny("llama"), budget=900)._engine
    narrow = Narrow(engine.decoder, 130, error)
    monkeypatch.setitem(vars(engine), "decoder", narrow)
    places = list(range(len(PAIRS)))
    found = list(engine.log_probabilities(PAIRS, places))
    assert sorted(place for place, _ in found) == places, "each exactly once"
    assert_equal([values for _, values in sorted(found, key=lambda pair: pair[0])], wanted)
    assert narrow.failed
    assert max(narrow.asked) > 65, "no smaller than it must be"


def test_when_memory_does_not_do_for_the_least_it_is_said(tiny, monkeypatch):
    engine = model(tiny("llama"), budget=901)._engine
    monkeypatch.setitem(vars(engine), "decoder", Narrow(engine.decoder, 10, MemoryError()))
    with pytest.raises(
        BackendError, match=r"Memory runs out even with 64 tokens at once\. Take a smaller model"
    ):
        list(engine.log_probabilities(PAIRS, range(len(PAIRS))))


def test_other_failures_are_not_tried_again():
    def work(budget):
        yield budget
        raise RuntimeError("something else")

    trial = halving(work, 100, 1)
    assert next(trial) == 100
    with pytest.raises(RuntimeError, match="something else"):
        next(trial)


# The score cache


@pytest.fixture
def remembering(no_scores, own_scores):
    return own_scores


def test_a_second_run_computes_nothing(tiny, remembering, monkeypatch):
    first = model(tiny("llama")).log_probabilities(PAIRS)
    monkeypatch.setattr(lm_engine.LanguageModelEngine, "log_probabilities", None)
    again = model(tiny("llama"), budget=77).log_probabilities(PAIRS[::-1])
    for one, other in zip(first, again[::-1], strict=True):
        np.testing.assert_array_equal(one, other)
    with pytest.raises(TypeError):
        model(tiny("llama")).log_probabilities([Continuation("", "new")])


def test_other_settings_and_other_models_have_their_own_scores(tiny, remembering, tmp_path):
    pair = [Continuation("", SENTENCES[0])]
    variants = [
        model(tiny("llama")),
        model(tiny("llama"), window=64),
        model(tiny("llama"), dtype="float16"),
        model(tiny("llama"), start="none"),
        model(tiny("gpt2")),
    ]
    for number, variant in enumerate(variants, 1):
        variant.log_probabilities(pair)
        assert cache_status().entries == number
    model(tiny("llama"), budget=20).log_probabilities(pair)
    assert cache_status().entries == len(variants), "the budget changes no number"


def test_a_folder_that_was_changed_does_not_answer_with_old_numbers(tiny, remembering, tmp_path):
    shutil.copytree(tiny("llama"), tmp_path / "model")
    before = model(tmp_path / "model").log_probabilities(PAIRS)
    written = model(tmp_path / "model").generate(["how"], GREEDY)
    shutil.rmtree(tmp_path / "model")
    shutil.copytree(tiny("llama-tied"), tmp_path / "model")
    after = model(tmp_path / "model").log_probabilities(PAIRS)
    assert_equal(after, by_transformers(tiny("llama-tied"), PAIRS))
    assert not np.allclose(before[0], after[0])
    assert model(tmp_path / "model").generate(["how"], GREEDY) != written


def test_a_run_that_is_killed_keeps_what_it_finished(tiny, remembering, monkeypatch):
    """The reader is slow, so that the cache writes now and then; it is killed in the middle."""
    code = (
        "import time, sys\n"
        "from dialoscope.models import cache as memory\n"
        "from dialoscope.models.engines import language_model as lm_engine\n"
        "from dialoscope.models.protocols import Continuation\n"
        "from dialoscope.models.language_model import TransformerLanguageModel as Model\n"
        "memory._BUFFER_SECONDS = 0.05\n"
        "quick = lm_engine.LanguageModelEngine._pack_scores\n"
        "def slow(self, pack):\n"
        "    time.sleep(0.2)\n"
        "    print('pack', flush=True)\n"
        "    return quick(self, pack)\n"
        "lm_engine.LanguageModelEngine._pack_scores = slow\n"
        "texts = [Continuation('', f'text {number}') for number in range(40)]\n"
        f"Model({str(tiny('llama'))!r}, device='cpu', budget=16).log_probabilities(texts)\n"
    )
    running = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    for _ in range(6):
        running.stdout.readline()
    running.send_signal(signal.SIGKILL)
    running.wait()
    running.stdout.close()
    finished = cache_status().entries
    assert 0 < finished < 40
    texts = [Continuation("", f"text {number}") for number in range(40)]
    asked = []
    real = lm_engine.LanguageModelEngine.log_probabilities

    def counted(self, texts, places):
        asked.extend(texts)
        return real(self, texts, places)

    monkeypatch.setattr(lm_engine.LanguageModelEngine, "log_probabilities", counted)
    found = model(tiny("llama")).log_probabilities(texts)
    assert len(asked) == 40 - finished
    monkeypatch.setenv("DIALOSCOPE_SCORES", "off")
    assert_equal(found, model(tiny("llama")).log_probabilities(texts))


# Descriptions


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"model": ""}, "A language model needs a name: a folder, an asset, or a model on the hub."),
        ({"dtype": "int8"}, "dtype is 'int8'; it must be one of: float32, bfloat16, float16."),
        ({"start": "eos"}, "start is 'eos'; it must be one of: bos, none."),
        ({"window": 15}, "window is 15; it must be 0 (the limit of the model) or at least 16 tokens."),
        ({"window": -1}, "window is -1; it must be 0 (the limit of the model) or at least 16 tokens."),
        ({"budget": -1}, "budget is -1; it must be 0 (chosen by device) or a positive number of tokens."),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, complaint):
    with pytest.raises(BackendError, match=f"^{re.escape(complaint)}$"):
        TransformerLanguageModel(**settings)


def test_a_description_is_a_light_value():
    one = TransformerLanguageModel("some/model", window=64)
    assert pickle.loads(pickle.dumps(one)) == one  # noqa: S301
    assert hash(dataclasses.replace(one, budget=7, device="cpu")) == hash(one)
    assert dataclasses.replace(one, budget=7, device="cpu") == one
    assert one != dataclasses.replace(one, start="none")
    assert str(one) == "some/model"


def test_a_language_model_is_one(tiny):
    assert isinstance(model(tiny("llama")), LanguageModel)


def test_what_can_change_a_number_is_in_the_signature(tiny):
    described = TransformerLanguageModel("some/model", revision="abc", window=64, device="cpu", budget=9)
    assert signature(described) == (
        "transformer-lm|model:some/model|revision:abc|dtype:float32|start:bos|window:64|v:1"
    )


def test_an_unknown_device_is_refused(tiny):
    for device in ("quantum", "cuda:99"):
        with pytest.raises(BackendError, match=f"There is no device '{device}' here: ."):
            TransformerLanguageModel(str(tiny("llama")), device=device).log_probabilities(PAIRS)
    assert choose_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")


# Models that cannot be used


def changed(folder, target, **changes):
    """A copy with another configuration."""
    shutil.copytree(folder, target)
    config = json.loads((target / "config.json").read_text())
    (target / "config.json").write_text(json.dumps({**config, **changes}))
    return target


def test_a_model_without_a_first_token_says_what_to_do(tiny, tmp_path):
    folder = changed(tiny("gpt2"), tmp_path / "bare", bos_token_id=None, eos_token_id=None)
    with pytest.raises(BackendError, match="has no start token; use start='none'"):
        model(folder).log_probabilities(PAIRS)
    assert_equal(
        model(folder, start="none").log_probabilities(PAIRS), by_transformers(tiny("gpt2"), PAIRS, start=())
    )


def test_a_text_begins_with_the_token_that_ends_one_where_there_is_no_other(tiny, tmp_path):
    folder = changed(tiny("gpt2"), tmp_path / "ends", bos_token_id=None, eos_token_id=[1, 5])
    assert_equal(model(folder).log_probabilities(PAIRS), by_transformers(tiny("gpt2"), PAIRS, start=(1,)))


@pytest.mark.parametrize("name", ["llama", "gpt2"])
def test_damaged_weights_are_an_error_for_people(tiny, tmp_path, name):
    folder = shutil.copytree(tiny(name), tmp_path / "model")
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1000])
    with pytest.raises(BackendError, match="cannot be loaded as a language model"):
        model(folder).log_probabilities(PAIRS)


def test_a_damaged_configuration_is_an_error_for_people(tiny, tmp_path):
    folder = shutil.copytree(tiny("llama"), tmp_path / "model")
    (folder / "config.json").write_text("{")
    with pytest.raises(BackendError, match=r"config\.json cannot be read: "):
        model(folder).log_probabilities(PAIRS)


def test_an_unknown_kind_of_model_is_an_error_for_people(tiny, tmp_path):
    folder = changed(tiny("gpt2"), tmp_path / "odd", model_type="abacus")
    with pytest.raises(BackendError, match=r"cannot be loaded as a language model: .*abacus"):
        model(folder).log_probabilities(PAIRS)


def test_weights_that_are_lacking_are_not_made_up(tiny, tmp_path):
    """A Llama with a head of its own, saved without it."""
    folder = changed(tiny("llama-biased"), tmp_path / "headless")
    save_quietly(LlamaModel.from_pretrained(folder), folder)
    with pytest.raises(
        BackendError,
        match=r"is not a complete language model: 1 weights are missing, such as lm_head",
    ):
        model(folder).log_probabilities(PAIRS)


@pytest.mark.parametrize("name", ["llama", "llama-tied"])
def test_a_plain_llama_saved_without_its_head_is_whole_only_where_the_head_is_shared(tiny, tmp_path, name):
    folder = changed(tiny(name), tmp_path / "headless")
    save_quietly(LlamaModel.from_pretrained(folder), folder)
    if name == "llama-tied":
        assert_equal(model(folder).log_probabilities(PAIRS), by_transformers(tiny(name), PAIRS))
    else:
        with pytest.raises(BackendError, match=r"such as lm_head\.weight"):
            model(folder).log_probabilities(PAIRS)


def test_a_gpt2_saved_without_its_head_which_is_shared_is_whole(tiny, tmp_path):
    folder = changed(tiny("gpt2"), tmp_path / "base")
    save_quietly(GPT2Model.from_pretrained(folder), folder)
    assert_equal(model(folder).log_probabilities(PAIRS), by_transformers(tiny("gpt2"), PAIRS))


def test_an_encoder_is_no_language_model(tiny, tmp_path):
    folder = shutil.copytree(tiny("gpt2"), tmp_path / "bert")
    config = BertConfig(
        vocab_size=vocabulary_size(folder), hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=48, bos_token_id=0, is_decoder=True,
    )  # fmt: skip
    encoder = BertLMHeadModel(config)
    stir(encoder)
    save_quietly(encoder, folder)
    settings = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**settings, "is_decoder": False}))
    with pytest.raises(BackendError, match=r"also attends to later tokens, .* Name a causal language model"):
        model(folder).log_probabilities(PAIRS)


def test_a_sliding_window_that_is_not_used_does_not_keep_texts_apart(tiny, tmp_path):
    folder = changed(tiny("qwen2"), tmp_path / "qwen", sliding_window=12, use_sliding_window=False)
    assert type(model(folder)._engine.decoder) is causal.Packed
    assert_equal(model(folder).log_probabilities(PAIRS), by_transformers(tiny("qwen2"), PAIRS))


@pytest.mark.parametrize("part", ["hidden", "logits"])
def test_a_model_that_cannot_read_packs_reads_texts_one_by_one(tiny, monkeypatch, part, tmp_path):
    def fail(*_):
        raise TypeError("an argument that it does not know")

    monkeypatch.setattr(causal.Packed, part, fail)
    folder = shutil.copytree(tiny("gpt-neox"), tmp_path / "model")
    assert_equal(model(folder).log_probabilities(PAIRS), by_transformers(tiny("gpt-neox"), PAIRS))


def test_a_model_whose_attention_cannot_be_chosen_reads_texts_one_by_one(tiny, monkeypatch, tmp_path):
    real = GPTNeoXForCausalLM.set_attn_implementation

    def only_known(self, name):
        if name == causal._TREES:
            raise ValueError("an attention that it does not have")
        real(self, name)

    monkeypatch.setattr(GPTNeoXForCausalLM, "set_attn_implementation", only_known)
    folder = shutil.copytree(tiny("gpt-neox"), tmp_path / "model")
    assert_equal(model(folder).log_probabilities(PAIRS), by_transformers(tiny("gpt-neox"), PAIRS))


# Tokenizers


def test_a_folder_without_a_tokenizer_is_refused(tiny, tmp_path, capfd):
    folder = shutil.copytree(tiny("gpt2"), tmp_path / "model")
    (folder / "tokenizer.json").unlink()
    with pytest.raises(BackendError, match="has no tokenizer that can be read"):
        model(folder).log_probabilities(PAIRS)
    assert capfd.readouterr() == ("", "")


def test_a_damaged_tokenizer_is_refused(tiny, tmp_path):
    folder = shutil.copytree(tiny("gpt2"), tmp_path / "model")
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(BackendError, match=r"tokenizer\.json cannot be read: "):
        model(folder).log_probabilities(PAIRS)


def test_damaged_files_of_an_older_tokenizer_are_refused(tiny, tmp_path):
    folder = shutil.copytree(tiny("gpt2"), tmp_path / "model")
    (folder / "tokenizer.json").unlink()
    (folder / "tokenizer_config.json").write_text("{")
    with pytest.raises(BackendError, match=r"has no tokenizer that can be read: ."):
        model(folder).log_probabilities(PAIRS)


def test_the_files_of_an_older_tokenizer_are_read(tiny, tmp_path, capfd):
    folder = shutil.copytree(tiny("gpt2"), tmp_path / "model")
    Tokenizer.from_file(str(folder / "tokenizer.json")).model.save(str(folder))
    (folder / "tokenizer.json").unlink()
    (folder / "tokenizer_config.json").write_text(
        json.dumps(
            {"tokenizer_class": "GPT2Tokenizer", "bos_token": BEGIN, "eos_token": END, "unk_token": END}
        )
    )
    assert_equal(model(folder).log_probabilities(PAIRS), model(tiny("gpt2")).log_probabilities(PAIRS))
    assert capfd.readouterr() == ("", "")


# What is not installed


BLOCKED = """
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == {package!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocker())
from dialoscope.models.protocols import Continuation, Generation, LanguageModel
from dialoscope.models.language_model import TransformerLanguageModel
from dialoscope.core.errors import MissingExtra
try:
    model = TransformerLanguageModel({model!r}, device="cpu")
    model.{call}
except MissingExtra as missing:
    print(missing)
else:
    print("fine")
"""
SCORE, WRITE = "log_probabilities([Continuation('', 'a')])", "generate(['a'], Generation(max_tokens=2))"


@pytest.mark.parametrize(
    ("package", "name", "call", "answer"),
    [
        ("torch", "llama", SCORE, "needs torch"),
        ("tokenizers", "llama", SCORE, "needs tokenizers"),
        ("transformers", "llama", SCORE, "fine"),
        ("transformers", "gpt2", SCORE, "needs transformers"),
        ("transformers", "llama", WRITE, "needs transformers"),
    ],
)
def test_a_package_that_is_not_installed_is_named(tiny, package, name, call, answer):
    code = BLOCKED.format(package=package, model=str(tiny(name)), call=call)
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert told.stderr == ""
    if answer == "fine":
        assert told.stdout == "fine\n"
    else:
        feature = f"The language model {tiny(name)} {answer}."
        assert told.stdout == f"{feature} Install it with: pip install 'dialoscope[neural]'\n"


def test_a_part_that_cannot_be_imported_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "dialoscope.models.engines.language_model", None)
    with pytest.raises(MissingExtra, match=r"^The language model x needs .* Install it with: pip install"):
        import_engine("language_model", "The language model x")


def test_a_llama_without_one_of_its_weights_is_an_error_for_people(tiny, tmp_path):
    from safetensors.torch import load_file, save_file

    folder = shutil.copytree(tiny("llama"), tmp_path / "model")
    weights = load_file(folder / "model.safetensors")
    del weights["model.layers.1.mlp.down_proj.weight"]
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(BackendError, match=r"lacks the weights 'model\.layers\.1\.mlp\.down_proj\.weight'"):
        model(folder).log_probabilities(PAIRS)


def test_no_text_can_stop_at_nothing():
    from dialoscope.models.protocols import Generation

    with pytest.raises(BackendError, match="stop must not contain an empty string"):
        Generation(stop=("\n", ""))
