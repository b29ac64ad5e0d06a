"""Replies scored with a language model: what it is asked, and what is made of its answers."""

import dataclasses
import json
import math
import re
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import dialoscope as ds
from dialoscope.metrics import metrics
from dialoscope.models.fakes import FakeLanguageModel
from dialoscope.models.http_language_model import HttpLanguageModel
from dialoscope.models.language_model import TransformerLanguageModel
from dialoscope.models.protocols import Continuation
from dialoscope.text.batch import Batch


def reply(text, *context, name="1"):
    return ds.Example(name, "s", text, context, ())


@dataclass(frozen=True)
class Recorder(FakeLanguageModel):
    """Keeps what it was asked."""

    asked: ClassVar[list[Continuation]] = []

    def log_probabilities(self, texts):
        self.asked.extend(texts)
        return super().log_probabilities(texts)


def asked(metric, example):
    Recorder.asked.clear()
    ds.evaluate([example], [metric])
    return Recorder.asked


def test_turns_are_lines_and_the_reply_is_the_next():
    example = reply("fine", "how are you", "and you")
    assert asked(ds.Coherence(lm=Recorder()), example) == [("how are you\nand you\n", "fine")]
    assert asked(ds.Coherence(lm=Recorder(), turns=1), example) == [("and you\n", "fine")]
    assert asked(ds.Coherence(lm=Recorder(), join="space"), example) == [("how are you and you", " fine")]


def test_it_is_the_mean_over_tokens_and_undefined_without_any():
    examples = [reply("yes no", "tea?"), reply("", "tea?", name="2"), reply("yes", name="3")]
    result = ds.evaluate(examples, ds.Coherence(lm=FakeLanguageModel(), scale="raw"), missing="undefined")
    (tokens,) = FakeLanguageModel().log_probabilities([Continuation("tea?\n", "yes no")])
    found = result.values("coherence:lm=fake,scale=raw")
    assert found[0] == pytest.approx(tokens.mean())
    assert np.isnan(found[1:]).all()
    assert result.score("coherence:lm=fake,scale=raw", "s") == found[0]


@pytest.mark.parametrize(
    ("text", "lm"),
    [
        ("coherence", TransformerLanguageModel("smollm2-dialog")),
        ("coherence:lm=fake", FakeLanguageModel()),
        ("coherence:lm=org/model", TransformerLanguageModel("org/model")),
        ("coherence:lm=gpt2,lm.window=512,turns=2", TransformerLanguageModel("gpt2", window=512)),
        ("coherence:lm.dtype=bfloat16", TransformerLanguageModel("smollm2-dialog", dtype="bfloat16")),
        ("coherence:lm=http://host:1/v1#m", HttpLanguageModel("http://host:1/v1", "m")),
        (
            "coherence:lm=http://host:1/v1#m,lm.revision=7",
            HttpLanguageModel("http://host:1/v1", "m", revision="7"),
        ),
    ],
)
def test_a_text_names_the_model_and_its_settings(text, lm):
    (found,) = metrics(text)
    assert found.lm == lm
    assert metrics(str(found)) == [found]
    assert str(found) == text


def test_a_model_can_be_given_by_its_name():
    assert ds.Coherence(lm="gpt2") == ds.metric("coherence:lm=gpt2")


def test_several_values_of_other_settings_are_several_metrics():
    assert [one.turns for one in metrics("coherence:lm=a/b,turns=1/2")] == [1, 2]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (
            "coherence:lm.size=3",
            "lm has no setting 'size'. It has: revision, dtype, start, window, device, budget.",
        ),
        ("coherence:lm=fake,lm.size=3", "lm has no setting 'size'. It has: none."),
        ("coherence:lm.window=big", "lm.window must be a whole number, not 'big'"),
        ("coherence:lm=http://host/v1", "'http://host/v1' names no model"),
        ("coherence:lm.dtype=int8", "dtype is 'int8'; it must be one of: float32, bfloat16, float16"),
        ("coherence:turns=-1", "turns must be 0"),
        ("coherence:turns.x=1", "coherence has no setting 'turns.x'"),
    ],
)
def test_a_wrong_setting_is_explained(text, complaint):
    with pytest.raises(ds.DialoscopeError, match=complaint.replace("(", r"\(")):
        metrics(text)


