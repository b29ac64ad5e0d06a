"""Models on this machine: small random ones of both kinds, and the real default."""

import json
import shutil

import pytest
import torch
import transformers

import dialoscope as ds
from dialoscope.core.errors import BackendError, MissingExtra
from dialoscope.models.language_model import TransformerLanguageModel
from dialoscope.models.protocols import Generation
from dialoscope.systems import model as module
from dialoscope.systems.model import prompt
from tests.unit.models.tiny import (
    SENTENCES,
    save_model,
    save_quietly,
    save_tokenizer,
    stir,
    vocabulary_size,
)

CONTEXTS = [(SENTENCES[0],), SENTENCES[1:4], ("what did you do?", SENTENCES[4]), ("",)]


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def causal(tmp_path_factory):
    return save_model("llama", tmp_path_factory.mktemp("models") / "llama")


SEQ2SEQ = {
    "t5": (
        "T5",
        {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4, "decoder_start_token_id": 1},
    ),
    "bart": (
        "Bart",
        {
            "d_model": 32,
            "encoder_layers": 2,
            "decoder_layers": 2,
            "encoder_attention_heads": 4,
            "decoder_attention_heads": 4,
            "encoder_ffn_dim": 48,
            "decoder_ffn_dim": 48,
            "max_position_embeddings": 48,
            "decoder_start_token_id": 0,
            "forced_eos_token_id": None,
        },
    ),
}


@pytest.fixture(scope="module")
def seq2seq(tmp_path_factory):
    made = {}

    def folder(name):
        if name not in made:
            made[name] = _saved(name, tmp_path_factory.mktemp("models") / name)
        return made[name]

    return folder


def _saved(name, folder):
    family, settings = SEQ2SEQ[name]
    save_tokenizer(folder)
    config = getattr(transformers, f"{family}Config")(
        vocab_size=vocabulary_size(folder), bos_token_id=0, eos_token_id=1, pad_token_id=1, **settings
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = getattr(transformers, f"{family}ForConditionalGeneration")(config)
        stir(model)
    save_quietly(model, folder)
    return folder


def test_a_context_is_read_as_lines_with_names_that_alternate():
    assert prompt(("Hi!",), has_names=True) == "A: Hi!\nB:"
    assert prompt(("Hi!", " two\nlines ", "And?"), has_names=True) == "A: Hi!\nB: two lines\nA: And?\nB:"
    assert prompt(("Hi!", "And?"), has_names=False) == "Hi!\nAnd?\n"


def test_a_causal_model_writes_on(causal):
    system = ds.system(f"{causal},max_tokens=12,form=lines")
    how = Generation(max_tokens=12)
    wanted = TransformerLanguageModel(str(causal)).generate(
        [prompt(context, has_names=False) for context in CONTEXTS], how
    )
    assert system.reply(CONTEXTS) == [[text.strip() for text in texts] for texts in wanted]
    assert system.label == "llama"
    assert str(system) == str(causal)
    assert ds.system(f"{causal},max_tokens=12").reply(CONTEXTS) != system.reply(CONTEXTS)


@pytest.mark.parametrize("kind", ["llama", "t5", "bart"])
def test_samples_depend_on_seed_and_context_alone(causal, seq2seq, kind):
    folder = causal if kind == "llama" else seq2seq(kind)
    system = ds.ModelSystem(str(folder), temperature=1.0, top_k=50, top_p=0.95, max_tokens=8)
    found = system.reply(CONTEXTS, samples=3, seed=2)
    assert [len(texts) for texts in found] == [3] * 4
    assert len({text for texts in found for text in texts}) > 6
    assert system.reply(CONTEXTS[::-1], samples=3, seed=2) == found[::-1]
    assert system.reply(CONTEXTS[1:2], samples=1, seed=3) == [[found[1][1]]]
    assert system.reply(CONTEXTS, samples=3, seed=9) != found


@pytest.mark.parametrize("name", SEQ2SEQ)
def test_a_seq2seq_model_writes_what_transformers_writes(seq2seq, name):
    system = ds.system(f"{seq2seq(name)},max_tokens=10")
    theirs = transformers.AutoModelForSeq2SeqLM.from_pretrained(seq2seq(name)).eval()
    words = transformers.PreTrainedTokenizerFast(tokenizer_file=str(seq2seq(name) / "tokenizer.json"))
    for context, (found,) in zip(CONTEXTS, system.reply(CONTEXTS), strict=True):
        ids = torch.tensor([words(prompt(context, has_names=False))["input_ids"]])
        out = theirs.generate(input_ids=ids[:, -48:], max_new_tokens=10, do_sample=False, num_beams=1)
        text = words.decode(out[0][1:], skip_special_tokens=True)
        assert found == text.lstrip().split("\n")[0].strip()


def test_a_seq2seq_model_can_search_with_beams_and_read_names(seq2seq):
    plain = ds.system(f"{seq2seq('bart')},max_tokens=10").reply(CONTEXTS)
    assert ds.system(f"{seq2seq('bart')},max_tokens=10,beams=3").reply(CONTEXTS) != plain
    assert ds.system(f"{seq2seq('bart')},max_tokens=10,form=names").reply(CONTEXTS) != plain


def test_what_is_too_long_loses_its_beginning(seq2seq):
    system = ds.system(f"{seq2seq('bart')},max_tokens=6")
    long = ("hello there, how are you today? " * 20 + "i am fine",)
    longer = ("and " * 30 + long[0],)
    assert system.reply([long]) == system.reply([longer])


def test_the_likeliest_reply_is_one(causal):
    with pytest.raises(
        BackendError, match=r"2 replies of .*llama would all be the same; set a temperature: .*0\.7"
    ):
        ds.respond([["Hi"]], str(causal), samples=2)


def test_a_model_that_was_changed_is_another(causal, tmp_path):
    folder = shutil.copytree(causal, tmp_path / "copy")
    system = ds.ModelSystem(str(folder))
    before = system.fingerprint
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "note": 1}))
    assert system.fingerprint != before


