"""Adapters: the numbers of peft, whatever engine computes, and refusal of what would mean something else."""

import json
import shutil

import numpy as np
import pytest
import torch
from peft import AutoPeftModelForCausalLM, LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from transformers import AutoModel, AutoModelForCausalLM, AutoModelForSequenceClassification, AutoTokenizer

from dialoscope.core.errors import BackendError
from dialoscope.models.classifier import TransformerClassifier
from dialoscope.models.encoder import TransformerEncoder
from dialoscope.models.language_model import TransformerLanguageModel
from dialoscope.models.protocols import Continuation, Generation, Pair
from tests.arithmetic import error_like
from tests.unit.models.tiny import SENTENCES, save_model
from tests.unit.models.tiny_encoders import save_encoder

pytestmark = pytest.mark.usefixtures("one_thread", "no_scores")

ADAPTER, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
NEAR = {"rtol": 0, "atol": 1e-5}
LABELS = {0: "entailment", 1: "neutral", 2: "contradiction"}
PAIRS = [Pair(first, second) for first in SENTENCES[:2] for second in SENTENCES]
LLAMA = ["q_proj", "v_proj", "down_proj"]
GPT2 = ["c_attn", "c_fc", "c_proj"]
BERT = ["query", "intermediate.dense", "output.dense"]
MPNET = ["attn.q", "attn.o", "intermediate.dense"]


def adapted(kind, base, folder, **settings):
    """An adapter by peft itself, with weights that are large enough for every mistake to show."""
    told = {"id2label": LABELS} if settings.get("task_type") == "SEQ_CLS" else {}
    with torch.random.fork_rng():
        torch.manual_seed(1)
        model = get_peft_model(kind.from_pretrained(base, **told), LoraConfig(**settings))
        with torch.no_grad():
            for weight in model.parameters():
                if weight.requires_grad:
                    weight.copy_(torch.randn(weight.shape) * 0.2)
    model.save_pretrained(folder)
    if told:
        model.base_model.model.config.save_pretrained(folder)
    return folder


def by_peft(kind, folder, *, merged):
    """The same model by peft: two paths beside each other, or weights added up."""
    settings = json.loads((folder / ADAPTER).read_text())
    told = {"id2label": LABELS} if settings["task_type"] == "SEQ_CLS" else {}
    base = kind.from_pretrained(settings["base_model_name_or_path"], dtype=torch.float32, **told)
    model = PeftModel.from_pretrained(base, folder).eval()
    return model.merge_and_unload() if merged else model


@pytest.fixture(scope="module")
def llama(tiny, tmp_path_factory):
    """A small Llama with an adapter."""
    folder = tmp_path_factory.mktemp("adapters") / "llama"
    return adapted(
        AutoModelForCausalLM, tiny("llama"), folder, task_type="CAUSAL_LM", target_modules=LLAMA, r=4
    )


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    """A small BERT without a head, and an adapter that makes it a classifier."""
    folder = tmp_path_factory.mktemp("adapters")
    return adapted(
        AutoModelForSequenceClassification,
        save_encoder("bert", folder / "base"),
        folder / "bert",
        task_type="SEQ_CLS",
        target_modules=BERT,
        modules_to_save=["classifier"],
    )


def language_model(folder):
    return TransformerLanguageModel(str(folder), device="cpu")


def copied(folder, to, **settings):
    """A copy of an adapter with other settings; those that are None are left out."""
    shutil.copytree(folder, to)
    told = json.loads((to / ADAPTER).read_text()) | settings
    (to / ADAPTER).write_text(json.dumps({name: value for name, value in told.items() if value is not None}))
    return to


def log_probabilities(model, folder, text):
    ids = Tokenizer.from_file(str(folder / "tokenizer.json")).encode(text, add_special_tokens=False).ids
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([[0, *ids]])).logits[0]
    rows = logits.double().log_softmax(1)
    return [float(rows[place, number]) for place, number in enumerate(ids)]


# The numbers


