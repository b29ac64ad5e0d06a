"""FBD, PRD and normality: what they are, what stands beside them, and what they need."""

import json
import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import sqrtm
from scipy.stats import shapiro

import dialoscope as ds
from dialoscope.metrics.shared import points
from dialoscope.metrics.shared.clusters import assign_clusters
from dialoscope.metrics.shared.frechet import estimate_frechet
from dialoscope.models.fakes import FakeCorpus, FakeEncoder
from dialoscope.models.protocols import Pair
from dialoscope.runs import store
from dialoscope.text.batch import Batch
from tests.unit.metrics.test_points import examples

FAKE = {"encoder": FakeEncoder()}


def tally_of(metric, some=None):
    return metric.measure(Batch(examples(40) if some is None else some))


def textbook(real, generated, *, squared=True):
    apart = real.mean(axis=0) - generated.mean(axis=0)
    one, other = np.cov(real, rowvar=False), np.cov(generated, rowvar=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the product is singular
        root = np.trace(sqrtm(one @ other).real)
    between = apart @ apart if squared else math.sqrt(apart @ apart)
    return between + np.trace(one) + np.trace(other) - 2 * root


def encoded(some, reply):
    pairs = [Pair(" ".join(one.context), text) for one in some for text in reply(one)]
    return FakeEncoder().encode(pairs).astype(float)


@pytest.mark.parametrize("mean_term", ["squared", "norm"])
def test_it_is_the_formula_of_the_textbook(mean_term):
    metric, some = ds.Fbd(**FAKE, mean_term=mean_term), examples(40)
    real, generated = encoded(some, lambda one: one.references), encoded(some, lambda one: [one.response])
    expected = textbook(real, generated, squared=mean_term == "squared")
    assert metric.score(tally_of(metric)) == pytest.approx(expected, abs=1e-5)  # sqrtm of a singular product


def test_the_paper_variant_does_not_square_the_distance_of_the_means():
    assert ds.metric("fbd:variant=paper") == ds.Fbd(mean_term="norm")


def test_a_system_that_says_what_people_said_is_not_far():
    some = [replace(one, references=one.references[:1], response=one.references[0]) for one in examples(40)]
    metric = ds.Fbd(**FAKE)
    assert metric.score(tally_of(metric, some)) == pytest.approx(0, abs=1e-9)


def test_with_references_the_bias_of_saying_nothing_is_taken_away_from_all():
    plain, fair = ds.Fbd(**FAKE), ds.Fbd(**FAKE, estimator="debiased")
    others = [replace(one, response="no idea at all") for one in examples(40)]
    gaps = [plain.score(tally_of(plain, some)) - fair.score(tally_of(fair, some)) for some in (None, others)]
    assert gaps[0] == pytest.approx(gaps[1])
    silent = [replace(one, response="") for one in examples(40)]
    tally = tally_of(fair, silent)
    people, own = tally.people, tally.generated
    expected = estimate_frechet(people.points, own.points, people.items, own.items)
    assert fair.score(tally) == pytest.approx(expected)


def test_many_points_give_the_same_plain_value_and_much_the_same_estimate(monkeypatch):
    plain, fair = ds.Fbd(**FAKE), ds.Fbd(**FAKE, estimator="debiased")
    few = plain.score(tally_of(plain)), fair.score(tally_of(fair))
    blocks = np.arange(40) % 4
    without = plain.scores_without(tally_of(plain), blocks)
    monkeypatch.setattr(points, "SAMPLE", 20)
    many = plain.score(tally_of(plain)), fair.score(tally_of(fair))
    assert many[0] == pytest.approx(few[0])
    assert abs(many[1] - few[1]) < few[0]
    assert plain.scores_without(tally_of(plain), blocks) == pytest.approx(without)


def test_a_debiased_value_with_fewer_points_keeps_what_it_takes_away():
    plain, fair = ds.Fbd(**FAKE), ds.Fbd(**FAKE, estimator="debiased")
    tally, blocks = tally_of(plain), np.arange(40) % 4
    apart = plain.scores_without(tally, blocks) - fair.scores_without(tally, blocks)
    assert apart == pytest.approx(plain.score(tally) - fair.score(tally))


def test_what_stands_beside_a_value():
    plain = ds.Fbd(**FAKE)
    beside = plain.notes(tally_of(plain)).numbers
    assert (beside["n"], beside["real"]) == (40, 80)
    assert beside["null"] > 0
    silent = tally_of(plain, [replace(one, response="") for one in examples(40)])
    assert beside["silence"] == pytest.approx(plain.score(silent))
    assert (
        "silence"
        not in replace(plain, real=FakeCorpus()).notes(tally_of(replace(plain, real=FakeCorpus()))).numbers
    )
    assert set(replace(plain, estimator="debiased").notes(tally_of(plain)).numbers) == {"n", "real"}


def test_a_small_sample_is_a_reason_to_be_careful():
    plain = ds.Fbd(**FAKE)
    few, many = tally_of(plain, examples(12)), tally_of(plain)
    assert "made from 12 points in 26 dimensions" in plain.notes(few).warning
    assert "read fbd:encoder=fake,estimator=debiased." in plain.notes(few).warning
    assert plain.notes(few).warning.endswith("silence: a system that says nothing.")
    apart = replace(plain, real=FakeCorpus())
    assert apart.notes(tally_of(apart)).warning.endswith("as large.")
    assert "too few to say by how much" in plain.notes(tally_of(plain, examples(3))).warning
    assert plain.notes(many).warning == ""
    debiased = replace(plain, estimator="debiased")
    assert debiased.notes(few).warning.endswith(
        "has no interval: from 12 points in 26 dimensions its error is not known; 16 are needed."
    )
    assert debiased.notes(many).warning == ""
    assert plain.notes(tally_of(plain, examples(1))).warning == ""


def test_few_points_in_many_clusters_are_a_reason_to_be_careful():
    metric = ds.Prd(**FAKE, clusters=10)
    assert "made from 40 and 80 points in 10 clusters, which is few" in metric.notes(tally_of(metric)).warning
    assert replace(metric, clusters=8).notes(tally_of(metric)).warning == ""
    assert math.isnan(metric.score(tally_of(metric, examples(3))))
    assert metric.notes(tally_of(metric, examples(3))).warning == ""


def test_a_bias_is_never_below_nothing():
    fair, plain = ds.Fbd(**FAKE, estimator="debiased"), ds.Fbd(**FAKE)
    for count in range(8, 14):
        tally = tally_of(fair, examples(count))
        assert fair.score(tally) <= plain.score(tally)


@pytest.mark.corpora
@pytest.mark.assets
def test_people_are_not_far_from_people_though_turns_hang_together(tmp_path, corpora, minilm):
    lines = (corpora / "dialogues/dailydialog/dailydialog_test.jsonl").read_text(encoding="utf-8")
    dialogues = [json.loads(line) for line in lines.splitlines()]
    (tmp_path / "h.jsonl").write_text("".join(json.dumps(one) + "\n" for one in dialogues[:60]))
    others = [
        ds.Example(one["id"], "people", one["turns"][2], tuple(one["turns"][:2]))
        for one in dialogues[100:180]
        if len(one["turns"]) > 2
    ]
    result = ds.evaluate(others, "fbd", real=tmp_path / "h.jsonl")
    plain, fair = (result.score(one, "people") for one in result.metrics)
    assert abs(fair) < plain / 5


def test_the_debiased_value_comes_unasked_and_no_other_does():
    result = ds.evaluate(examples(10), ["fbd:encoder=fake", "prd:encoder=fake"])
    assert list(map(str, result.metrics)) == [
        "fbd:encoder=fake",
        "fbd:encoder=fake,estimator=debiased",
        "prd:encoder=fake",
    ]
    assert len({one.statistics for one in result.metrics}) == 1


def test_another_encoder_keeps_the_pooling_that_the_metric_wants():
    assert ds.metric("fbd:encoder=mpnet").encoder.pooling == "first"
    assert ds.metric("fbd:encoder=mpnet,encoder.pooling=max").encoder.pooling == "max"
    assert str(ds.metric("fbd:encoder=mpnet")) == "fbd:encoder=mpnet"


def test_a_corpus_takes_the_place_of_references():
    bare = [replace(one, references=()) for one in examples(30)]
    with pytest.raises(ds.MetricError, match="needs references"):
        ds.evaluate(bare, "prd:encoder=fake")
    result = ds.evaluate(bare, ["prd:encoder=fake", "words", "fbd:encoder=fake"], real="fake")
    assert str(result.metrics[0]) == "prd:encoder=fake,real=fake"
    assert result.score("prd:encoder=fake,real=fake", "s") >= 0
    with pytest.raises(ds.MetricError, match="is for metrics that compare a system with people"):
        ds.evaluate(bare, "words", real="fake")


def test_a_corpus_is_in_the_record_and_references_are_not(tmp_path):
    file = tmp_path / "h.jsonl"
    turns = [" ".join(one.context) for one in examples(30)]
    file.write_text(json.dumps({"id": "d", "turns": turns}) + "\n")
    apart = ds.evaluate(examples(30), "fbd:encoder=fake", real=file)
    assert any(name.startswith("corpus|file:") for name in apart.provenance.models)
    aligned = ds.evaluate(examples(30), "fbd:encoder=fake")
    assert list(aligned.provenance.models) == ["fake-encoder|v:1"]


@pytest.mark.parametrize("real", ["references", "fake"])
def test_a_run_comes_back_with_its_points(tmp_path, real, monkeypatch):
    names = ["fbd:encoder=fake", "prd:encoder=fake,runs=2", "normality:encoder=fake", "words"]
    result = ds.evaluate(examples(30), names, real=real)
    result.save(tmp_path / "run")
    back = ds.Result.load(tmp_path / "run")
    assert back == result
    name = str(result.metrics[2])
    assert np.array_equal(back.curve(name, "s").recall, result.curve(name, "s").recall)
    back.save(tmp_path / "run", overwrite=True)
    with pytest.raises(ds.DialoscopeError, match="words has no curve of precision and recall; prd has one"):
        back.curve("words", "s")


def test_a_table_shows_what_stands_beside_a_value():
    table = ds.evaluate(examples(10), ["prd:encoder=fake", "words"]).table()
    assert " n=10" in table.text()
    assert any(note.startswith("prd:encoder=fake: real 20, spread 0.") for note in table.notes())
    cell = json.loads(table.json())[0]
    assert cell["beside"]["n"] == 10
    assert "n=10 real=20 spread=0." in table.csv()
    assert "beside" not in ds.evaluate(examples(10), "words").table().csv()
    cautious = ds.evaluate(examples(10), "fbd:encoder=fake").table()
    assert any("made from 10 points" in note for note in cautious.notes())


def test_prd_is_one_for_the_same_distribution_and_zero_for_one_apart():
    same = [replace(one, references=one.references[:1], response=one.references[0]) for one in examples(40)]
    apart = [
        replace(one, response="zzzz " * 40, references=("a " * 40,), context=("x",)) for one in examples(40)
    ]
    metric = ds.Prd(**FAKE, clusters=2)
    assert metric.score(tally_of(metric, same)) == pytest.approx(1)
    assert metric.score(tally_of(metric, apart)) == pytest.approx(0)


def test_prd_follows_the_formula_from_the_shares_of_clusters():
    metric = ds.Prd(**FAKE, clusters=3, angles=3)
    real, own = np.array([[0.5, 0.5, 0.0]]), np.array([[0.25, 0.25, 0.5]])
    curve = metric._curve(real, own)
    for place, slope in enumerate(np.tan(np.array([1, 2, 3]) / 4 * math.pi / 2)):
        precision = np.minimum(slope * real[0], own[0]).sum()
        assert curve.precision[place] == pytest.approx(precision)
        assert curve.recall[place] == pytest.approx(np.minimum(real[0], own[0] / slope).sum())
    both = zip(curve.precision, curve.recall, strict=True)
    assert curve.best == pytest.approx(max(2 * p * r / (p + r) for p, r in both))


def test_prd_with_fewer_points_keeps_its_clusters():
    metric = ds.Prd(**FAKE, clusters=4, runs=3)
    tally, blocks = tally_of(metric), np.arange(40) % 4
    found = metric._cluster_once(tally)
    stays = tally.people.blocks(blocks) != 2, tally.generated.blocks(blocks) != 2
    shares = metric._shares(type(found)(found.people[:, stays[0]], found.generated[:, stays[1]]))
    assert metric.scores_without(tally, blocks)[2] == metric._curve(*shares).best


def test_prd_shows_how_much_runs_differ():
    metric = ds.Prd(**FAKE, clusters=5)
    scores = [ds.Prd(**FAKE, clusters=5, runs=1).score(tally_of(metric))]
    beside = metric.notes(tally_of(metric)).numbers
    assert beside["spread"] > 0
    assert abs(scores[0] - metric.score(tally_of(metric))) < 6 * beside["spread"]
    assert math.isnan(replace(metric, runs=1).notes(tally_of(metric)).numbers["spread"])


def test_prd_depends_on_its_seed_alone():
    metric = ds.Prd(**FAKE, clusters=6, runs=2)
    assert metric.score(tally_of(metric)) == metric.score(tally_of(metric, examples(40)[::-1]))
    other = [replace(metric, seed=seed).score(tally_of(metric)) for seed in range(6)]
    assert len(set(other)) > 1


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"clusters": 1}, "clusters must be between 2 and 1000, not 1"),
        ({"angles": 2}, "angles must be between 3 and 100000, not 2"),
        ({"runs": 0}, "runs must be between 1 and 1000, not 0"),
        ({"sample": 1}, "sample must be between 2 and 10000, not 1"),
        ({"seed": -1}, "seed must be 0 or more"),
        ({"turns": -1}, r"turns must be 0 \(all\) or more"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, complaint):
    with pytest.raises(ds.MetricError, match=f"prd: {complaint}"):
        ds.Prd(**settings)


