"""How far metrics can be trusted: figures from runs, their mean over corpora, and what is shipped."""

import dataclasses
import json
import math
import re

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

import dialoscope as ds
from dialoscope.analysis.aspects import standing
from dialoscope.analysis.trust.evidence import Family
from dialoscope.analysis.trust.known import SHIPPED, load_shipped, read
from dialoscope.analysis.trust.pooling import pool_coefficients
from dialoscope.analysis.trust.trust import FITTED, ScoredColumn, ScoredCorpus, estimate_trust, trust
from dialoscope.core.errors import DialoscopeError
from dialoscope.metrics import metric_class, metric_names
from dialoscope.runs.rating_columns import RatingsBuilder
from scripts import measure_trust

NAN = math.nan
WORDS = ("tea", "cake", "rain", "bus", "dog", "sun", "book", "song")


METRICS = ("words", "repetition", "distinct-2:level=reply")


def rated_run(seed=0, aspects=("overall",), metrics=METRICS):
    """Two replies to each of 20 contexts, rated by two people who like long ones."""
    rng = np.random.default_rng(seed)
    examples, ratings = [], RatingsBuilder()
    for row in range(40):
        length = int(rng.integers(2, 9))
        text = " ".join(rng.choice(WORDS, length))
        examples.append(ds.Example(str(row), "ab"[row % 2], text, (f"{seed} {row // 2}",)))
        said = {(aspect, rater): length + rng.normal(0, 3) for aspect in aspects for rater in ("x", "y")}
        ratings.add(row, [ds.Rating(str(row), "", *who, float(value)) for who, value in said.items()])
    return dataclasses.replace(ds.evaluate(examples, list(metrics)), ratings=ratings.build())


def figures(found, metric):
    (family,) = (one for one in found.families if one.metric == metric)
    return family.figures


def made(values, ratings, items=None, **more):
    """A corpus of one metric called m."""
    items = np.arange(len(values)) if items is None else items
    return ScoredCorpus(
        more.get("name", "c"),
        (ScoredColumn("m", "m|v:1", more.get("better", True), np.array(values, float), more.get("how", "")),),
        {more.get("aspect", "overall"): np.array(ratings, float)},
        items,
        more.get("data", "sha256:0"),
        0,
    )


def test_a_figure_is_the_correlation_with_mean_ratings():
    run = rated_run(aspects=("overall", "fluency"))
    found = trust(run, names=["here"], draws=100)
    for figure in figures(found, "words"):
        people = run.ratings.means(figure.aspect, len(run.replies))
        assert figure.spearman == pytest.approx(spearmanr(run.values("words"), people)[0])
        assert figure.pearson == pytest.approx(pearsonr(run.values("words"), people)[0])
        assert figure.low < figure.spearman < figure.high
        assert figure.pearson_low < figure.pearson < figure.pearson_high
        assert (figure.corpus, figure.n, figure.contexts) == ("here", 40, 20)
        assert figure.error > 0
    assert [figure.aspect for figure in figures(found, "words")] == ["fluency", "overall"]


def test_the_mean_is_that_of_the_aspect_that_stands_for_each_corpus():
    runs = [rated_run(1, aspects=("Overall", "coherence")), rated_run(2, aspects=("relevance", "grammar"))]
    found = trust(*runs, names=["one", "two"], draws=100)
    assert found.standing() == {"one": "Overall", "two": "relevance"}
    (family,) = (one for one in found.families if one.metric == "words")
    chosen = [one for one in family.figures if one.aspect in ("Overall", "relevance")]
    wanted = pool_coefficients(
        np.array([one.spearman for one in chosen]), np.array([one.error for one in chosen]), 0.95
    )
    assert found.mean(family) == pytest.approx(wanted, nan_ok=True)
    fluent = trust(*runs, names=["one", "two"], draws=100, aspect="fluency")
    assert fluent.standing() == {"two": "grammar"}
    grammar = next(one for one in family.figures if one.aspect == "grammar")
    assert fluent.mean(family)[:3] == (pytest.approx(grammar.spearman), grammar.low, grammar.high)