@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize(
    ("name", "engine", "settings"),
    [
        ("llama", "Llama", {"target_modules": LLAMA, "r": 4, "lora_alpha": 6}),
        ("llama-tied", "Llama", {"target_modules": LLAMA, "use_rslora": True, "lora_dropout": 0.5}),
        ("llama", "Llama", {"target_modules": LLAMA, "modules_to_save": ["embed_tokens", "lm_head"]}),
        ("llama-biased", "Packed", {"target_modules": LLAMA, "layers_to_transform": [1]}),
        ("gpt2", "Packed", {"target_modules": GPT2, "fan_in_fan_out": True}),
    ],
)
def test_a_language_model_has_the_numbers_of_peft(tiny, tmp_path, name, engine, settings, merged):
    folder = adapted(AutoModelForCausalLM, tiny(name), tmp_path / "a", task_type="CAUSAL_LM", **settings)
    theirs = by_peft(AutoModelForCausalLM, folder, merged=merged)
    single, double = (
        [log_probabilities(model(), tiny(name), text) for text in SENTENCES]
        for model in (theirs.float, theirs.double)
    )
    error = error_like(np.concatenate(single), np.concatenate(double))
    found = language_model(folder).log_probabilities([Continuation("", text) for text in SENTENCES])
    for numbers, wanted in zip(found, double, strict=True):
        np.testing.assert_allclose(numbers, wanted, rtol=0, atol=error)
    bare = language_model(tiny(name)).log_probabilities([Continuation("", SENTENCES[0])])[0]
    assert np.abs(found[0] - bare).max() > 0.05, "an adapter that changes something"
    assert type(language_model(folder)._engine.decoder).__name__ == engine


@pytest.mark.parametrize("name", ["llama", "gpt2"])
def test_generation_is_that_of_peft(tiny, tmp_path, name):
    targets = {"llama": LLAMA, "gpt2": GPT2}[name]
    folder = adapted(
        AutoModelForCausalLM,
        tiny(name),
        tmp_path / "a",
        task_type="CAUSAL_LM",
        target_modules=targets,
        fan_in_fan_out=name == "gpt2",
    )
    tokenizer = Tokenizer.from_file(str(tiny(name) / "tokenizer.json"))
    ids = [0, *tokenizer.encode(SENTENCES[0], add_special_tokens=False).ids]
    model = by_peft(AutoModelForCausalLM, folder, merged=False)
    begun = len(ids)
    for _ in range(8):
        with torch.no_grad():
            ids.append(int(model(input_ids=torch.tensor([ids])).logits[0, -1].argmax()))
    how = Generation(max_tokens=8, stop=("\0",))
    (found,) = language_model(folder).generate([SENTENCES[0]], how)[0]
    assert found == tokenizer.decode(ids[begun:])
    assert found != language_model(tiny(name)).generate([SENTENCES[0]], how)[0][0]


@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize(
    ("name", "targets", "saved", "engine"),
    [("bert", BERT, ["classifier"], "Bert"), ("mpnet", MPNET, ["classifier"], "Padded")],
)
def test_a_classifier_has_the_numbers_of_peft(tmp_path, name, targets, saved, engine, merged):
    base = save_encoder(name, tmp_path / "base")
    folder = adapted(
        AutoModelForSequenceClassification,
        base,
        tmp_path / "adapter",
        task_type="SEQ_CLS",
        target_modules=targets,
        modules_to_save=saved,
    )
    described = TransformerClassifier(str(folder), device="cpu")
    wanted = classes(by_peft(AutoModelForSequenceClassification, folder, merged=merged), base)
    np.testing.assert_allclose(described.classify(PAIRS), wanted, **NEAR)
    assert described.labels == tuple(LABELS.values())
    assert np.std(wanted, axis=0).max() > 0.003, "a model that tells pairs apart"
    assert type(described._engine.body).__name__ == engine


def classes(model, base):
    tokenizer = AutoTokenizer.from_pretrained(base)
    found = []
    for pair in PAIRS:
        with torch.no_grad():
            found.append(model(**tokenizer([tuple(pair)], return_tensors="pt")).logits[0].double().numpy())
    powers = np.exp(np.array(found))
    return powers / powers.sum(1, keepdims=True)


@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize(("name", "targets"), [("bert", BERT), ("mpnet", MPNET)])
def test_an_encoder_has_the_numbers_of_peft(tmp_path, name, targets, merged):
    base = save_encoder(name, tmp_path / "base")
    folder = adapted(
        AutoModel, base, tmp_path / "adapter", task_type="FEATURE_EXTRACTION", target_modules=targets
    )
    model, tokenizer = by_peft(AutoModel, folder, merged=merged), AutoTokenizer.from_pretrained(base)
    found = TransformerEncoder(str(folder), device="cpu").encode(SENTENCES)
    for text, vector in zip(SENTENCES, found, strict=True):
        with torch.no_grad():
            told = tokenizer([text], return_tensors="pt")
            wanted = model(**told).last_hidden_state[0].mean(0)
        np.testing.assert_allclose(vector, wanted, **NEAR)