def test_fbd_refuses_a_seed_below_nothing():
    with pytest.raises(ds.MetricError, match="fbd: seed must be 0 or more"):
        ds.Fbd(seed=-1)


def test_normality_is_the_mean_of_the_tests_of_all_dimensions_that_vary():
    metric, some = ds.Normality(**FAKE), examples(40)
    own = encoded(some, lambda one: [one.response])
    expected = [shapiro(column).pvalue for column in own.T if np.ptp(column) > 0]
    assert metric.score(tally_of(metric)) == pytest.approx(np.mean(expected))
    assert metric.notes(tally_of(metric)).numbers == pytest.approx({"sd": np.std(expected), "n": 40})
    real = replace(metric, of="real")
    assert real.score(tally_of(real)) != metric.score(tally_of(metric))
    assert math.isnan(metric.score(tally_of(metric, some[:2])))


def test_clusters_find_groups_that_lie_apart():
    rng = np.random.default_rng(0)
    groups = np.repeat([0, 1, 2], 50)
    spots = rng.normal(size=(150, 4)) + 100 * np.eye(3, 4)[groups]
    labels = assign_clusters(spots, 3, np.random.default_rng(1))
    assert len({tuple(labels[groups == group]) for group in range(3)}) == 3
    assert all(len(set(labels[groups == group])) == 1 for group in range(3))


