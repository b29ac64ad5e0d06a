"""Scales that are fitted to a run, are part of what its metrics are, and serve other runs."""

import json
import math
import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import pytest

import dialoscope as ds
from dialoscope.metrics.shared.base import labels
from dialoscope.models.fakes import FakeLanguageModel
from dialoscope.runs import evaluate as run

FAKE = ds.Coherence(lm="fake")
WORDS = ["tea", "coffee", "milk", "water", "juice", "wine", "beer", "soup", "rain", "snow"]


def replies(count=40, systems=("a", "b"), seed=0):
    chance = random.Random(seed)  # noqa: S311 - not for secrets
    return [
        ds.Example(f"{number}", system, " ".join(chance.choices(WORDS, k=3)), ("what is it",))
        for number in range(count)
        for system in systems
    ]


def raw(examples, name="coherence"):
    one = ds.metric(f"{name}:lm=fake,scale=raw")
    return ds.evaluate(examples, one).values(one)


def test_the_lowest_twentieth_of_all_systems_becomes_0_as_in_the_paper():
    examples = replies()
    for name in ("coherence", "fluency"):
        found, values = ds.evaluate(examples, f"{name}:lm=fake"), raw(examples, name)
        floor = np.percentile(values, 5)
        expected = [-(max(floor, value) - floor) / floor for value in values]
        assert found.values(f"{name}:lm=fake") == pytest.approx(expected, abs=1e-5)
        assert 0 < sum(value == 0 for value in expected) <= 5
        assert found.metrics[0].floor == pytest.approx(floor, rel=1e-6)
        assert f"|floor:{found.metrics[0].floor}|" in found.metrics[0].signature


def test_a_floor_can_be_read_and_typed_again():
    (fitted,) = ds.evaluate(replies(), FAKE).metrics
    assert len(str(fitted.floor)) <= len("-7.12345")
    assert ds.metric(str(fitted)) == fitted


def test_a_percentile_is_a_setting():
    examples = replies()
    found = ds.evaluate(examples, "coherence:lm=fake,percentile=50")
    assert found.metrics[0].floor == pytest.approx(np.median(raw(examples)), rel=1e-5)


def test_a_floor_that_is_set_is_not_fitted():
    found = ds.evaluate(replies(), "coherence:lm=fake,floor=-8")
    assert found.metrics == (replace(FAKE, floor=-8),)
    assert found.provenance.fitted == ()


def test_undefined_replies_do_not_count_for_a_floor():
    examples = replies()
    odd = [ds.Example(f"x{number}", "a", "", ("what is it",)) for number in range(30)]
    odd += [ds.Example(f"y{number}", "a", "tea") for number in range(30)]
    found = ds.evaluate([*examples, *odd], FAKE, missing="undefined")
    assert found.metrics == ds.evaluate(examples, FAKE).metrics


def test_order_batches_and_workers_do_not_show_in_a_floor(monkeypatch):
    examples = replies()
    expected = ds.evaluate(examples, FAKE).metrics
    assert ds.evaluate(examples[::-1], FAKE).metrics == expected
    monkeypatch.setattr(run, "BATCH", 7)
    with ThreadPoolExecutor(2) as threads:
        assert ds.evaluate(examples, FAKE, on=threads).metrics == expected


@dataclass(frozen=True)
class Same(FakeLanguageModel):
    """Finds all texts equally likely, save those of the first kind."""

    def log_probabilities(self, texts):
        return [np.array([-9.0 if "rare" in text else -2.0]) for _, text in texts]


@dataclass(frozen=True)
class Sure(FakeLanguageModel):
    """Nothing surprises it."""

    def log_probabilities(self, texts):
        return [np.zeros(2) for _ in texts]


@pytest.mark.parametrize(
    ("lm", "texts"),
    [(Same(), ["tea"] * 30), (Same(), ["rare", *["tea"] * 60]), (Sure(), ["tea"] * 30), (Same(), ["tea"])],
)
def test_replies_that_are_all_alike_have_no_scale(lm, texts):
    examples = [ds.Example(str(number), "a", text, ("so",)) for number, text in enumerate(texts)]
    found = ds.evaluate(examples, ds.Coherence(lm=lm))
    assert np.isnan(found.values(ds.Coherence(lm=lm))).all()
    assert math.isnan(found.score(ds.Coherence(lm=lm), "a"))
    assert found.provenance.warnings[-1] == (
        "coherence:lm=fake is undefined: nearly all replies are equally likely, and no floor distinguishes "
        "them."
    )