@pytest.mark.parametrize("name", ["bert", "mpnet"])
def test_an_encoder_can_be_read_with_a_classifiers_adapter(tmp_path, name):
    """Whose names begin with another word, since a head stands above them."""
    targets = {"bert": BERT, "mpnet": MPNET}[name]
    base = save_encoder(name, tmp_path / "base")
    folder = adapted(
        AutoModelForSequenceClassification,
        base,
        tmp_path / "adapter",
        task_type="SEQ_CLS",
        target_modules=targets,
        modules_to_save=["classifier"],
    )
    whole = by_peft(AutoModelForSequenceClassification, folder, merged=True)
    inner = getattr(whole, name)
    with torch.no_grad():
        told = AutoTokenizer.from_pretrained(base)([SENTENCES[0]], return_tensors="pt")
        wanted = inner(**told).last_hidden_state[0].mean(0)
    found = TransformerEncoder(str(folder), device="cpu").encode(SENTENCES[:1])[0]
    np.testing.assert_allclose(found, wanted, **NEAR)


def test_a_classifier_below_takes_the_adapter_of_an_encoder(tmp_path):
    base = save_encoder("bert", tmp_path / "base", "ForSequenceClassification")
    folder = adapted(
        AutoModel, base, tmp_path / "adapter", task_type="FEATURE_EXTRACTION", target_modules=BERT
    )
    found = TransformerEncoder(str(folder), device="cpu").encode(SENTENCES[:1])
    assert np.abs(found - TransformerEncoder(str(base), device="cpu").encode(SENTENCES[:1])).max() > 0.05


def test_half_precision_weights_below_are_added_to_in_full(tiny, tmp_path, llama):
    base = shutil.copytree(tiny("llama"), tmp_path / "base")
    halves = {name: one.bfloat16() for name, one in load_file(base / "model.safetensors").items()}
    save_file(halves, base / "model.safetensors", {"format": "pt"})
    folder = copied(llama, tmp_path / "adapter", base_model_name_or_path=str(base))
    theirs = by_peft(AutoModelForCausalLM, folder, merged=True)
    found = language_model(folder).log_probabilities([Continuation("", SENTENCES[0])])[0]
    np.testing.assert_allclose(found, log_probabilities(theirs, base, SENTENCES[0]), **NEAR)


def test_peft_is_not_needed_to_use_an_adapter(llama, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "peft", None)
    with pytest.raises(ImportError):
        import peft  # noqa: F401
    described = TransformerLanguageModel(str(llama), device="cpu", budget=222)
    assert np.isfinite(described.log_probabilities([Continuation("", "tea")])[0]).all()


# Fingerprints


def test_fingerprints_change_with_either_part(tmp_path):
    base = save_model("llama", tmp_path / "base")
    settings = {"task_type": "CAUSAL_LM", "target_modules": ["q_proj"]}
    folder = adapted(AutoModelForCausalLM, base, tmp_path / "adapter", **settings)
    first, of_base = language_model(folder).fingerprint, language_model(base).fingerprint
    assert first != of_base
    (base / "README.md").write_text("about")
    assert language_model(folder).fingerprint == first
    weights = load_file(folder / WEIGHTS)
    save_file({name: one * 2 for name, one in weights.items()}, folder / WEIGHTS)
    second = language_model(folder).fingerprint
    save_model("llama", base, rms_norm_eps=1e-3)
    third = language_model(folder).fingerprint
    copied_elsewhere = copied(folder, tmp_path / "copy", lora_alpha=99)
    assert len({first, second, third, language_model(copied_elsewhere).fingerprint}) == 4


def test_a_changed_model_below_is_read_anew(tmp_path):
    base = save_model("llama", tmp_path / "base")
    folder = adapted(
        AutoModelForCausalLM, base, tmp_path / "a", task_type="CAUSAL_LM", target_modules=["q_proj"]
    )
    before = language_model(folder).log_probabilities([Continuation("", SENTENCES[0])])[0]
    save_model("llama", base, rms_norm_eps=1.0)
    after = language_model(folder).log_probabilities([Continuation("", SENTENCES[0])])[0]
    assert np.abs(before - after).max() > 0.01


# What is refused