def test_there_are_no_more_clusters_than_different_points():
    labels = assign_clusters(np.repeat(np.eye(2), 5, axis=0), 20, np.random.default_rng(0))
    assert len(set(labels.tolist())) == 2


def test_what_cannot_be_said_beside_a_value_is_shown_as_such():
    for name, some in (
        ("prd:encoder=fake,runs=1", 10),
        ("fbd:encoder=fake", 1),
        ("normality:encoder=fake", 2),
    ):
        table = ds.evaluate(examples(some), name).table()
        assert "–" in "\n".join(table.notes()) + table.text()
        assert table.csv()
        assert table.json()


def test_an_encoder_that_overflows_has_no_points_there():
    class Loud(FakeEncoder):
        def encode(self, texts):
            found = super().encode(texts)
            found[0] = math.inf
            return found

    metric = ds.Prd(encoder=Loud(), clusters=2)
    assert metric.notes(tally_of(metric)).numbers["n"] + metric.notes(tally_of(metric)).numbers["real"] < 120


def test_a_reply_without_references_is_left_out_and_counted_by_normality():
    some = [*examples(20), replace(examples(21)[20], references=())]
    plain, shape = ds.Fbd(**FAKE), ds.Normality(**FAKE)
    assert plain.score(tally_of(plain, some)) == plain.score(tally_of(plain, some[:20]))
    assert shape.notes(tally_of(shape, some)).numbers["n"] == 21
    assert shape.needs == {"context"}
    assert replace(shape, of="real").needs == {"context", "references"}


