"""RUBER: what is judged and compared, how the two are scaled and blended, and what they share."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dialoscope as ds
from dialoscope.core.tally import Sums
from dialoscope.metrics import metrics
from dialoscope.metrics.ruber import PARTS
from dialoscope.models.fakes import FakeClassifier, FakeEncoder, FakeWordVectors
from dialoscope.models.protocols import Pair, TokenVectors
from dialoscope.text.batch import Batch

FAKE = ds.Ruber(model="fake", encoder="fake")
WORDS = (
    "tea",
    "milk",
    "water",
    "juice",
    "wine",
    "beer",
    "soup",
    "rain",
    "snow",
    "wind",
    "sun",
    "fog",
    "ice",
    "dew",
    "hail",
    "mist",
)
PARTS_FAKE = ds.RuberUnreferenced(model="fake"), ds.RuberReferenced(encoder="fake")


@dataclass(frozen=True)
class Told(FakeClassifier):
    """Says of each pair what it was told, and remembers what it was asked."""

    labels: ClassVar[tuple[str, ...]] = ("wrong", "right")
    told: ClassVar[Mapping[Pair, float]] = {}
    asked: ClassVar[list[Pair]] = []

    def classify(self, pairs):
        self.asked.extend(pairs)
        right = np.array([self.told.get(pair, 0.5) for pair in pairs])
        return np.stack([1 - right, right], axis=1)


@dataclass(frozen=True)
class Single(Told):
    """Has one output."""

    labels: ClassVar[tuple[str, ...]] = ("relevance",)

    def classify(self, pairs):
        return super().classify(pairs)[:, 1:]


@dataclass(frozen=True)
class Inference(Told):
    """Judges something else."""

    labels: ClassVar[tuple[str, ...]] = ("entailment", "contradiction")

    def classify(self, pairs):
        raise AssertionError("asked although it cannot answer")


@dataclass(frozen=True)
class Watched(FakeEncoder):
    """Remembers the texts that it was given, and has no token for a lone dash."""

    seen: ClassVar[list[str]] = []

    def encode_tokens(self, texts):
        self.seen.extend(texts)
        return [
            TokenVectors(np.zeros(0, int), np.zeros((0, 26), np.float32)) if text == "-" else found
            for text, found in zip(texts, super().encode_tokens(texts), strict=True)
        ]


@pytest.fixture
def told(monkeypatch):
    def telling(model=Told, **said):
        pairs = {Pair(*text.split(" > ")): value for text, value in said.pop("pairs", {}).items()}
        monkeypatch.setattr(Told, "told", pairs)
        monkeypatch.setattr(Told, "asked", [])
        return model()

    return telling


def reply(text, *context, references=(), name="1", system="s"):
    return ds.Example(name, system, text, context, references)


def some_replies(count=24, system="s"):
    """Of several probabilities and cosines, to the stand-ins."""
    return [
        reply(
            f"{WORDS[number % 16]} {WORDS[number % 5]} {WORDS[number % 3]} please",
            "will you have tea or milk or water",
            references=(f"{WORDS[(number + 1) % 16]} {WORDS[number % 7]} please",),
            name=str(number),
            system=system,
        )
        for number in range(count)
    ]


# The unreferenced part


def test_the_reply_is_judged_after_its_last_turns_a_line_each(told):
    model = told(pairs={"b\nc > yes": 0.75, "b\nc > no": 0.25})
    one = ds.RuberUnreferenced(model=model, turns=2)
    result = ds.evaluate([reply("yes", "a", "b", "c"), reply("no", "a", "b", "c", name="2")], one)
    assert Told.asked == [Pair("b\nc", "yes"), Pair("b\nc", "no")]
    assert result.values(one).tolist() == [0.75, 0.25]
    assert result.score(one, "s") == 0.5


def test_four_turns_are_shown_unless_another_number_is_named(told):
    ds.evaluate([reply("yes", *"abcdef")], ds.RuberUnreferenced(model=told()))
    assert Told.asked == [Pair("c\nd\ne\nf", "yes")]


def test_equal_pairs_are_judged_once(told):
    one = ds.RuberUnreferenced(model=told(pairs={"a > yes": 0.9}))
    result = ds.evaluate([reply("yes", "a"), reply("yes", "a", name="2", system="t")], one)
    assert Told.asked == [Pair("a", "yes")]
    assert [result.score(one, system) for system in "st"] == [0.9, 0.9]


@pytest.mark.parametrize(
    "example",
    [reply("", "a"), reply(" \n", "a"), reply("yes"), reply("yes", " ", ""), reply("yes", "a", "", "")],
    ids=["empty reply", "blank reply", "no context", "blank context", "blank where it looks"],
)
def test_without_anything_said_nothing_is_right_or_wrong(example, told):
    one = ds.RuberUnreferenced(model=told(), turns=2)
    result = ds.evaluate([example], one, missing="undefined")
    assert math.isnan(result.score(one, "s"))
    assert Told.asked == []


def test_a_model_with_a_single_output_is_taken_at_its_word(told):
    one = ds.RuberUnreferenced(model=told(Single, pairs={"a > yes": 0.6}))
    assert ds.evaluate([reply("yes", "a")], one).score(one, "s") == 0.6


@pytest.mark.parametrize("made", [ds.RuberUnreferenced, ds.Ruber])
def test_a_model_that_judges_something_else_is_refused_before_any_computes(told, made):
    right = ds.RuberUnreferenced(model=told())
    wrong = made(model=Inference())
    with pytest.raises(ds.MetricError) as refused:
        ds.evaluate([reply("yes", "a", references=("yes",))], [right, wrong])
    assert Told.asked == []
    assert str(refused.value) == (
        f"{wrong.name}: fake has no class 'right', but entailment, contradiction. Name a model that judges "
        "whether a reply suits its context, such as one that dialoscope train ruber made."
    )


@pytest.mark.parametrize("name", ["ruber-unreferenced", "ruber"])
def test_a_model_must_be_shown_something(name):
    with pytest.raises(ds.MetricError) as refused:
        ds.metric(f"{name}:turns=0")
    assert str(refused.value) == f"{name}: turns must be 1 or more."


# The referenced part


def by_hand(tokens, others, pooling):
    """The same cosine from the vectors of tokens, in plain numpy."""
    parts = {
        "max": lambda rows: rows.max(axis=0),
        "min": lambda rows: rows.min(axis=0),
        "mean": lambda rows: rows.mean(axis=0),
        "max-min": lambda rows: np.concatenate([rows.max(axis=0), rows.min(axis=0)]),
    }
    one, other = (parts[pooling](np.asarray(rows, float)) for rows in (tokens, others))
    return one @ other / np.linalg.norm(one) / np.linalg.norm(other)


@pytest.mark.parametrize("pooling", ["max", "min", "mean", "max-min"])
def test_it_is_the_cosine_of_what_is_pooled(pooling):
    texts = "aaab abc", "abbb ac"
    tokens = [one.vectors for one in FakeEncoder().encode_tokens(texts)]
    words = [FakeWordVectors().vectors(text.split()) for text in texts]
    for setting, vectors in ({"encoder": "fake"}, tokens), ({"vectors": "fake"}, words):
        one = ds.RuberReferenced(**setting, pooling=pooling)
        result = ds.evaluate([reply(texts[0], references=texts[1:])], one)
        assert result.score(one, "s") == pytest.approx(by_hand(*vectors, pooling), abs=1e-12)


@pytest.mark.parametrize("setting", ["encoder=fake", "vectors=fake"])
def test_of_several_references_the_best_counts(setting):
    ways = metrics(f"ruber-referenced:{setting},pooling=max/mean/max-min")
    result = ds.evaluate([reply("a cup of tea", references=("rain and snow", "a cup of tea", " "))], ways)
    assert [result.score(one, "s") for one in ways] == pytest.approx([1, 1, 1])
    assert len(result.tallies) == 1  # however it is pooled


@pytest.mark.parametrize("setting", ["encoder=fake", "vectors=fake"])
@pytest.mark.parametrize(
    "example",
    [
        reply("", references=("tea",)),
        reply(" \n", references=("tea",)),
        reply("tea"),
        reply("tea", references=("",)),
    ],
    ids=["empty reply", "blank reply", "no reference", "empty reference"],
)
def test_what_says_nothing_is_near_nothing(setting, example):
    one = ds.metric(f"ruber-referenced:{setting}")
    result = ds.evaluate([example, reply("tea", references=("tea",), name="2")], one, missing="undefined")
    assert math.isnan(result.values(one)[0])
    assert result.score(one, "s") == pytest.approx(1)


def test_a_text_without_tokens_or_known_words_has_no_direction():
    examples = [reply("-", references=("tea",)), reply("3 4", references=("tea",))]
    for example, setting in zip(examples, ({"encoder": Watched()}, {"vectors": "fake"}), strict=True):
        one = ds.RuberReferenced(**setting)
        assert math.isnan(ds.evaluate([example], one).score(one, "s"))


def test_each_text_is_encoded_once(monkeypatch):
    monkeypatch.setattr(Watched, "seen", [])
    examples = [
        reply("tea", references=("milk", "tea")),
        reply("milk", references=("tea", "milk"), name="2"),
        reply("tea", references=("milk",), name="3"),
    ]
    ds.evaluate(examples, [ds.RuberReferenced(encoder=Watched(), pooling=one) for one in ("max", "min")])
    assert sorted(Watched.seen) == ["milk", "tea"]


@pytest.mark.parametrize("made", [ds.RuberReferenced, ds.Ruber])
def test_either_an_encoder_or_word_vectors(made, tmp_path):
    with pytest.raises(ds.MetricError) as refused:
        made(encoder="fake", vectors="fake")
    assert str(refused.value) == f"{made.name}: name either an encoder or vectors, not both."
    assert made(vectors=tmp_path / "words.txt").vectors == str(tmp_path / "words.txt")


def test_only_the_models_that_are_used_stand_in_the_record():
    one, other = ds.RuberReferenced(vectors="fake"), ds.RuberReferenced(encoder="fake")
    assert one.backends == (FakeWordVectors(),)
    assert other.backends == (FakeEncoder(),)
    assert ds.Ruber(model="fake", vectors="fake").backends == (FakeClassifier(), FakeWordVectors())
    assert set(ds.evaluate(some_replies(2), one).provenance.models) == {"fake-vectors|v:2"}


def test_word_vectors_may_be_a_file_in_any_folder(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("tea 1 0\nmilk 0.6 0.8\n", encoding="utf-8")
    one = ds.metric(f"ruber-referenced:vectors={path}")
    assert ds.metric(str(one)) == one
    assert ds.evaluate([reply("tea", references=("milk",))], one).score(one, "s") == pytest.approx(0.6)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from(["tea", "milk", "rain"]), min_size=1, max_size=5), st.data())
def test_neither_order_nor_sides_matter(words, data):
    shuffled = " ".join(data.draw(st.permutations(words)))
    other = data.draw(st.sampled_from(["a cup", "snow and rain"]))
    text = " ".join(words)
    pairs = (text, other), (shuffled, other), (other, text)
    batch = Batch([reply(first, references=(second,)) for first, second in pairs])
    for one in metrics("ruber-referenced:encoder=fake,pooling=max/mean/max-min"):
        found = one.score_each(one.measure(batch)).tolist()
        assert found == pytest.approx(found[:1] * 3)


def test_the_mean_of_word_vectors_is_the_metric_average():
    one, other = ds.RuberReferenced(vectors="fake", pooling="mean"), ds.Average(vectors="fake")
    result = ds.evaluate(some_replies(), [one, other])
    assert result.values(one) == pytest.approx(result.values(other), abs=1e-12)


# The blend


@pytest.mark.parametrize(
    ("blend", "expected"),
    [
        ("arithmetic", [0.4, 0.625, 0.5]),
        ("geometric", [math.sqrt(0.1 * 0.7), math.sqrt(0.25), 0]),
        ("min", [0.1, 0.25, 0]),
        ("max", [0.7, 1, 1]),
    ],
)
def test_the_two_are_scaled_and_blended(blend, expected):
    one = replace(
        FAKE, blend=blend, unreferenced_low=0.2, unreferenced_high=0.6, referenced_low=-1, referenced_high=1
    )
    rows = [[0.24, 0.4], [0.3, 1.0], [0.1, 1.0]]  # the last lies below its scale
    tally = Sums(np.array([[unreferenced, *[cosine] * 4] for unreferenced, cosine in rows]))
    assert one.score_each(tally) == pytest.approx(expected)
    assert one.score(tally) == pytest.approx(np.mean(expected))


def test_the_lowest_of_all_systems_becomes_0_and_the_highest_1():
    examples = [*some_replies(24, "a"), *some_replies(24, "b")[::-1]]
    result = ds.evaluate(examples, [*PARTS_FAKE, *(replace(FAKE, blend=one) for one in ("min", "max"))])
    parts = [result.values(one) for one in PARTS_FAKE]
    scaled = [(values - values.min()) / (values.max() - values.min()) for values in parts]
    lower, higher = result.metrics[2:]
    assert result.values(lower) == pytest.approx(np.minimum(*scaled), abs=1e-5)
    assert result.values(higher) == pytest.approx(np.maximum(*scaled), abs=1e-5)
    for part, values in zip(PARTS, parts, strict=True):
        ends = getattr(lower, f"{part}_low"), getattr(lower, f"{part}_high")
        assert ends == pytest.approx((values.min(), values.max()), rel=1e-5)
        assert f"|{part}_low:{ends[0]}|{part}_high:{ends[1]}|" in lower.signature
    assert metrics(str(lower)) == [lower]
    assert result.provenance.fitted == (str(lower), str(higher))
    assert result.provenance.warnings == ()


def test_a_reply_that_lacks_a_part_has_no_blend_and_no_say_in_the_scale():
    examples = some_replies()
    odd = [
        reply("tea " * 9, "tea", name="x"),
        reply("tea", references=("tea",), name="y"),
        reply("", "a", name="z"),
    ]
    found = ds.evaluate([*examples, *odd], FAKE, missing="undefined")
    assert found.metrics == ds.evaluate(examples, FAKE).metrics
    assert np.isnan(found.values(FAKE)[-3:]).all()


def test_what_was_set_by_hand_is_not_fitted():
    ends = {"unreferenced_low": -1, "unreferenced_high": 2, "referenced_low": 0.1, "referenced_high": 0.9}
    one = replace(FAKE, **ends)
    (found,) = ds.evaluate(some_replies(), one).metrics
    assert found == one
    assert found.fit_scale(Sums(np.zeros((0, 5)))) == (found, "")


def test_the_scales_of_both_parts_are_set_or_neither():
    with pytest.raises(
        ds.MetricError, match=r"^ruber: set the scales of both parts, or leave both to be fitted\.$"
    ):
        ds.Ruber(unreferenced_high=1)


def test_replies_that_are_all_alike_have_no_scale():
    examples = [
        reply("tea", "tea", references=(reference,), name=reference) for reference in ("milk", "tea", "rain")
    ]
    result = ds.evaluate(examples, FAKE)
    assert np.isnan(result.values(FAKE)).all()
    assert result.metrics == (FAKE,)
    assert result.provenance.warnings[-1] == (
        "ruber:model=fake,encoder=fake is undefined: all replies have the same unreferenced score, and no "
        "scale distinguishes them."
    )
    result = ds.evaluate([reply("tea", "tea", references=("milk",))], FAKE)
    assert result.provenance.warnings[-1] == (
        "ruber:model=fake,encoder=fake is undefined: all replies have the same unreferenced and the same "
        "referenced score, and no scale distinguishes them."
    )


def test_without_a_reply_that_has_both_parts_there_is_no_scale():
    examples = [reply("tea", "tea"), reply("tea", references=("tea",), name="2")]
    result = ds.evaluate(examples, FAKE, missing="undefined")
    assert math.isnan(result.score(FAKE, "s"))
    assert result.provenance.warnings[-1] == (
        "ruber:model=fake,encoder=fake is undefined: no reply has both parts, to fit its scale to."
    )


def test_a_scale_from_few_replies_is_warned_of():
    assert ds.evaluate(some_replies(20), FAKE).provenance.warnings == ()
    assert ds.evaluate(some_replies(19), FAKE).provenance.warnings == (
        "The scale of ruber:model=fake,encoder=fake was fitted to 19 replies, so that the lowest and highest "
        "of them determine it; fit it to more, or take that of a larger run with --scales-from RUN "
        "(scales_from=).",
    )


@pytest.mark.parametrize(
    ("ends", "shown"),
    [
        ((0.5, 0.5), "(0.5) must be below unreferenced_high (0.5)"),
        ((0.9, 0), "(0.9)"),
        ((0, math.inf), "(inf)"),
        ((math.nan, 1), "(nan)"),
    ],
)
def test_a_scale_must_have_two_ends(ends, shown):
    with pytest.raises(ds.MetricError) as refused:
        ds.Ruber(unreferenced_low=ends[0], unreferenced_high=ends[1])
    assert str(refused.value).startswith("ruber: unreferenced_low (")
    assert shown in str(refused.value)
    assert str(refused.value).endswith("; leave both out to fit them to the replies.")


def test_blend_and_parts_ask_each_model_once(told, monkeypatch):
    monkeypatch.setattr(Watched, "seen", [])
    model, examples = told(), some_replies(6)
    every = [
        ds.RuberUnreferenced(model=model),
        ds.RuberReferenced(encoder=Watched()),
        ds.Ruber(model=model, encoder=Watched()),
        ds.Ruber(model=model, encoder=Watched(), blend="min", pooling="mean"),
    ]
    result = ds.evaluate(examples, every)
    assert len(Told.asked) == len(set(Told.asked)) == len({one.response for one in examples})
    assert len(Watched.seen) == len(set(Watched.seen))
    assert len(result.tallies) == 3  # both blends are made from the same


def test_a_narrow_scale_may_be_off_by_more_and_a_root_by_most():
    wide = replace(FAKE, unreferenced_high=1, referenced_high=1)
    narrow = replace(wide, referenced_low=0.9)
    assert wide.tolerance == pytest.approx(1e-4) == FAKE.tolerance
    assert narrow.tolerance == pytest.approx(1e-3)
    assert replace(narrow, blend="geometric").tolerance == pytest.approx(math.sqrt(1e-3))


def test_the_suite_of_learned_metrics():
    assert [str(one) for one in ds.suite("learned")] == ["ruber-unreferenced", "ruber-referenced", "ruber"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("ruber-unreferenced:model=fake", ds.RuberUnreferenced(model=FakeClassifier())),
        ("ruber-referenced:encoder=mpnet,pooling=mean", ds.RuberReferenced(encoder="mpnet", pooling="mean")),
        ("ruber:vectors=glove-50d,blend=max", ds.Ruber(vectors="glove-50d", blend="max")),
    ],
)
def test_what_is_written_is_what_is_read(text, wanted):
    assert ds.metric(text) == wanted
    assert str(wanted) == text