@pytest.mark.parametrize(
    ("rated", "aspect", "stands"),
    [
        (["fluency", "Overall", "coherence"], "overall", "Overall"),
        (["relevance", "coherence"], "overall", "coherence"),
        (["Maintains Context", "Natural"], "overall", "Maintains Context"),
        (["fluency"], "overall", None),
        (["Understandable", "Natural"], "fluency", "Natural"),
        (["Uses Knowledge"], "Uses Knowledge", "Uses Knowledge"),
        (["self_consistency"], "consistency", "self_consistency"),
    ],
)
def test_one_rated_aspect_stands_for_what_is_asked(rated, aspect, stands):
    assert standing(rated, aspect) == stands


def test_what_was_fitted_to_a_run_makes_no_family_and_versions_do():
    run = rated_run(metrics=("fluency:lm=fake", "words"))
    found = trust(run, draws=100)
    assert [one.metric for one in found.families] == ["fluency:lm=fake", "words"]
    assert "floor:0.0" in found.families[0].signature
    assert run.named("fluency:lm=fake").signature != found.families[0].signature
    assert found.of(run.named("fluency:lm=fake")).corpora == 1
    older = [dataclasses.replace(one, signature=f"{one.signature[:-1]}0") for one in found.families]
    old = dataclasses.replace(found, families=tuple(older))
    assert old.of(run.metrics[1]).told == "not measured since the metric or its model changed"
    assert not old.of(run.metrics[1]).numbers


@pytest.mark.parametrize(
    ("metric", "told"),
    [
        ("self-bleu", "not measured: a single reply has no value"),
        ("distinct-3", "not measured with these settings; measured: distinct-2:level=reply"),
        ("bleu", "not among those measured"),
    ],
)
def test_why_nothing_is_known_is_told(metric, told):
    known = trust(rated_run(), draws=100).of(ds.metric(metric))
    assert known.told == told
    assert math.isnan(known.spearman)


def test_signs_are_kept_and_the_direction_is_told():
    values = np.arange(30.0)
    found = estimate_trust([made(values, -values + np.tile([0, 3], 15), better=False)], draws=100)
    assert found.mean(found.families[0]).value < -0.9
    assert re.fullmatch(r"m +less +−\.\d\d \[−.*\] +– +1 +−\.\d\d", found.printed().splitlines()[2])


def test_the_most_trustworthy_come_first_whatever_their_direction():
    good, rng = np.arange(30.0), np.random.default_rng(0)
    one = made(good, good)
    near = good + np.tile([0, 2, 1], 10)
    columns = (
        ScoredColumn("wrong", "w|v:1", True, -near),
        ScoredColumn("none", "n|v:1", True, np.full(30, NAN)),
        ScoredColumn("noise", "r|v:1", True, good + rng.normal(0, 20, 30)),
        ScoredColumn("less", "l|v:1", False, -near),
    )
    found = estimate_trust([dataclasses.replace(one, columns=columns)], draws=100)
    assert [family.metric for family in found.ranked()] == ["less", "noise", "wrong", "none"]