def test_without_a_reply_that_is_defined_there_is_no_scale():
    found = ds.evaluate([ds.Example("1", "a", "", ("so",))], FAKE)
    assert math.isnan(found.score(FAKE, "a"))
    assert found.provenance.warnings[-1] == (
        "coherence:lm=fake is undefined: no reply has a log-probability to fit its floor to."
    )
    assert found.provenance.fitted == ()


def test_a_floor_from_few_replies_is_warned_of():
    few, enough = ds.evaluate(replies(19, "a"), FAKE), ds.evaluate(replies(20, "a"), FAKE)
    assert few.provenance.warnings == (
        "The floor of coherence:lm=fake was fitted to 19 replies, so that one or two of them determine it; "
        "fit it to more, or take that of a larger run with --scales-from RUN (scales_from=).",
    )
    assert enough.provenance.warnings == ()


@dataclass(frozen=True)
class Impossible(FakeLanguageModel):
    """Some texts cannot be."""

    def log_probabilities(self, texts):
        return [np.array([-math.inf if text == "tea" else -len(text)]) for _, text in texts]


def test_an_impossible_reply_is_at_the_floor_and_does_not_set_it():
    texts = ["tea", *("x" * length for length in range(1, 30))]
    examples = [ds.Example(text, "a", text, ("so",)) for text in texts]
    found = ds.evaluate(examples, ds.Coherence(lm=Impossible()))
    assert found.metrics[0].floor == pytest.approx(np.percentile(np.arange(-29, 0), 5))
    assert found.values(found.metrics[0])[0] == 0


def test_a_fitted_metric_goes_by_the_name_it_was_asked_for_under(tmp_path):
    result = ds.evaluate(replies(), [FAKE, "words"])
    fitted = result.metrics[0]
    assert result.named("coherence:lm=fake") == result.named(FAKE) == result.named(str(fitted)) == fitted
    assert result.score("coherence:lm=fake", "a") == result.score(fitted, "a")
    table = result.table()
    assert table.metrics == ("coherence:lm=fake", "words")
    assert table.cell("a", "coherence:lm=fake").signature == fitted.signature
    assert f"coherence:lm=fake: floor {fitted.floor:.3f}." in table.notes()
    assert list(result.to_columns()) == ["id", "system", "coherence:lm=fake", "words"]
    loaded = ds.Result.load(result.save(tmp_path / "run"))
    assert loaded == result
    assert loaded.metrics == result.metrics
    assert loaded.provenance.fitted == (str(fitted),)
    assert str(loaded.table()) == str(table)


def test_several_floors_of_one_metric_are_told_apart():
    low, high = (replace(FAKE, floor=floor) for floor in (-9.0, -7.0))
    result = ds.evaluate(replies(), [low, high, "words"])
    assert list(labels(result.metrics).values()) == [
        "coherence:lm=fake,floor=-9",
        "coherence:lm=fake,floor=-7",
        "words",
    ]
    assert result.named("coherence:lm=fake,floor=-7") == high
    with pytest.raises(ds.DialoscopeError, match=r"no coherence:lm=fake; it has: .*-9, .*-7, words\."):
        result.named("coherence:lm=fake")


@pytest.fixture
def data(tmp_path):
    def written(name, examples):
        rows = (
            {"id": one.id, "system": one.system, "context": list(one.context), "response": one.response}
            for one in examples
        )
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path

    return written


def test_a_run_with_a_fitted_scale_is_verified(tmp_path, data):
    ds.evaluate(ds.read(data("a.jsonl", replies())), ["coherence:lm=fake", "fluency:lm=fake"]).save(
        tmp_path / "run"
    )
    assert ds.verify(tmp_path / "run").holds


def test_a_run_without_a_scale_is_verified(tmp_path, data):
    ds.evaluate(ds.read(data("a.jsonl", replies(1, "a"))), "coherence:lm=fake").save(tmp_path / "run")
    assert ds.verify(tmp_path / "run").holds


def test_another_run_can_be_scored_on_the_same_scale(tmp_path):
    monday = ds.evaluate(replies(), ["coherence:lm=fake", "fluency:lm=fake", "words"])
    folder = monday.save(tmp_path / "monday")
    other = replies(30, ("c",), seed=1)
    for like in (monday, folder, str(folder)):
        tuesday = ds.evaluate(other, scales_from=like)
        assert tuesday.metrics == monday.metrics
        assert tuesday.provenance.fitted == ()
    floor = monday.metrics[0].floor
    expected = 1 - np.maximum(raw(other), floor) / floor
    assert tuesday.values("coherence:lm=fake") == pytest.approx(expected)
    assert ds.evaluate(other, "coherence:lm=fake").metrics != monday.metrics[:1]


