"""What models leave out of long texts: which end goes, and that it is said which texts it was."""

import math

import numpy as np
import pytest

import dialoscope as ds
from dialoscope.core.errors import BackendError
from dialoscope.models.encoder import TransformerEncoder
from dialoscope.models.fakes import FakeEncoder
from dialoscope.models.heads import HeadClassifier
from dialoscope.models.language_model import TransformerLanguageModel
from dialoscope.models.protocols import Continuation, Pair
from dialoscope.models.truncation import find_cuts, keep_latest, may_exceed
from tests.unit.models.test_heads import checkpoint
from tests.unit.models.tiny import SENTENCES

pytestmark = pytest.mark.usefixtures("one_thread", "no_scores")

STORY = tuple(SENTENCES * 40)
QUESTIONS = ("Do you like dogs?", "The stock market fell.")


def encoder(max_tokens=0, **settings):
    return TransformerEncoder("minilm", max_tokens=max_tokens, device="cpu", **settings)


def scored(metric, *contexts, reply="I love dogs.", references=()):
    examples = [
        ds.Example(str(row), "s", reply, tuple(context), tuple(references))
        for row, context in enumerate(contexts)
    ]
    return ds.evaluate(examples, metric)


# What an encoder reads


def test_the_latest_part_of_a_text_is_as_long_as_can_be_read(minilm):
    short, long = "hello there", "\n".join([*STORY, QUESTIONS[0]])
    kept, newest = encoder().latest([short, long])
    assert kept == short
    assert long.endswith(newest)
    assert newest.endswith(QUESTIONS[0])
    tokens = [len(vectors.ids) for vectors in encoder().encode_tokens([long, newest])]
    assert tokens[0] == 512
    assert 512 - 8 <= tokens[1] <= 512  # no more than the rest of a word is lost
    assert not encoder().cut([newest]).end.any()


@pytest.mark.parametrize("text", ["你好吗" * 500, "x" * 5000, "\ufdfa" * 300, "e\u0301" * 2000, "🐱" * 900])
def test_texts_without_spaces_are_shortened_too(minilm, text):
    (newest,) = encoder(32).latest([text])
    assert newest
    assert text.endswith(newest)
    assert not encoder(32).cut([newest]).end.any()


def test_it_is_said_which_texts_lose_which_end(minilm):
    long = " ".join(STORY)
    cut = encoder().cut(
        ["short", long, Pair(long, "yes"), Pair("yes", long), Pair(long, long), Pair("a", "b")]
    )
    assert cut.limit == 512
    assert cut.beginning.tolist() == [False, False, True, True, True, False]
    assert cut.end.tolist() == [False, True, False, True, True, False]


@pytest.mark.parametrize("text", ["abc def", "你好", "\ufdfa", "naïve 🐱"])
def test_a_text_that_cannot_exceed_does_not(minilm, text):
    (tokens,) = encoder().encode_tokens([text])
    limit = next(limit for limit in range(1000) if not may_exceed(text, limit))
    assert len(tokens.ids) - 2 <= limit


def test_a_model_that_does_not_say_loses_nothing():
    cut = find_cuts(FakeEncoder(), ["a", "b"])
    assert (cut.limit, cut.beginning.any(), cut.end.any()) == (0, False, False)
    assert keep_latest(FakeEncoder(), ["a b"]) == ["a b"]


# The newest turn stays


def test_relatedness_reads_the_newest_turn_of_a_long_context(minilm):
    metric = ds.Relatedness(encoder=encoder(), turns=999)
    result = scored(metric, *[(*STORY, question) for question in QUESTIONS], ("hi", QUESTIONS[0]))
    values = result.values(metric)
    assert abs(values[0] - values[1]) > 1e-4
    assert result.provenance.warnings[-1] == (
        "minilm reads at most 512 tokens: 2 of 3 replies were read without the oldest part of what comes "
        "before them."
    )