def refused(folder):
    with pytest.raises(BackendError) as caught:
        language_model(folder).log_probabilities([Continuation("", "tea")])
    return str(caught.value)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"peft_type": "IA3"}, "peft_type IA3"),
        ({"peft_type": None}, "peft_type not named"),
        ({"bias": "all"}, "bias all"),
        ({"use_dora": True}, "use_dora True"),
        ({"rank_pattern": {"q_proj": 2}}, "rank_pattern {'q_proj': 2}"),
        ({"alpha_pattern": {"q_proj": 2}}, "alpha_pattern {'q_proj': 2}"),
        ({"lora_bias": True}, "lora_bias True"),
        ({"layer_replication": [[0, 2]]}, "layer_replication [[0, 2]]"),
        ({"alora_invocation_tokens": [1]}, "alora_invocation_tokens [1]"),
        ({"init_lora_weights": "pissa"}, "init_lora_weights pissa"),
        ({"of_times_to_come": 1}, "of_times_to_come 1"),
        ({"use_dora": True, "bias": "all"}, "bias all, use_dora True"),
    ],
)
def test_adapters_that_mean_something_else_are_refused(llama, tmp_path, settings, told):
    folder = copied(llama, tmp_path / "a", **settings)
    assert refused(folder) == (
        f"{folder} is an adapter of an unsupported kind ({told}); only plain LoRA is supported. "
        "Merge it with peft (merge_and_unload) and save the whole model."
    )


@pytest.mark.parametrize(
    "settings",
    [
        {"r": 0},
        {"r": None},
        {"r": "8"},
        {"r": -1},
        {"lora_alpha": None},
        {"lora_alpha": "x"},
        {"lora_alpha": []},
    ],
)
def test_settings_that_make_no_sense_are_told(llama, tmp_path, settings):
    folder = copied(llama, tmp_path / "a", **settings)
    assert refused(folder) == (
        f"{folder / ADAPTER} cannot be read: r must be 1 or more, and lora_alpha a number."
    )


@pytest.mark.parametrize("written", ["[1]", "{", "", '"x"', "\x00", '{"r": 8, "lora_alpha": NaN'])
def test_a_file_that_holds_no_settings_is_told(llama, tmp_path, written):
    folder = shutil.copytree(llama, tmp_path / "a")
    (folder / ADAPTER).write_text(written)
    assert refused(folder).startswith(f"{folder / ADAPTER} cannot be read: ")


@pytest.mark.parametrize("named", [None, "", 7, ["x"]])
def test_an_adapter_must_name_its_model(llama, tmp_path, named):
    folder = copied(llama, tmp_path / "a", base_model_name_or_path=named)
    assert refused(folder) == f"{folder / ADAPTER} does not name the base model of the adapter."


def test_a_model_below_that_is_not_there_is_told(llama, tmp_path):
    folder = copied(llama, tmp_path / "a", base_model_name_or_path="../no/such model\x1b")
    assert refused(folder).startswith(r"There is no folder '../no/such model\x1b'.")


def test_an_adapter_of_an_adapter_is_refused(llama, tmp_path):
    folder = copied(llama, tmp_path / "a", base_model_name_or_path=str(llama))
    assert (
        refused(folder) == f"The base model of the adapter {folder} is {llama}, which is an adapter itself."
    )


@pytest.mark.parametrize("name", ["gpt2", "llama-tied"])
def test_an_adapter_of_another_model_does_not_fit(llama, tiny, tmp_path, name):
    folder = copied(llama, tmp_path / "a", base_model_name_or_path=str(tiny(name)))
    message = rf"{folder} does not fit its base model, which has no matching weight model\.layers\.0\.\w+"
    with pytest.raises(BackendError, match=message):
        language_model(folder).log_probabilities([Continuation("", "tea")])


def test_a_head_that_a_model_shares_with_its_vocabulary_is_refused(llama, tiny, tmp_path):
    """Nothing would read it, and the numbers would not be those of peft."""
    folder = shutil.copytree(llama, tmp_path / "a")
    added = {"base_model.model.lm_head.weight": torch.zeros(320, 32)}
    save_file({**load_file(folder / WEIGHTS), **added}, folder / WEIGHTS)
    copied(folder, tmp_path / "b", base_model_name_or_path=str(tiny("llama-tied")))
    weights = {name: one for name, one in load_file(folder / WEIGHTS).items() if "lora" not in name}
    save_file(weights, tmp_path / "b" / WEIGHTS)
    assert "has no matching weight lm_head.weight" in refused(tmp_path / "b")