def test_systems_scored_apart_on_one_scale_have_the_numbers_they_have_together():
    both = ds.evaluate(replies(), FAKE)
    for system in both.systems:
        apart = ds.evaluate([one for one in replies() if one.system == system], scales_from=both)
        assert apart.score("coherence:lm=fake", system) == both.score("coherence:lm=fake", system)


def test_metrics_can_be_named_beside_a_run(tmp_path):
    monday = ds.evaluate(replies(), ["coherence:lm=fake", "fluency:lm=fake"])
    found = ds.evaluate(
        replies(seed=1), ["words", "coherence:lm=fake", "fluency:lm=fake,floor=-3"], scales_from=monday
    )
    assert found.metrics == (ds.Words(), monday.metrics[0], ds.metric("fluency:lm=fake,floor=-3"))


def test_a_scale_that_another_run_does_not_have_is_not_made_up():
    monday = ds.evaluate(replies(), ["coherence:lm=fake", "words"])
    with pytest.raises(ds.MetricError) as refused:
        ds.evaluate(replies(), "fluency:lm=fake", scales_from=monday)
    assert str(refused.value) == (
        "The scale of fluency:lm=fake cannot be taken from that run, which has none of it; its metrics are: "
        f"{monday.metrics[0]}, words. Name one of these, or fit the scale anew."
    )
    without = ds.evaluate(replies(1, "a"), FAKE)
    with pytest.raises(ds.MetricError, match="which has none of it"):
        ds.evaluate(replies(), scales_from=without)
    several = ds.evaluate(replies(), "coherence:lm=fake,floor=-8/-9")
    with pytest.raises(ds.MetricError, match="which has 2 of it"):
        ds.evaluate(replies(), FAKE, scales_from=several)


def test_what_is_lacking_is_treated_as_in_the_other_run():
    monday = ds.evaluate(replies(), FAKE, missing="undefined")
    found = ds.evaluate([*replies(), ds.Example("x", "a", "tea")], scales_from=monday)
    assert found.provenance.missing == "undefined"
    with pytest.raises(ds.MetricError, match="need"):
        ds.evaluate([ds.Example("x", "a", "tea")], FAKE, scales_from=monday)


def test_a_model_that_changed_since_the_scale_was_fitted_is_warned_of(monkeypatch):
    monday = ds.evaluate(replies(), FAKE)
    monkeypatch.setattr(FakeLanguageModel, "fingerprint", "other")
    assert ds.evaluate(replies(), scales_from=monday).provenance.warnings == (
        "The model fake-lm|v:1 has changed since the run whose scales are used; numbers of the two "
        "cannot be compared.",
    )


def test_a_scale_fitted_to_one_system_is_cautioned_of():
    alone = ds.evaluate(replies(systems="a"), FAKE)
    (caution,) = (cell.caution for cell in alone.table().cells)
    assert caution == (
        "coherence:lm=fake has a scale fitted to this system alone; to compare another with it, score that "
        "one with --scales-from and this run (scales_from=)."
    )
    for other in (ds.evaluate(replies(), FAKE), ds.evaluate(replies(systems="b"), scales_from=alone)):
        assert not any(cell.caution for cell in other.table().cells)


def test_a_scale_can_be_fitted_to_some_systems():
    examples = replies(systems=("people", "bot"))
    people = ds.evaluate([one for one in examples if one.system == "people"], FAKE)
    assert ds.evaluate(examples, FAKE, fit_on=("people",)).metrics == people.metrics
    with pytest.raises(
        ds.MetricError, match=r"There is no system 'nobody' to fit to; there are: people, bot\."
    ):
        ds.evaluate(examples, FAKE, fit_on=("nobody",))


def test_an_audit_keeps_the_scale_of_the_real_replies():
    examples = replies(systems="a")
    scored, audited = ds.evaluate(examples, FAKE), ds.audit(examples, FAKE)
    assert audited.result.metrics == scored.metrics
    curve = audited.curve("coherence:lm=fake", "noise")
    assert curve == audited.curve(str(scored.metrics[0]), "noise")
    assert curve.points[0].value == scored.score(FAKE, "a")


def test_an_audit_without_real_replies_has_one_scale_all_the_same():
    found = ds.audit(replies(systems="a"), FAKE, perturbations="noise", ratios=(0.5, 1))
    assert len(found.result.metrics) == 1
    assert found.result.metrics[0].floor < 0


def test_a_saved_audit_with_a_fitted_scale_is_verified(tmp_path, data):
    found = ds.audit(
        ds.read(data("a.jsonl", replies(systems="a"))), FAKE, perturbations="noise", ratios=(0, 1)
    )
    found.save(tmp_path / "audit")
    assert ds.verify(tmp_path / "audit").holds