def test_a_head_reads_the_newest_turn_of_a_long_context(minilm, tmp_path):
    minilm = {"embedding": "minilm", "model": encoder().fingerprint, "dims": 384}
    folder = checkpoint(tmp_path / "head", turns=999, **minilm)
    head = HeadClassifier(str(folder), device="cpu")
    pairs = [Pair("\n".join((*STORY, question)), "I love dogs.") for question in QUESTIONS]
    first, second = head.classify(pairs)[:, 1]
    assert abs(first - second) > 1e-6
    cut = head.cut([*pairs, Pair("hi", " ".join(STORY)), Pair("hi", "yes")])
    assert cut.beginning.tolist() == [True, True, False, False]
    assert cut.end.tolist() == [False, False, True, False]


def test_adem_reads_the_newest_turn_of_a_long_context(minilm, tmp_path):
    from dialoscope.models.bilinear import encode_replies

    rows = [
        ds.Example("1", "s", "I love dogs.", (" ".join(STORY), question), ("yes",)) for question in QUESTIONS
    ]
    sides = encode_replies(encoder(), rows, 4)
    assert np.abs(sides.context[0] - sides.context[1]).max() > 1e-4


# What is noted


@pytest.mark.parametrize(
    ("metric", "note"),
    [
        (
            "bertscore:encoder=minilm,encoder.max_tokens=16",
            "16 tokens: 1 of 1 replies were read without the end",
        ),
        ("ruber-referenced:encoder.max_tokens=16", "16 tokens: 1 of 1 replies were read without the end"),
        ("fbd:encoder.max_tokens=64", "64 tokens: 1 of 1 replies were read without the oldest part"),
        (
            "relatedness:encoder=minilm,encoder.max_tokens=16",
            "16 tokens: 1 of 1 replies were read without the end",
        ),
    ],
)
def test_cutting_is_noted(minilm, metric, note):
    long = " ".join(SENTENCES[:4])
    result = scored(metric, [long, long, long, "hi"], reply=long, references=[long])
    assert any(note in warning for warning in result.provenance.warnings), result.provenance.warnings


def test_a_language_model_says_which_replies_it_read_without_all_before_them(smollm2):
    metrics = ["coherence:lm=smollm2,lm.window=64,scale=raw", "pmi:lm=smollm2,lm.window=64"]
    result = scored(metrics, STORY, ("hi",))
    assert result.provenance.warnings == (
        "smollm2 reads at most 64 tokens: 1 of 2 replies were read without the oldest part of what comes "
        "before them.",
    )


# A window is refused where it is too wide


def test_a_window_beyond_the_models_own_is_refused_also_where_all_is_in_the_cache(smollm2):
    wide = TransformerLanguageModel("smollm2", window=20_000)
    with pytest.raises(
        BackendError,
        match="window is 20000; it must be at most 8192 for smollm2, or 0, which is this maximum",
    ):
        wide.log_probabilities([Continuation("", "hi")])


# Spaces around a reply


@pytest.mark.parametrize("name", ["coherence", "fluency", "pmi", "perplexity"])
def test_spaces_around_a_reply_do_not_show_unless_they_are_kept(name):
    replies = ["I have two dogs.", "   I have two dogs.", "I have two dogs.  \n", "\u3000I have two dogs."]
    examples = [ds.Example(str(row), "s", text, ("dogs?",)) for row, text in enumerate(replies)]
    lm = "lm=smollm2"
    scale = ",scale=raw" if name in ("coherence", "fluency") else ""
    stripped, kept = (
        ds.evaluate(examples, metric).values(metric)
        for metric in (f"{name}:{lm}{scale}", f"{name}:{lm}{scale},spaces=keep")
    )
    assert (stripped == stripped[0]).all()
    assert not math.isnan(stripped[0])
    assert kept[0] == pytest.approx(stripped[0], rel=1e-4)
    assert np.ptp(kept) > 0.1
    assert "|spaces:strip|" in ds.metric(name).signature


def test_blank_replies_of_another_system_do_not_move_the_floor():
    def floor(*others):
        texts = [f"tea number {number} please" for number in range(20)]
        mine = [ds.Example(str(row), "A", text, ("tea?",)) for row, text in enumerate(texts)]
        theirs = [ds.Example(str(row), "Z", text, ("tea?",)) for row, text in enumerate(others)]
        return ds.evaluate([*mine, *theirs], "coherence:lm=fake").metrics[0].floor

    assert floor(" ", "\n") == floor("", "") == floor()