def test_systems_are_compared_where_one_of_them_lacks_a_context():
    some = [replace(one, system=system) for one in examples(12) for system in ("a", "b")]
    some[-1] = replace(some[-1], context=())
    result = ds.evaluate(some, "fbd:encoder=fake", missing="undefined")
    assert not math.isnan(result.significance("fbd:encoder=fake", "a", "b"))


def test_against_a_corpus_the_value_is_the_estimate_of_the_true_distance():
    fair = ds.Fbd(**FAKE, real=FakeCorpus(), estimator="debiased")
    tally = tally_of(fair)
    people, own = tally.people, tally.generated
    assert fair.score(tally) == pytest.approx(
        estimate_frechet(people.points, own.points, people.items, own.items)
    )


def test_clusters_do_not_depend_on_the_size_of_the_vectors():
    spots = np.random.default_rng(0).normal(size=(60, 5))
    found = [assign_clusters(spots * size, 6, np.random.default_rng(1)) for size in (1, 1e-6, 1e6)]
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


def test_a_file_that_the_manifest_does_not_list_is_not_looked_at(tmp_path):
    names = ["fbd:encoder=fake", "prd:encoder=fake"]
    ds.evaluate(examples(30), names).save(tmp_path / "run")
    ds.evaluate(examples(30), names, real="fake").save(tmp_path / "other")
    (tmp_path / "other" / "crowd-0.npz").rename(tmp_path / "run" / "crowd-0.npz")
    assert ds.Result.load(tmp_path / "run").tallies[ds.Fbd(**FAKE).statistics].crowd is None