def test_a_thing_that_is_no_model_is_refused():
    with pytest.raises(ds.MetricError, match="coherence: lm must be a LanguageModel, not '3'"):
        ds.Coherence(lm=3)


@dataclass(frozen=True)
class NeverLoaded(FakeLanguageModel):
    def log_probabilities(self, texts):
        raise AssertionError("it was asked before all replies had been looked at")


def test_what_is_lacking_is_told_before_any_model_is_asked():
    examples = [*(reply("yes", "tea?", name=str(number)) for number in range(5000)), reply("no", name="last")]
    with pytest.raises(ds.MetricError, match=r"needs context, but 1 of 5001 replies .*'last'"):
        ds.evaluate(examples, ds.Coherence(lm=NeverLoaded()))


def test_a_metric_that_is_left_out_asks_no_model():
    metrics = [ds.Coherence(lm=NeverLoaded()), ds.Words()]
    assert ds.evaluate([reply("yes")], metrics, missing="leave-out").metrics == (ds.Words(),)


def test_a_run_says_which_model_made_it_and_is_verified(tmp_path, sample):
    result = ds.evaluate(ds.read(sample), ["coherence:lm=fake", "words"])
    assert result.provenance.models == {"fake-lm|v:1": "fake"}
    assert "words" not in result.provenance.models
    result.save(tmp_path / "run")
    assert ds.verify(tmp_path / "run").holds


def test_verify_says_when_what_is_behind_a_model_has_changed(tmp_path, sample, monkeypatch):
    ds.evaluate(ds.read(sample), "coherence:lm=fake").save(tmp_path / "run")
    monkeypatch.setattr(FakeLanguageModel, "fingerprint", "other")
    (difference,) = ds.verify(tmp_path / "run").differences
    assert difference == "the model fake-lm|v:1 has changed: its hash was fake, is other"


def test_numbers_of_models_may_be_off_by_what_their_precision_allows():
    full, half = ds.metric("coherence"), ds.metric("coherence:lm.dtype=bfloat16")
    assert ds.Words().tolerance < full.tolerance < half.tolerance


@pytest.mark.parametrize(("shift", "holds"), [(1e-5, True), (0.01, False)])
def test_verify_tells_rounding_from_another_number(tmp_path, sample, monkeypatch, shift, holds):
    ds.evaluate(ds.read(sample), "coherence:lm=fake").save(tmp_path / "run")
    honest = FakeLanguageModel.log_probabilities
    monkeypatch.setattr(
        FakeLanguageModel,
        "log_probabilities",
        lambda self, texts: [one + shift for one in honest(self, texts)],
    )
    assert ds.verify(tmp_path / "run").holds == holds


def test_verify_knows_models_that_are_gone(tmp_path, sample, monkeypatch):
    ds.evaluate(ds.read(sample), "coherence:lm=fake").save(tmp_path / "run")
    monkeypatch.setattr(FakeLanguageModel, "version", 2)
    with pytest.raises(ds.RunError):
        ds.verify(tmp_path / "run")


def test_the_machine_does_not_show_in_the_signature():
    here = TransformerLanguageModel("smollm2-dialog", device="cpu", budget=7)
    assert dataclasses.replace(ds.Coherence(), lm=here).signature == ds.Coherence().signature


FOUR = [ds.Coherence, ds.Fluency, ds.Perplexity, ds.Pmi]


@dataclass(frozen=True)
class Counting(FakeLanguageModel):
    """Keeps what it was asked, call by call."""

    calls: ClassVar[list[list[Continuation]]] = []

    def log_probabilities(self, texts):
        self.calls.append(list(texts))
        return super().log_probabilities(texts)


def calls(examples, *metrics):
    Counting.calls.clear()
    ds.evaluate(examples, metrics)
    return Counting.calls