def test_undefined_is_told_and_counts_nowhere():
    nothing = made(np.full(9, NAN), np.arange(9.0), name="a")
    same = made(np.ones(9), np.arange(9.0), name="b", data="sha256:1")
    few = made([1, 2, *[NAN] * 7], np.arange(9.0), name="c", data="sha256:2")
    liked = made(np.arange(9.0), np.ones(9), name="d", data="sha256:3")
    rare = made([0] * 8 + [1], np.arange(9.0), name="e", data="sha256:4")
    both = made(np.ones(9), np.ones(9), name="f", data="sha256:5")
    alone = made(np.arange(9.0) % 5, np.arange(9.0), np.zeros(9, int), name="g", data="sha256:6")
    found = estimate_trust([nothing, same, few, liked, rare, both, alone], draws=100)
    assert [one.why for one in found.families[0].figures] == [
        "no rated reply has a value",
        "all values are the same everywhere",
        "2 pairs of values, and 3 are needed",
        "all ratings are the same everywhere",
        "so many values are the same that it has no interval",
        "all values and all ratings are the same everywhere",
        "no interval, for it has 1 context, and 6 are needed",
    ]
    assert found.mean(found.families[0]).studies == 0
    assert found.printed().splitlines()[2].split() == ["m", "more", "–", "–", "0", *"–––––––"]
    assert "No ρ of m on 3: 2 pairs of values, and 3 are needed." in found.notes(details=True)
    told = json.loads(found.printed("json"))["metrics"][0]["figures"]
    assert [one["spearman"] for one in told] == [
        *[None] * 4,
        pytest.approx(0.5477),
        None,
        pytest.approx(0.3390),
    ]
    ends = ("low", "high", "error", "pearson_low", "pearson_high")
    assert {one[end] for one in told if one["corpus"] != "e" for end in ends} == {None}


def test_what_many_metrics_lack_is_told_in_few_words():
    columns = tuple(ScoredColumn(f"m{place}", f"m{place}|v:1", True, np.full(9, NAN)) for place in range(9))
    found = estimate_trust(
        [dataclasses.replace(made(np.ones(9), np.arange(9.0)), columns=columns)], draws=100
    )
    assert "No ρ of m0, m1, m2, m3, m4, m5 and 3 more on 1: no rated reply has a value." in found.text(
        notes=True
    )


def test_replies_to_one_context_are_drawn_together():
    rng = np.random.default_rng(0)
    values = rng.normal(size=30)
    ratings = values + rng.normal(size=30)
    alone = estimate_trust([made(values, ratings)], draws=400)
    thrice = estimate_trust(
        [made(np.tile(values, 3), np.tile(ratings, 3), np.tile(np.arange(30), 3))], draws=400
    )
    one, other = (found.families[0].figures[0] for found in (alone, thrice))
    assert other.spearman == pytest.approx(one.spearman, abs=0.01)
    assert other.error == pytest.approx(one.error, rel=0.15)  # copies are no evidence
    assert (other.n, other.contexts) == (90, 30)


def test_the_order_of_metrics_and_of_corpora_does_not_show():
    first, second, third = rated_run(1), rated_run(2), rated_run(2, metrics=METRICS[::-1])
    found = trust(first, second, names=["x", "y"], draws=100)
    other = trust(third, first, names=["y", "x"], draws=100)
    for family, twin in zip(found.ranked(), other.ranked(), strict=True):
        assert family.metric == twin.metric
        for one, same in zip(family.figures, reversed(twin.figures), strict=True):
            assert one.corpus == same.corpus
            assert _numbers(one) == pytest.approx(_numbers(same), nan_ok=True)
        assert tuple(found.mean(family)) == pytest.approx(tuple(other.mean(twin)), nan_ok=True)


def test_the_order_of_replies_does_not_show():
    run = rated_run()
    rows = np.random.default_rng(1).permutation(40)
    index, place = run.replies, np.argsort(rows)
    mixed = dataclasses.replace(
        run,
        replies=dataclasses.replace(
            index, ids=tuple(index.ids[row] for row in rows), system=index.system[rows], item=index.item[rows]
        ),
        tallies={key: one.take(rows) for key, one in run.tallies.items()},
        ratings=dataclasses.replace(run.ratings, reply=place[run.ratings.reply]),
    )
    assert str(trust(mixed, names=["x"]).families) == str(trust(run, names=["x"]).families)


def test_the_same_run_gives_the_same_bits():
    texts = {trust(rated_run(), draws=100).printed(form) for form in ("json",) for _ in range(2)}
    assert len(texts) == 1


