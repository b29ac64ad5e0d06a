"""What runs on a GPU alone: its kernels, and that its numbers are those of a processor."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("no GPU is here", allow_module_level=True)

from dialoscope.models.engines.device import gpu_kernels  # noqa: E402
from dialoscope.models.engines.packing import Piece, make_packs  # noqa: E402
from dialoscope.models.language_model import TransformerLanguageModel  # noqa: E402
from dialoscope.models.protocols import Continuation  # noqa: E402

GPU = torch.device("cuda")
TURNS = [
    "Where have you been all day?",
    "At the sea, and it was cold.",
    "You should have taken a coat with you!",
]
TEXTS = [
    *(Continuation("\n".join(TURNS[:end]) + "\n", reply) for end in (1, 2, 3) for reply in ("Yes.", *TURNS)),
    Continuation("", "An opening without anything before it."),
    Continuation("a b c d e f g h i j k l m n o p " * 40, "and so on, and on"),
]


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch):
    monkeypatch.setenv("DIALOSCOPE_SCORES", "off")


@pytest.mark.parametrize(("dtype", "near"), [("float32", 2e-4), ("float16", 0.1), ("bfloat16", 1.0)])
def test_a_gpu_finds_texts_as_likely_as_a_processor_does(dtype, near):
    there = TransformerLanguageModel(dtype=dtype, device="cuda").log_probabilities(TEXTS)
    here = TransformerLanguageModel(device="cpu").log_probabilities(TEXTS)
    assert max(np.abs(one - other).max() for one, other in zip(there, here, strict=True)) < near


def test_batching_and_sharing_do_not_show():
    lm = TransformerLanguageModel(device="cuda")
    alone = [lm.log_probabilities([text])[0].mean() for text in TEXTS]
    assert np.allclose([found.mean() for found in lm.log_probabilities(TEXTS)], alone, atol=1e-5)


def test_memory_that_runs_out_is_not_the_end(monkeypatch):
    lm = TransformerLanguageModel(device="cuda")
    wanted = lm.log_probabilities(TEXTS)
    decoder = lm._engine.decoder
    hidden = decoder.hidden

    def greedy(ids, *rest):
        if len(ids) > 700:
            torch.empty(2**50, device=GPU)
        return hidden(ids, *rest)

    monkeypatch.setattr(decoder, "hidden", greedy)
    assert all(
        np.allclose(*pair, atol=1e-4) for pair in zip(wanted, lm.log_probabilities(TEXTS), strict=True)
    )


@pytest.mark.parametrize("dims", [64, 80, 128])
@pytest.mark.parametrize("key_heads", [1, 2, 6])
def test_the_attention_kernel_sees_what_it_should(dims, key_heads):
    trunk = tuple(range(100))
    pieces = [Piece(trunk[:size], tuple(range(long))) for size in (9, 40, 100) for long in (2, 30, 70)]
    (pack,) = make_packs(pieces, 10_000)
    begins = np.repeat([tree.begin for tree in pack.trees], [tree.end - tree.begin for tree in pack.trees])
    ends = torch.tensor(np.stack([pack.ends, begins]), dtype=torch.int32, device=GPU)
    chance = torch.Generator(GPU).manual_seed(0)
    query, key, value = (
        torch.randn(len(pack), heads, dims, device=GPU, generator=chance)
        for heads in (6, key_heads, key_heads)
    )
    found = gpu_kernels(GPU).attend(query, key, value, ends, dims**-0.5)
    places = torch.arange(len(pack), device=GPU)
    sees = (places <= places[:, None]) & (places[:, None] < ends[0])
    wanted = torch.nn.functional.scaled_dot_product_attention(
        *(each.transpose(0, 1)[None].double() for each in (query, key, value)),
        attn_mask=sees,
        enable_gqa=True,
    )
    assert torch.allclose(found.double(), wanted[0].transpose(0, 1), atol=1e-5)


def test_log_probabilities_of_odd_vocabularies():
    logits = torch.randn(37, 50_257, device=GPU) * 20
    targets = torch.randint(50_257, (37,), device=GPU)
    wanted = logits.double().log_softmax(-1).gather(1, targets[:, None])[:, 0]
    assert torch.allclose(gpu_kernels(GPU).log_probability(logits, targets).double(), wanted, atol=1e-4)