def test_four_metrics_are_one_reading_of_each_text():
    examples = [reply(text, "tea or not", name=text) for text in ("yes please", "no", "yes please.")]
    examples += [reply("no", "tea or not", name="again")]
    (asked,) = calls(
        examples, *(one(lm=Counting()) for one in FOUR), ds.Coherence(lm=Counting(), length="sum")
    )
    given = [("tea or not\n", text) for text in ("yes please", "no", "yes please.")]
    assert sorted(asked) == sorted([*given, *(("", text) for _, text in given)])


def test_another_way_of_reading_asks_for_what_is_new_alone():
    (asked,) = calls(
        [reply("yes", "tea?", "or not?")],
        *(one(lm=Counting()) for one in FOUR),
        ds.Coherence(lm=Counting(), turns=1),
        ds.Perplexity(lm=Counting(), turns=1),
    )
    assert sorted(asked) == [("", "yes"), ("or not?\n", "yes"), ("tea?\nor not?\n", "yes")]


def test_a_metric_that_is_measured_without_a_run_asks_by_itself():
    Counting.calls.clear()
    batch = Batch([reply("yes", "tea?")])
    for one in FOUR:
        one(lm=Counting()).measure(batch)
    assert [len(asked) for asked in Counting.calls] == [1, 1]


def test_fluency_alone_needs_no_context_and_reads_none():
    assert calls([reply("yes"), reply("no", "tea?", name="2")], ds.Fluency(lm=Counting())) == [
        [("", "yes"), ("", "no")]
    ]


def test_nothing_is_asked_about_a_reply_without_words():
    assert calls([reply("", "tea?")], *(one(lm=Counting(), **RAW.get(one, {})) for one in FOUR)) == []


RAW = {ds.Coherence: {"scale": "raw"}, ds.Fluency: {"scale": "raw"}}


@dataclass(frozen=True)
class Fixed(FakeLanguageModel):
    """A word after `so` or after a context is likelier; a first word that nothing precedes is not scored."""

    def log_probabilities(self, texts):
        return [
            np.array([-2.0 if prefix else -4.0] * (len(text.split()) - (not prefix)))
            for prefix, text in texts
        ]


def one_value(metric, example):
    (value,) = ds.evaluate([example], metric, missing="undefined").values(metric)
    return value


def test_mutual_information_compares_the_same_tokens():
    example = reply("yes or no", "tea?")
    assert one_value(ds.Pmi(lm=Fixed()), example) == 2
    assert one_value(ds.Pmi(lm=Fixed(), length="sum"), example) == 4, "the first word is in neither sum"
    assert one_value(ds.Pmi(lm=Fixed(), scale="normalised"), example) == 0.5
    assert math.isnan(one_value(ds.Pmi(lm=Fixed()), reply("yes", "tea?"))), "no token is in both"
    assert math.isnan(one_value(ds.Pmi(lm=Fixed()), reply("yes or no")))


def test_mutual_information_reads_the_same_text_with_and_without_context():
    (asked,) = calls([reply("yes", "tea?")], ds.Pmi(lm=Counting(), join="space"))
    assert asked == [("tea?", " yes"), ("", " yes")]


def test_perplexity_is_made_from_all_tokens_and_not_the_mean_of_replies():
    examples = [
        reply("yes", "tea?"),
        reply("no not now thanks", "tea?", name="2"),
        reply("", "tea?", name="3"),
    ]
    result = ds.evaluate(
        examples, [ds.Perplexity(lm="fake"), ds.Coherence(lm="fake", scale="raw", length="sum")]
    )
    sums = result.values("coherence:lm=fake,scale=raw,length=sum")
    assert result.score("perplexity:lm=fake", "s") == pytest.approx(math.exp(-np.nansum(sums) / 5))
    assert result.values("perplexity:lm=fake") == pytest.approx(np.exp(-sums / [1, 4, 1]), nan_ok=True)


@dataclass(frozen=True)
class Dismissive(FakeLanguageModel):
    """A word that begins with x has no probability to speak of."""

    def log_probabilities(self, texts):
        return [
            np.array([-709.0 if word.startswith("y") else -710.0 if word.startswith("x") else -2.0])
            for _, word in texts
        ]


