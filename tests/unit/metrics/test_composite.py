"""The composite: what its parts are asked, what they add, and which weights are refused."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import dialoscope as ds
from dialoscope.core.errors import DataError, MetricError, RunError, TrainingError
from dialoscope.core.signature import signature
from dialoscope.metrics import metrics
from dialoscope.metrics.shared.combination import ASPECTS, CombinationPart, load
from dialoscope.models.fakes import FakeClassifier, FakeEncoder, FakeLanguageModel
from dialoscope.models.registry import ASSETS
from dialoscope.training.composite_fit import CompositeRecipe
from dialoscope.training.train_composite import score_corpora, train_composite

OVERALL = "composite:model=fake"
TALK = ("do you like tea?", "I like tea", "and cake?")
PARTS = (
    CombinationPart("pmi", "pmi:lm=fake"),
    CombinationPart("fluency", "fluency:lm=fake,scale=raw", aspects=("overall", "fluency")),
    CombinationPart("words", "words", cap=6),
    CombinationPart("repetition", "repetition-1", better="less"),
)


def reply(text, *context, name="1", system="s"):
    return ds.Example(name, system, text, context)


def value(metric, *example):
    (found,) = ds.evaluate([reply(*example)], metric, missing="undefined").values(metric)
    return found


def rows(count, aspect="overall", seed=0, first="word"):
    """Replies of some of a few words, the longer the better."""
    rng = np.random.default_rng(seed)
    for number in range(count):
        words = [f"{first}{rng.integers(99)}" for _ in range(rng.integers(1, 9))]
        yield {
            "id": str(number),
            "system": "s",
            "context": [f"{first}{number}"],
            "response": " ".join(words),
            "ratings": {aspect: [len(words), len(words) + 1, None]},
        }


@pytest.fixture
def corpus(tmp_path):
    def made(name, *, count=30, **settings):
        path = tmp_path / name / "data.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows(count, **settings)), encoding="utf-8")
        return path

    return made


@pytest.fixture
def trained(corpus, tmp_path):
    """A checkpoint fitted to two corpora of made-up ratings."""
    files = [corpus("one"), corpus("two", aspect="coherence", seed=1, first="other")]
    return train_composite(files, tmp_path / "mine", CompositeRecipe(PARTS), licence="CC0")


# The number


def test_it_is_the_middle_and_what_the_parts_add():
    metric = ds.metric(OVERALL)
    result = ds.evaluate([reply("I like tea", *TALK)], metric)
    added = metric.notes(result.tallies[metric.statistics]).parts
    assert list(added) == ["pmi", "fluency", "relatedness", "self-consistency", "words", "repetition"]
    assert result.values(metric)[0] == pytest.approx(0.5 + sum(column[0] for column in added.values()))
    assert added["words"][0] == pytest.approx(0.125 * (3 / 8 - 0.5))
    assert added["repetition"][0] == 0.125 * 0.5


def test_a_part_that_is_undefined_is_neutral_and_counted():
    metric = ds.metric(OVERALL)
    result = ds.evaluate([reply("I like tea", "and you?"), reply("Tea", *TALK, name="2")], metric)
    added = metric.notes(result.tallies[metric.statistics]).parts
    assert math.isnan(added["self-consistency"][0])
    assert not math.isnan(result.values(metric)[0])
    beside = result.table().cell("s", OVERALL).beside
    assert beside["without self-consistency"] == 1
    assert sum(share for name, share in beside.items() if not name.startswith("without")) == pytest.approx(
        result.score(metric, "s") - 0.5
    )
    assert f"{OVERALL} of s: pmi " in " ".join(result.table().notes(details=True))


def test_a_reply_that_says_nothing_or_replies_to_nothing_is_undefined():
    for text, *context in (("", "tea?"), ("  ", "tea?"), ("tea",)):
        assert math.isnan(value(OVERALL, text, *context)), (text, context)
    result = ds.evaluate([reply("", "tea?")], OVERALL)
    assert result.table().cell("s", OVERALL).beside == {}
    assert result.table().cell("s", OVERALL).undefined == 1


def test_how_a_thing_is_said_needs_no_context():
    fluency = "composite:aspect=fluency,model=fake"
    assert ds.metric(fluency).needs == frozenset()
    assert ds.metric(OVERALL).needs == {"context"}
    assert not math.isnan(value(fluency, "I like tea"))
    assert math.isnan(value(fluency, ""))


def test_a_text_names_all_four_aspects():
    found = metrics("composite:aspect=overall/coherence/fluency/engagement,model=fake")
    assert [one.aspect for one in found] == list(ASPECTS)
    assert len({one.statistics for one in found}) == 1


def test_what_else_is_scored_does_not_show():
    many = [reply("tea " * length, *TALK, name=str(length)) for length in range(1, 9)]
    together = ds.evaluate(many, OVERALL).values(OVERALL)
    assert together.tolist() == [value(OVERALL, one.response, *one.context) for one in many]


# Work is shared


def test_each_model_is_asked_once_for_the_parts_and_the_metrics_by_themselves(monkeypatch):
    asked = {kind: [] for kind in (FakeLanguageModel, FakeEncoder, FakeClassifier)}
    for kind, method in zip(asked, ("log_probabilities", "encode", "classify"), strict=True):
        old = getattr(kind, method)

        def counted(self, texts, old=old, kind=kind):
            asked[kind].extend(texts)
            return old(self, texts)

        monkeypatch.setattr(kind, method, counted)
    alone = (
        "pmi:lm=fake",
        "fluency:lm=fake,scale=raw",
        "relatedness:encoder=fake",
        "self-consistency:nli=fake",
    )
    chosen = [OVERALL, "composite:aspect=fluency,model=fake", *alone]
    for order in (chosen, chosen[::-1]):
        for texts in asked.values():
            texts.clear()
        ds.evaluate([reply("No, thanks", *TALK)], order)
        assert {kind: len(texts) for kind, texts in asked.items()} == {
            FakeLanguageModel: 2,
            FakeEncoder: 2,
            FakeClassifier: 1,
        }


# Training


def test_weights_follow_what_people_said(trained):
    found = load(trained.folder)
    assert found.weights["overall"][2] == max(found.weights["overall"])
    assert set(found.weights) == {"overall", "coherence"}
    assert found.signatures == tuple(ds.metric(part.metric).signature for part in PARTS)
    assert found.models == {signature(FakeLanguageModel()): "fake"}
    assert ds.Checkpoint.load(trained.folder).spec == trained.spec
    assert trained.hash == ds.Checkpoint.load(trained.folder).hash == found.hash
    history = [json.loads(line) for line in (trained.folder / "history.jsonl").read_text().splitlines()]
    assert [(one["corpus"], one["aspect"]) for one in history] == [
        ("one/data", "overall"),
        ("two/data", "overall"),
    ]
    assert min(one["spearman"] for one in history) > 0.5


def test_the_card_tells_how_it_does_on_corpora_left_out(trained):
    card = (trained.folder / "card.md").read_text(encoding="utf-8")
    assert card.startswith("# mine\n")
    assert "| words | `words`, at most 6 | more | 0." in card
    assert "| one/data | overall | 30 | 0." in card
    assert "Licence of the data: CC0." in card
    assert "60 replies" in card
    assert "| evenness | 1.0 |" in card


def test_no_text_of_the_data_is_kept(trained):
    for file in trained.folder.iterdir():
        assert "word7" not in file.read_text(encoding="utf-8")


def test_the_same_data_gives_the_same_weights(trained, corpus, tmp_path):
    files = [corpus("one"), corpus("two", aspect="coherence", seed=1, first="other")]
    again = train_composite(files, tmp_path / "again", CompositeRecipe(PARTS))
    assert again.spec["combination_sha256"] == trained.spec["combination_sha256"]
    assert again.spec["data"]["files"] == trained.spec["data"]["files"]


def test_corpora_with_the_same_replies_are_left_out_together(corpus):
    files = [corpus("one"), corpus("copy", aspect="fluency"), corpus("two", seed=1, first="other")]
    found = score_corpora([str(file) for file in files], ["words"])
    assert [one.source for one in found.corpora] == ["one/data", "one/data", "two/data"]


def test_corpora_between_which_a_third_stands_are_left_out_together(tmp_path):
    files = []
    for name, words in (("one", "ab"), ("two", "cd"), ("both", "abcd")):
        files.append(tmp_path / f"{name}.jsonl")
        rows = [{"id": word, "response": word, "ratings": {"overall": [1]}} for word in words]
        files[-1].write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    found = score_corpora([str(file) for file in files], ["words"])
    assert len({one.source for one in found.corpora}) == 1


def test_a_trained_composite_scores(trained):
    metric = ds.Composite(model=trained.folder)
    assert value(metric, "word1 word2 word3 word4 word5", "hi") > value(metric, "word1", "hi")
    assert f"model:[{trained.folder}|sha256:{trained.spec['combination_sha256'][:16]}]" in metric.signature
    assert metric.tolerance < 1e-2
    assert [model.fingerprint for model in metric.backends] == ["fake"]


def test_what_cannot_be_learned_from_is_refused_and_nothing_is_left(corpus, tmp_path):
    recipe, folder = CompositeRecipe(PARTS), tmp_path / "mine"
    with pytest.raises(TrainingError, match="There is no training data: name at least one file of rated"):
        train_composite([], folder, recipe)
    with pytest.raises(DataError):
        train_composite(tmp_path / "absent.jsonl", folder, recipe)
    bare = tmp_path / "bare.jsonl"
    bare.write_text('{"id":"1","context":["a"],"response":"b"}\n', encoding="utf-8")
    with pytest.raises(TrainingError, match=r"bare\.jsonl has no ratings, so that no weights can be fitted"):
        train_composite([bare], folder, recipe)
    with pytest.raises(TrainingError, match="There are no ratings to fit weights to: no file has ten rep"):
        train_composite([corpus("few", count=9)], folder, recipe)
    with pytest.raises(TrainingError, match="There are no ratings to fit weights to"):
        train_composite([corpus("mood", aspect="mood")], folder, recipe)
    with pytest.raises(TrainingError, match=r"fluency:lm=fake has a scale that is fitted to each run, so it"):
        train_composite(
            [corpus("own")], folder, CompositeRecipe((CombinationPart("own", "fluency:lm=fake"),))
        )
    with pytest.raises(
        TrainingError, match=r"The part all \(self-bleu\) has no value for single replies; na"
    ):
        train_composite([corpus("all")], folder, CompositeRecipe((CombinationPart("all", "self-bleu"),)))
    twice = corpus("one")
    with pytest.raises(TrainingError, match="Two files have the same name in folders of the same name"):
        train_composite([twice, twice.with_suffix(".json").resolve()], folder, recipe)
    assert not (folder / "spec.json").exists()


def test_a_finished_checkpoint_is_not_trained_over(trained, corpus):
    with pytest.raises(TrainingError, match="holds a finished checkpoint; name another folder"):
        train_composite([corpus("one")], trained.folder, CompositeRecipe(PARTS))


# What is refused


def test_an_aspect_without_weights_is_refused(trained):
    with pytest.raises(
        MetricError,
        match=r"has no weights for fluency, for which there were no ratings.* it has: overall, coherence\.",
    ):
        value(ds.Composite(model=trained.folder, aspect="fluency"), "tea", "hi")


@pytest.mark.parametrize(
    ("model", "told"),
    [
        (
            "absent",
            r"composite: there is no folder 'absent', nor an asset of that name\. Make one with dialosc",
        ),
        ("minilm", r"The asset 'minilm' is not a composite; its kind is: encoder\."),
        ("a,b", r"composite: model must be an asset or a folder without a comma in its name\."),
        ("", r"composite: model must be an asset or a folder without a comma"),
    ],
)
def test_a_model_that_is_none_is_refused(model, told):
    with pytest.raises(MetricError, match=told):
        value(ds.Composite(model=model), "tea", "hi")


def test_a_folder_without_a_checkpoint_is_refused(tmp_path):
    with pytest.raises(MetricError, match=r"composite: .* holds no finished checkpoint"):
        value(ds.Composite(model=tmp_path), "tea", "hi")


def rewritten(trained, **changed):
    """The checkpoint with something changed, and a hash that fits."""
    found = replace(load(trained.folder), **changed)
    spec = {**trained.spec, "combination": found.to_dict(), "combination_sha256": found.hash}
    (trained.folder / "spec.json").write_text(json.dumps(spec), encoding="utf-8")
    return ds.Composite(model=trained.folder)


def test_a_part_that_makes_other_numbers_now_is_refused(trained):
    old = ("pmi|v:0", *load(trained.folder).signatures[1:])
    with pytest.raises(
        MetricError, match=r"its parts were fitted as pmi\|v:0, but this Dialoscope makes pmi\|lm:"
    ):
        value(rewritten(trained, signatures=old), "tea", "hi")


def test_a_model_that_has_changed_since_is_refused(trained):
    other = {signature(FakeLanguageModel()): "another"}
    with pytest.raises(MetricError, match="was fitted with other weights than those that fake has now"):
        value(rewritten(trained, models=other), "tea", "hi")


def test_a_part_with_a_scale_of_its_own_is_refused(trained):
    parts = (CombinationPart("coherence", "coherence:lm=fake"), *PARTS[1:])
    signatures = ("", *load(trained.folder).signatures[1:])
    with pytest.raises(
        MetricError, match="coherence:lm=fake has a scale of its own that is fitted to each run"
    ):
        value(rewritten(trained, parts=parts, signatures=signatures), "tea", "hi")


def test_a_checkpoint_that_changed_is_read_again(trained):
    metric = ds.Composite(model=trained.folder)
    before = metric.signature
    rewritten(trained, weights={"overall": (0.25,) * 4})
    assert metric.signature != before


# A run of it


def test_a_saved_run_has_the_parts_of_each_reply(tmp_path):
    replies = [reply("I like tea", *TALK), reply("No no no", *TALK, name="2")]
    run = ds.evaluate(replies, [OVERALL, "composite:aspect=coherence,model=fake"]).save(tmp_path / "run")
    found = ds.Result.load(run)
    low, high = found.explanations(OVERALL)
    assert low.value <= high.value
    assert 0.5 + sum(added for added in low.parts.values() if added is not None) == pytest.approx(low.value)


def test_what_a_part_without_weight_costs_is_told(trained):
    parts = (*PARTS[:3], replace(PARTS[3], excess=0.3))
    metric = rewritten(trained, parts=parts, weights={"overall": (0.5, 0.25, 0.25, 0)})
    found = ds.evaluate([reply("no no no no no", "hi")], metric).explanations(metric)[0]
    assert found.parts["repetition"] < -0.1
    assert 0.5 + sum(found.parts.values()) == pytest.approx(found.value)


def test_a_run_is_not_read_with_weights_that_are_gone_or_others(trained, tmp_path):
    run = ds.evaluate([reply("tea", "hi")], ds.Composite(model=trained.folder)).save(tmp_path / "run")
    rewritten(trained, weights={"overall": (0.25,) * 4})
    with pytest.raises(RunError, match="the numbers are not the same thing"):
        ds.Result.load(run)
    (trained.folder / "spec.json").unlink()
    with pytest.raises(
        RunError, match=r"a metric that is not installed here: composite: .* holds no finished"
    ):
        ds.Result.load(run)


# What is shipped


def test_the_shipped_composite_is_made_of_parts_as_they_are_now():
    metric = ds.Composite()
    found = metric.combination
    assert set(found.weights) == set(ASPECTS)
    assert len(metric.parts) == len(found.parts)
    assert CompositeRecipe().parts == found.parts
    known = {signature(model): model.fingerprint for model in metric.backends}
    assert found.models == known, "fit it again: python scripts/fit_composite.py"
    assert ASSETS["composite"].shipped