def test_the_seed_is_that_of_the_run_or_the_one_that_is_given():
    run = rated_run()
    usual, same, other = (trust(run, names=["c"], draws=100, seed=seed) for seed in (None, 0, 7))
    assert usual.printed("json") == same.printed("json") != other.printed("json")
    assert [found.corpora[0].seed for found in (usual, other)] == [0, 7]
    assert [one.families[0].figures[0].spearman for one in (usual, other)] == [
        usual.families[0].figures[0].spearman
    ] * 2


def test_forms_hold_the_same_figures_and_json_is_read_back(tmp_path):
    found = trust(rated_run(aspects=("overall", "fluency")), names=["c"], draws=100)
    told = json.loads(found.printed("json"))
    assert told["metrics"][0]["mean"]["studies"] == 1
    assert {"lowest", "highest"} <= set(told["metrics"][0]["mean"])
    lines = found.printed("csv").splitlines()
    assert len(lines) == 1 + sum(len(one["figures"]) for one in told["metrics"])
    assert lines[0].startswith("metric,corpus,aspect,n,contexts,spearman,low,high,error,pearson")
    assert found.printed("markdown").startswith("| metric | better | ρ [95%] | new corpus | corpora | 1 |")
    path = tmp_path / "trust.json"
    path.write_text(found.printed("json"), encoding="utf-8")
    assert read(path).printed("json") == found.printed("json")
    assert str(found) == found.printed()
    assert repr(found) == "<Trust: 3 metrics, 1 corpora>"
    assert found._repr_markdown_() == found.printed("markdown")


def test_hostile_names_are_shown_safely():
    run = rated_run(aspects=("overall\x1b[2J",))
    found = trust(run, names=["<b>\n|x"], draws=100, aspect="overall\x1b[2J")
    for form in ("text", "markdown"):
        assert "\x1b" not in found.printed(form)
    assert "<b>" not in found.printed("markdown")


def test_a_file_of_another_kind_is_refused(tmp_path):
    path = tmp_path / "trust.json"
    path.write_text('{"format": "something"}', encoding="utf-8")
    with pytest.raises(DialoscopeError, match=r"trust.json is no table of trust"):
        read(path)


def test_what_cannot_be_measured_is_told():
    run = rated_run()
    unrated = ds.evaluate([ds.Example("1", "a", "hi")], ["words"])
    with pytest.raises(DialoscopeError, match=r"bare has no ratings.*score rated replies"):
        trust(unrated, names=["bare"])
    with pytest.raises(DialoscopeError, match=r"whole has no metric with a value for a single reply"):
        trust(rated_run(metrics=["self-bleu"]), names=["whole"])
    with pytest.raises(DialoscopeError, match=r"name of its own, but these are: x, x; rename"):
        trust(run, rated_run(1), names=["x", "x"])
    with pytest.raises(DialoscopeError, match="name of its own"):
        trust(run, names=["x", "y"])
    with pytest.raises(DialoscopeError, match=r"y and x are runs of the same data.*leave one of them out"):
        trust(run, rated_run(), names=["x", "y"], draws=100)
    with pytest.raises(DialoscopeError, match=r"No corpus has ratings of wit; people rated: overall\."):
        trust(run, aspect="wit", draws=100)
    with pytest.raises(DialoscopeError, match="confidence must lie between 0 and 1"):
        trust(run, confidence=2)
    for other in ({"draws": 500}, {"seed": 3}, {"confidence": 0.9}):
        with pytest.raises(
            DialoscopeError,
            match=r"have 95% intervals from 10000 random halves of the contexts; name rated runs",
        ):
            trust(**other)


def test_what_was_fitted_to_the_ratings_is_not_judged_as_if_it_had_not(monkeypatch):
    run = rated_run()
    known = trust(run, draws=100)
    learned = tuple(dataclasses.replace(one, how="somehow") for one in known.families[:1])
    shipped_then = dataclasses.replace(known, families=(*learned, *known.families[1:]))
    monkeypatch.setattr("dialoscope.analysis.trust.trust.load_shipped", lambda: shipped_then)
    found = trust(run, draws=100)
    assert [one.how for one in found.families] == [FITTED, "", ""]
    assert found.of(run.metrics[0]).told.endswith(f"on 1 corpus; {FITTED}")
    assert f"*: {FITTED}." in found.printed()
    assert trust(rated_run(5), draws=100).families[0].how == ""