@pytest.mark.parametrize("damage", ["points-0.npy", "crowd-0.npz"])
def test_damaged_points_are_told(tmp_path, damage):
    ds.evaluate(examples(30), "fbd:encoder=fake", real="fake").save(tmp_path / "run")
    (tmp_path / "run" / damage).write_bytes(b"x")
    with pytest.raises(ds.RunError, match=f"damaged or was changed: {damage}"):
        ds.Result.load(tmp_path / "run")


def test_points_that_are_not_those_of_the_replies_are_told(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "_hash", lambda path: "same")
    for some in (30, 20):
        ds.evaluate(examples(some), "fbd:encoder=fake").save(tmp_path / str(some))
    (tmp_path / "20" / "points-0.npy").replace(tmp_path / "30" / "points-0.npy")
    with pytest.raises(ds.RunError, match=r"points-0\.npy does not hold all points"):
        ds.Result.load(tmp_path / "30")


def test_a_corpus_that_was_moved_can_be_named_when_a_run_is_verified(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    turns = [" ".join(one.context) for one in examples(30)]
    (tmp_path / "h.jsonl").write_text(json.dumps({"id": "d", "turns": turns}) + "\n")
    rows = [{"id": one.id, "context": one.context, "response": one.response} for one in examples(30)]
    (tmp_path / "r.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    ds.evaluate(ds.read("r.jsonl"), "fbd:encoder=fake", real="h.jsonl").save("run")
    (tmp_path / "h.jsonl").rename(tmp_path / "moved.jsonl")
    with pytest.raises(ds.BackendError, match=r"There is no corpus h\.jsonl; name it with --real"):
        ds.verify("run")
    assert ds.verify("run", real="moved.jsonl").holds


def test_a_path_names_a_corpus_and_standard_input_does_not(tmp_path):
    assert ds.Fbd(real=tmp_path / "h.jsonl") == ds.Fbd(real=str(tmp_path / "h.jsonl"))
    with pytest.raises(ds.BackendError, match="must be a file, not standard input"):
        ds.Fbd(real="-")
    with pytest.raises(ds.BackendError, match=r"a,b\.jsonl: rename the file, since a comma "):
        ds.evaluate(examples(3), "fbd", real="a,b.jsonl")


def test_the_name_of_a_file_is_harmless_where_it_is_shown(tmp_path):
    corpus = tmp_path / "h\x1b[31m.jsonl"
    turns = [" ".join(one.context) for one in examples(30)]
    corpus.write_text(json.dumps({"id": "d", "turns": turns}) + "\n")
    table = ds.evaluate(examples(10), "fbd:encoder=fake", real=corpus).table()
    assert "\x1b" not in table.text() + table.markdown() + "".join((*table.notes(), *table.signatures()))