@pytest.mark.filterwarnings("ignore:Model has `tie_word_embeddings=True`")
@pytest.mark.parametrize(
    ("name", "targets", "words"), [("llama-tied", LLAMA, "embed_tokens"), ("gpt2", GPT2, "wte")]
)
def test_a_vocabulary_that_is_also_the_head_is_not_changed(tiny, tmp_path, name, targets, words):
    """With peft what is read with changes, and what is written with stays."""
    folder = adapted(
        AutoModelForCausalLM,
        tiny(name),
        tmp_path / "a",
        task_type="CAUSAL_LM",
        target_modules=targets,
        fan_in_fan_out=name == "gpt2",
        modules_to_save=[words],
    )
    key = next(key for key in load_file(folder / WEIGHTS) if words in key)
    weights = key.removeprefix("base_model.model.")
    assert refused(folder) == (
        f"{folder} changes {weights}, which the model shares between embedding and output; peft leaves the "
        "output unchanged. Save it as a whole model with a separate head."
    )


def changed(llama, folder, change):
    shutil.copytree(llama, folder)
    weights = load_file(folder / WEIGHTS)
    change(weights, sorted(weights))
    save_file(weights, folder / WEIGHTS)
    return folder


@pytest.mark.parametrize("half", [0, 1])
def test_half_a_pair_is_refused(llama, tmp_path, half):
    names = sorted(load_file(llama / WEIGHTS))[:2]
    folder = changed(llama, tmp_path / "a", lambda weights, _: weights.pop(names[1 - half]))
    assert refused(folder) == f"{folder / WEIGHTS} is incomplete: {names[half]} has no counterpart."


@pytest.mark.parametrize("value", [torch.zeros(3, 5), torch.zeros(4), torch.zeros(4, 4, 4)])
def test_matrices_that_have_no_product_are_refused(llama, tmp_path, value):
    folder = changed(llama, tmp_path / "a", lambda weights, names: weights.update({names[0]: value}))
    assert refused(folder) == f"{folder / WEIGHTS} is not supported: its weights are not pairs of matrices."


@pytest.mark.parametrize("name", ["q_proj.lora_magnitude_vector.weight", "lora_embedding_A", "x.lora_B.bias"])
def test_parts_of_other_kinds_of_adapters_are_refused(llama, tmp_path, name):
    folder = changed(llama, tmp_path / "a", lambda weights, _: weights.update({name: torch.zeros(2)}))
    assert refused(folder) == f"{folder / WEIGHTS} is not supported: {name} is not part of plain LoRA."


@pytest.mark.parametrize("content", [b"", b"\xff" * 100, None])
def test_damaged_weights_are_told(llama, tmp_path, content):
    folder = shutil.copytree(llama, tmp_path / "a")
    whole = (folder / WEIGHTS).read_bytes()
    (folder / WEIGHTS).write_bytes(whole[:-10] if content is None else content)
    assert refused(folder).startswith(f"{folder / WEIGHTS} cannot be read: ")


def test_weights_that_can_run_code_are_not_read(llama, tmp_path):
    folder = shutil.copytree(llama, tmp_path / "a")
    (folder / WEIGHTS).rename(folder / "adapter_model.bin")
    assert "has no weights in safetensors" in refused(folder)


def test_a_head_that_is_not_there_is_told(bert, tmp_path):
    folder = shutil.copytree(bert, tmp_path / "a")
    weights = {name: one for name, one in load_file(folder / WEIGHTS).items() if "classifier" not in name}
    save_file(weights, folder / WEIGHTS)
    with pytest.raises(BackendError, match="This model is not a classifier"):
        TransformerClassifier(str(folder), device="cpu").classify(PAIRS)


def test_a_head_of_another_shape_does_not_fit(tmp_path, bert):
    base = save_encoder("bert", tmp_path / "base", "ForSequenceClassification", num_labels=2)
    folder = copied(bert, tmp_path / "a", base_model_name_or_path=str(base))
    with pytest.raises(BackendError, match=r"which has no matching weight classifier\.\w+\."):
        TransformerClassifier(str(folder), device="cpu").classify(PAIRS)


def test_peft_itself_finds_the_model_that_is_named(llama):
    """So what the tests compare with is what everybody would get."""
    with torch.no_grad():
        one = AutoPeftModelForCausalLM.from_pretrained(llama)(input_ids=torch.tensor([[0, 5]])).logits
        other = by_peft(AutoModelForCausalLM, llama, merged=False)(input_ids=torch.tensor([[0, 5]])).logits
    torch.testing.assert_close(one, other)