# What is shipped


def test_what_is_shipped_is_of_the_metrics_as_they_are_now():
    """Whoever raises a version, changes a default or fits weights anew measures again."""
    for family in load_shipped().families:
        one = ds.metric(family.metric)
        assert one.unfitted.signature == family.signature, "run: python scripts/measure_trust.py"
        assert one.higher_is_better == family.higher_is_better


def test_every_metric_that_can_be_measured_was():
    measured_metrics = {one.metric for one in load_shipped().families}
    defaults = [metric_class(name)() for name in metric_names() if name not in ("adem", "diversity")]
    assert {str(one) for one in defaults if one.of_replies} <= measured_metrics
    assert measured_metrics == {str(ds.metric(text).unfitted) for text in measure_trust.METRICS}


def test_what_is_shipped_has_figures_and_names_and_no_text():
    told = json.loads(SHIPPED.read_text(encoding="utf-8"))
    assert set(told) == {"format", "version", "made", "aspect", "corpora", "metrics"}
    assert set(told["made"]) == {"date", "dialoscope", "confidence", "draws"}
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", told["made"]["date"])
    assert {one["name"]: one["source"] for one in told["corpora"]} == measure_trust.CORPORA
    for one in told["corpora"]:
        assert set(one) == {"name", "source", "aspects", "replies", "contexts", "data", "seed"}
        assert re.fullmatch(r"sha256:[0-9a-f]{64}", one["data"])
        assert re.search(r", 20\d\d, https://aclanthology.org/", one["source"])
    reasons = {
        "",
        "no rated reply has a value",
        "all values are the same everywhere",
        "so many values are the same that it has no interval",
    }
    for one in told["metrics"]:
        assert set(one) == {"metric", "signature", "higher_is_better", "how", "mean", "figures"}
        for figure in one["figures"]:
            assert figure["why"] in reasons
            assert bool(figure["why"]) == (figure["low"] is None)
            assert figure["low"] is None or figure["low"] <= figure["spearman"] <= figure["high"]


def test_the_composite_is_never_shown_as_if_it_had_not_learned_from_these_ratings():
    composites = [one for one in load_shipped().families if one.metric.startswith("composite")]
    assert len(composites) == 4
    assert {one.how for one in composites} == {measure_trust.LEFT_OUT}
    assert "weights fitted to the others" in ds.trust().of(ds.metric("composite")).told
    others = [one for one in load_shipped().families if not one.metric.startswith("composite")]
    assert {one.how for one in others} == {""}


def test_one_corpus_counts_once():
    standing_now = ds.trust().standing()
    assert len(standing_now) == 7
    assert "pang2020/fluency" not in standing_now  # the replies of pang2020/coherence
    assert not any(name.startswith("fbd") for name in standing_now)


@pytest.mark.corpora
def test_the_figures_of_a_corpus_are_what_the_file_says(corpora):
    names = ["bleu-4", "rouge-l:variant=nlg-eval", "words", "repetition-1"]
    run = ds.evaluate(ds.read(corpora / "rated/usr_personachat/data.jsonl"), names, missing="undefined")
    found = trust(run, names=["usr_personachat/data"])
    again = {one.metric: one for one in found.families}
    for family in load_shipped().families:
        if family.metric in names:
            kept = [one for one in family.figures if one.corpus == "usr_personachat/data"]
            assert [_numbers(one) for one in kept] == [
                pytest.approx(_numbers(one), abs=6e-5) for one in again[family.metric].figures
            ]


def _numbers(figure):
    return [value for value in dataclasses.astuple(figure) if not isinstance(value, str)]


def test_a_family_knows_its_sign():
    family = Family("m", "m|v:1", None, ())
    assert (family.sign, dataclasses.replace(family, higher_is_better=False).sign) == (1, -1)