def test_a_seq2seq_model_that_is_not_whole_is_refused(seq2seq, tmp_path):
    from safetensors.torch import load_file, save_file

    folder = shutil.copytree(seq2seq("bart"), tmp_path / "part")
    weights = load_file(folder / "model.safetensors")
    weights.pop(next(name for name in weights if "encoder" in name and "fc1.weight" in name))
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(BackendError, match="is not a complete seq2seq model: 1 weights are missing"):
        ds.system(str(folder)).reply([("Hi",)])


def test_without_torch_the_message_says_what_to_install(seq2seq, monkeypatch):
    def lacking(name):
        raise ImportError("no", name="torch")

    module._seq2seq.cache_clear()
    monkeypatch.setattr(module, "import_module", lacking)
    with pytest.raises(
        MissingExtra, match=r"needs torch. Install it with: pip install 'dialoscope\[neural\]'"
    ):
        ds.system(str(seq2seq("t5"))).reply([("Hi",)])


@pytest.mark.parametrize(
    ("told", "what"),
    [
        ({"model_type": "bert", "architectures": ["BertModel"]}, " but BertModel"),
        (
            {"architectures": ["LlamaForSequence\x1bClassification"]},
            r" but LlamaForSequence\\x1bClassification",
        ),
        ({"model_type": "roberta", "architectures": None}, ""),
    ],
)
def test_a_model_that_only_reads_is_refused_before_it_is_loaded(causal, tmp_path, told, what):
    folder = shutil.copytree(causal, tmp_path / "reader")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **told}))
    with pytest.raises(
        BackendError,
        match=f"reader is no causal or seq2seq model{what}, and cannot generate a reply. Name one",
    ):
        ds.system(str(folder)).reply([("Hi",)])


@pytest.mark.parametrize("classes", [None, ["LlamaModel"], ["GPT2LMHeadModel"]])
def test_a_model_that_may_write_is_tried(causal, tmp_path, classes):
    folder = shutil.copytree(causal, tmp_path / "writer")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "architectures": classes}))
    assert ds.system(f"{folder},max_tokens=2").reply([("Hi",)])


@pytest.mark.assets
def test_the_default_model_answers(smollm2):
    found = ds.respond(
        [["Do you like tea?"], ["Hi!", "Hello, how are you?"]],
        "smollm2,temperature=0.7,max_tokens=12",
        samples=2,
        seed=1,
    )
    assert not found.errors
    assert found.name == "smollm2"
    assert len({row["response"] for row in found.rows}) >= 3
    assert all("\n" not in row["response"] for row in found.rows)