def test_perplexity_beyond_double_range_is_undefined_and_said_to_be():
    examples = [reply(text, "tea?", name=text) for text in ("x", "y", "z")]
    lm = Dismissive()
    result = ds.evaluate(examples, [ds.Coherence(lm=lm, scale="raw"), ds.Perplexity(lm=lm)])
    _, metric = result.metrics
    assert result.values(metric) == pytest.approx([math.nan, math.exp(709), math.exp(2)], nan_ok=True)
    assert result.score(metric, "s") == pytest.approx(math.exp(711 / 2))
    (note,) = [note for note in result.provenance.warnings if "double" in note]
    assert note == (
        f"1 of 3 replies has no {metric}, which is beyond what a double holds where the mean log-probability "
        "of the tokens is below -709; the first is 'x' of 's'."
    )
    assert math.isnan(ds.evaluate(examples[:1], ds.Perplexity(lm=lm)).score(metric, "s"))


def test_what_metrics_are_made_from_is_kept_once():
    examples = [reply("yes", "tea?"), reply("no thanks", "tea?", name="2")]
    names = [
        "coherence:lm=fake,scale=raw,length=mean/sum",
        "perplexity:lm=fake",
        "fluency:lm=fake",
        "pmi:lm=fake",
    ]
    assert len(ds.evaluate(examples, names).tallies) == 3


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("coherence:percentile=100", "coherence: percentile must be 0 or more and below 100."),
        ("fluency:percentile=-1", "fluency: percentile must be 0 or more and below 100."),
        (
            "fluency:floor=7",
            "fluency: floor must be below 0, as log-probabilities are, or 0 to fit it to replies.",
        ),
        ("coherence:floor=nan", "coherence: floor must be below 0"),
        ("coherence:floor=-inf", "coherence: floor must be below 0"),
        (
            "coherence:scale=raw,floor=-7",
            "coherence: a floor is of no use with scale=raw; leave one of them out.",
        ),
        ("perplexity:turns=-1", "perplexity: turns must be 0"),
        ("pmi:scale=percent", "pmi has no scale 'percent'. Choose one of: raw, normalised."),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(text, complaint):
    with pytest.raises(ds.MetricError, match=re.escape(complaint)):
        metrics(text)


def test_the_authors_code_is_a_variant():
    bare = TransformerLanguageModel(start="none")
    assert ds.metric("coherence:variant=pang-code") == ds.Coherence(bare, 1, "space", "sum", spaces="keep")
    assert ds.metric("fluency:variant=pang-code") == ds.Fluency(bare, spaces="keep")
    assert str(ds.metric("coherence:variant=pang-code,lm=gpt2").lm) == "gpt2"
    assert ds.metric("coherence:variant=pang-code,lm=gpt2").lm.start == "none"


@pytest.mark.parametrize(
    "name", ["perplexity:lm=fake", "coherence:lm=fake,length=sum,scale=raw", "pmi:lm=fake,length=sum"]
)
@pytest.mark.parametrize(("shift", "holds"), [(1e-5, True), (0.01, False)])
def test_verify_allows_numbers_made_from_many_tokens_more_rounding(tmp_path, monkeypatch, name, shift, holds):
    path = tmp_path / "replies.jsonl"
    words = " ".join(f"word{number}" for number in range(100))
    path.write_text(json.dumps({"id": "1", "context": ["tea?"], "response": words}) + "\n", encoding="utf-8")
    ds.evaluate(ds.read(path), name).save(tmp_path / "run")
    honest = FakeLanguageModel.log_probabilities
    monkeypatch.setattr(
        FakeLanguageModel,
        "log_probabilities",
        lambda self, texts: [
            one + shift * bool(text.prefix) for one, text in zip(honest(self, texts), texts, strict=True)
        ],
    )
    assert ds.verify(tmp_path / "run").holds == holds


def test_a_normalised_number_is_held_to_as_much_as_ever():
    assert ds.metric("coherence:length=sum").tolerance == ds.metric("coherence").tolerance
    assert ds.metric("pmi:length=sum,scale=normalised").tolerance == ds.metric("pmi").tolerance
