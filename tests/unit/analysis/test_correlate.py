"""Metrics and people: coefficients, their intervals and tests, and which of two metrics is the better."""

import csv
import io
import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import dialoscope as ds
from dialoscope.analysis.coefficients import NAMES, measure
from dialoscope.analysis.significance import williams
from dialoscope.core.errors import DialoscopeError
from dialoscope.data.replies import Replies
from dialoscope.runs.rating_columns import Ratings
from dialoscope.runs.score_columns import Scores

CONTEXTS, SYSTEMS = 30, 4
REPLIES = CONTEXTS * SYSTEMS
QUICK = {"draws": 100, "permutations": 100}
SCIPY = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}
WORDS = ("cat", "mat", "door", "ran", "sat", "on", "it", "then", "who", "old", "red", "again", "to")


def examples(order=range(REPLIES)):
    rng = np.random.default_rng(5)
    said = [" ".join(rng.choice(WORDS, size)) for size in rng.integers(2, 12, REPLIES)]
    return [
        ds.Example(f"c{n // SYSTEMS:02d}", "dbca"[n % SYSTEMS], said[n], (f"context {n // SYSTEMS}",))
        for n in order
    ]


def truth():
    return np.random.default_rng(1).normal(size=REPLIES) + np.tile([0.0, 0.4, 0.8, 1.2], CONTEXTS)


def ratings(raters=3, aspects=("sense", "wit"), seed=2):
    rng = np.random.default_rng(seed)
    for aspect in aspects:
        given = np.clip(np.round(3 + truth()[:, None] + rng.normal(size=(REPLIES, raters))), 1, 5)
        for one, row in zip(examples(), given, strict=True):
            yield from (ds.Rating(one.id, one.system, aspect, str(r), float(v)) for r, v in enumerate(row))


def columns(seed=3):
    """A metric that follows people closely, one that does so less, one not at all, and one with gaps."""
    rng = np.random.default_rng(seed)
    values = truth()[:, None] + rng.normal(size=(REPLIES, 4)) * [0.7, 2, 1, 1]
    values[:, 2] = rng.normal(size=REPLIES)
    values[::7, 3] = np.nan
    return Scores(("close", "loose", "nothing", "gaps"), values)


@pytest.fixture(scope="module")
def run():
    return ds.evaluate(
        Replies.of(examples(), ratings()), ["words", "repetition-1", "distinct-2", "self-bleu-2"]
    )


@pytest.fixture(scope="module")
def found(run):
    return ds.correlate(run, scores=columns(), **QUICK)


def sides(run, metric, aspect):
    scores = columns()
    x = scores.values[:, scores.metrics.index(metric)] if metric in scores.metrics else run.values(metric)
    return x, run.ratings.means(aspect, REPLIES)


@pytest.mark.parametrize("name", SCIPY)
def test_over_all_replies_it_is_scipys_coefficient(run, found, name):
    for metric in ("close", "nothing", "gaps", "words"):
        x, y = sides(run, metric, "wit")
        known = ~np.isnan(x)
        one = found.cell(metric, "wit", name)
        assert one.value == pytest.approx(SCIPY[name](x[known], y[known]).statistic)
        assert (one.n, one.contexts, one.undefined) == (known.sum(), 30, (~known).sum())
        assert one.low < one.value < one.high


@pytest.mark.parametrize("name", NAMES)
def test_by_system_and_by_item_it_is_the_mean_of_those_within(run, found, name):
    x, y = sides(run, "gaps", "sense")
    for group, of in (("system", run.replies.system), ("item", run.replies.item)):
        each = [measure(name, x[of == place], y[of == place]).value for place in np.unique(of)]
        one = found.cell("gaps", "sense", name, group=group)
        assert one.value == pytest.approx(np.nanmean(each))
        assert (one.groups, one.of) == (np.isfinite(each).sum(), len(each))
        assert one.low < one.value < one.high


@pytest.mark.parametrize("name", NAMES)
def test_over_systems_it_is_that_of_their_values_and_mean_ratings(run, found, name):
    y = [np.mean(sides(run, "words", "sense")[1][run.rows(system)]) for system in run.systems]
    for metric in ("words", "distinct-2", "self-bleu-2"):
        x = np.array([run.score(metric, system) for system in run.systems])
        one = found.cell(metric, "sense", name, "system")
        assert one.value == pytest.approx(measure(name, x, np.array(y)).value)
        assert math.isnan(one.low), "four systems are too few for an interval"
        assert one.n == 4
    x = [np.nanmean(sides(run, "gaps", "sense")[0][run.rows(system)]) for system in run.systems]
    assert found.cell("gaps", "sense", name, "system").value == pytest.approx(
        measure(name, np.array(x), np.array(y)).value
    )


def test_a_systems_value_may_be_the_mean_of_its_replies(run):
    mean = ds.correlate(run, levels=["system"], system_value="mean", **QUICK)
    x = [np.nanmean(run.values("distinct-2")[run.rows(system)]) for system in run.systems]
    y = [run.ratings.means("sense", REPLIES)[run.rows(system)].mean() for system in run.systems]
    assert mean.cell("distinct-2", "sense", "pearson", "system").value == pytest.approx(
        stats.pearsonr(x, y).statistic
    )
    assert mean.cell("self-bleu-2", "sense", "pearson", "system").value == pytest.approx(
        ds.correlate(run, levels=["system"], **QUICK).cell("self-bleu-2", "sense", "pearson", "system").value
    ), "what has no values for replies has its own"


def test_what_is_there_is_found_and_what_is_not_is_not(found):
    strong, none = (found.cell(metric, "sense") for metric in ("close", "nothing"))
    assert strong.low > 0.3
    assert strong.p == 2 / 101
    assert strong.p_holm == pytest.approx(14 / 101), "for seven metrics"
    assert none.low < 0 < none.high
    assert none.p > 0.05
    assert next(iter(found.ranked("sense"))).metric == "close"


def test_the_ceiling_stands_beside_what_it_is_the_ceiling_of(run, found):
    expected = ds.raters(run)["sense"]
    assert found.cell("close", "sense").ceiling == pytest.approx(expected.numbers["ceiling of replies"].value)
    of_systems = found.cell("close", "sense", level="system").ceiling
    assert of_systems == pytest.approx(expected.numbers["ceiling of systems"].value)
    assert math.isnan(found.cell("close", "sense", group="item").ceiling)
    assert "sense: over all replies; ceiling ." in str(found)


def rows(found):
    return {
        tuple(row[name] for name in ("metric", "aspect", "level", "group", "coefficient")): [
            row[name] for name in ("value", "low", "high", "p", "p_holm", "ceiling")
        ]
        for row in found.rows()
    }


def test_the_order_of_replies_and_metrics_does_not_show(run, found):
    order = np.random.default_rng(0).permutation(REPLIES)
    other = ds.evaluate(
        Replies.of(examples(order), list(ratings())[::-1]),
        ["distinct-2", "self-bleu-2", "repetition-1", "words"],
    )
    scores = columns()
    turned = Scores(scores.metrics[::-1], scores.values[order][:, ::-1])
    again = rows(ds.correlate(other, scores=turned, **QUICK))
    assert again.keys() == rows(found).keys()
    for key, values in rows(found).items():
        assert again[key] == pytest.approx(values, nan_ok=True, abs=1e-9), key


def test_equal_means_are_tied_in_whatever_order_they_were_added_up(run):
    values = np.tile([0.1, 0.2, 0.3, 0.3, 0.2, 0.1], REPLIES // 2)
    said = Ratings(np.repeat(np.arange(REPLIES), 3), ("wit",) * 360, ("1", "2", "3") * REPLIES, values)
    assert ds.correlate(run, said, **QUICK).cell("words", "wit").why == "the ratings are the same everywhere"


def test_the_seed_decides_intervals_and_p(run, found):
    again, other = (ds.correlate(run, scores=columns(), seed=seed, **QUICK) for seed in (0, 1))
    assert again.json() == found.json()
    assert other.cell("close", "wit").value == found.cell("close", "wit").value
    assert other.cell("close", "wit").low != found.cell("close", "wit").low


def test_a_metric_turned_over_has_the_other_sign_and_the_same_p(run):
    scores = columns()
    both = Scores(("one", "other"), np.stack([scores.values[:, 1], -scores.values[:, 1]], axis=1))
    found = ds.correlate(run, scores=both, **QUICK)
    for name in ("pearson", "spearman", "kendall"):
        one, other = (found.cell(metric, "wit", name) for metric in ("one", "other"))
        assert (other.value, other.low, other.high) == pytest.approx((-one.value, -one.high, -one.low))
        assert other.p == one.p
    one, other = (found.cell(metric, "wit", "accuracy").value for metric in ("one", "other"))
    assert other == pytest.approx(1 - one)


def test_replies_said_four_times_make_no_interval_narrower():
    """What halves are made of is the context: copies of a reply under the same one add nothing."""
    once = Replies.of(examples(), ratings())
    copies = [replace(one, system=f"{one.system}{copy}") for one in examples() for copy in range(4)]
    rated = [replace(one, system=f"{one.system}{copy}") for one in ratings() for copy in range(4)]
    widths = []
    for replies in (once, Replies.of(copies, rated)):
        found = ds.correlate(
            ds.evaluate(replies, ["words"]), levels=["reply"], groups=["overall"], draws=400, permutations=100
        )
        widths.append([one.high - one.low for one in found.cells if one.coefficient == "pearson"])
    assert widths[0] == pytest.approx(widths[1])


def systems(many=8, contexts=20):
    """Systems that differ in how much they say, which people like."""
    rng = np.random.default_rng(2)
    replies = [
        ds.Example(f"c{place}", f"s{system}", "w " * int(rng.integers(3, 9) + system), (f"context {place}",))
        for place in range(contexts)
        for system in range(many)
    ]
    said = [
        ds.Rating(one.id, one.system, "wit", "r", float(rng.normal(int(one.system[1:]), 8)))
        for one in replies
    ]
    return ds.evaluate(Replies.of(replies, said), ["words", "self-bleu-2"])


def test_over_systems_the_interval_is_that_of_other_systems():
    found = ds.correlate(systems(), levels="system", draws=100)
    one = found.cell("words", "wit", "pearson", "system")
    theirs = stats.pearsonr(*found.panel.by_system("own").x[:, :1].T, found.panel.by_system("own").y[:, 0])
    assert (one.low, one.high) == pytest.approx(tuple(theirs.confidence_interval(0.95)))
    half = stats.norm.ppf(0.975) * math.sqrt(0.437 / 4)
    one = found.cell("words", "wit", "kendall", "system")
    assert (one.low, one.high) == pytest.approx(
        (math.tanh(math.atanh(one.value) - half), math.tanh(math.atanh(one.value) + half))
    )
    one = found.cell("words", "wit", "spearman", "system")
    half = stats.norm.ppf(0.975) * math.sqrt((1 + one.value**2 / 2) / 5)
    assert (one.low, one.high) == pytest.approx(
        (math.tanh(math.atanh(one.value) - half), math.tanh(math.atanh(one.value) + half))
    )
    for name in ("cosine", "accuracy"):
        assert math.isnan(found.cell("words", "wit", name, "system").low)
    assert any(
        "says what other systems of this kind would give" in note for note in found.notes(details=True)
    )


@pytest.mark.parametrize("group", ["overall", "system", "item"])
def test_p_and_interval_agree(run, group):
    """On many metrics, of which some have little to do with people."""
    rng = np.random.default_rng(4)
    values = truth()[:, None] * np.linspace(0, 0.6, 25) + rng.normal(size=(REPLIES, 25))
    scores = Scores(tuple(f"m{n}" for n in range(25)), values)
    found = ds.correlate(run, scores=scores, levels="reply", groups=group, draws=2000)
    checked = 0
    for one in found.cells:
        if one.coefficient != "cosine" and not math.isnan(one.low):
            none = 0.5 if one.coefficient == "accuracy" else 0.0
            assert (one.p < 0.05) == (one.low > none or one.high < none), one
            checked += one.p < 0.05
    assert checked > 20


def test_p_of_a_cosine_is_that_of_pearson(run, found):
    for metric in ("close", "nothing", "gaps"):
        assert found.cell(metric, "wit", "cosine").p == found.cell(metric, "wit", "pearson").p
    assert any(note.startswith("p of a cosine: that of Pearson's") for note in found.notes(details=True))


def test_a_context_that_outweighs_the_others_does_not_decide(run):
    """Two large contexts of short replies that people like; elsewhere they like long ones a little."""
    rng = np.random.default_rng(0)
    items = np.concatenate([np.arange(300), np.full(22, 300), np.full(16, 301)])
    length = np.concatenate([rng.integers(5, 20, 300), np.full(38, 2)])
    liked = np.concatenate([rng.normal(3 + 0.01 * length[:300], 1), np.full(38, 5.0)])
    replies = [
        ds.Example(str(n), "s", "w " * int(size), (f"c{item}",))
        for n, (item, size) in enumerate(zip(items, length, strict=True))
    ]
    said = [ds.Rating(str(n), "s", "wit", "r", float(value)) for n, value in enumerate(liked)]
    one = ds.correlate(ds.evaluate(Replies.of(replies, said), ["words"])).cell("words", "wit")
    assert one.value < -0.1
    assert one.low < 0 < one.high
    assert one.p > 0.05


def rated(values, aspect="sense"):
    return Ratings(np.arange(REPLIES), (aspect,) * REPLIES, ("1",) * REPLIES, np.asarray(values, float))


def test_what_is_missing_is_counted_and_named(run):
    values = truth()
    values[:12] = np.nan
    found = ds.correlate(run, rated(values), scores=columns(), **QUICK)
    assert found.cell("close", "sense").n == REPLIES - 12
    assert found.cell("gaps", "sense").n == (~np.isnan(values) & ~np.isnan(columns().values[:, 3])).sum()
    notes = found.notes()
    assert "12 of 120 replies have no rating of sense." in notes
    assert "18 of 120 replies have no value of gaps." in notes
    assert any(
        note.startswith("The ceiling of sense is unknown: every reply has one rating") for note in notes
    )


def test_what_is_undefined_says_why(run):
    same = ds.correlate(run, rated(np.full(REPLIES, 3)), **QUICK)
    one = same.cell("words", "sense")
    assert np.isnan([one.value, one.low, one.high, one.p, one.p_holm]).all()
    assert one.why == "the ratings are the same everywhere"
    assert same.cell("words", "sense", group="item").why == (
        "in no context do 3 or more replies have values that differ"
    )
    few = np.full(REPLIES, np.nan)
    few[:2] = 1, 2
    found = ds.correlate(run, rated(few), **QUICK)
    assert found.cell("words", "sense").why == "2 replies have a value and a rating, and 3 are needed"
    assert found.cell("words", "sense", level="system").why == (
        "2 systems have a value and a rating, and 3 are needed"
    )
    shown = [note for note in found.notes() if "2 systems have a value" in note]
    assert shown[0].startswith("sense, over systems, is undefined for words, repetition-1, distinct-2,")
    two = ds.correlate(run, rated(few), min_points=2, **QUICK)
    assert abs(two.cell("words", "sense").value) == pytest.approx(1)
    few[1] = np.nan
    lonely = ds.correlate(run, rated(few), **QUICK)
    assert lonely.cell("words", "sense").why == "one reply has a value and a rating, and 3 are needed"


def test_a_constant_metric_and_one_of_nothing_but_gaps(run):
    scores = Scores(("same", "none"), np.stack([np.ones(REPLIES), np.full(REPLIES, np.nan)], axis=1))
    found = ds.correlate(run, scores=scores, **QUICK)
    assert found.cell("same", "wit").why == "the metric is the same everywhere"
    assert found.cell("none", "wit").why == "no reply has a value and a rating, and 3 are needed"
    assert "–" in str(found)
    assert found.cell("same", "wit", "accuracy").value == 0.5, "it orders no pair"


def test_a_single_context_has_no_interval():
    one = [replace(example, context=("hello",), id=f"{n}") for n, example in enumerate(examples())]
    said = [ds.Rating(example.id, example.system, "wit", "1", float(n % 5)) for n, example in enumerate(one)]
    found = ds.correlate(ds.evaluate(Replies.of(one, said), ["words"]), **QUICK)
    cells = [cell for cell in found.cells if cell.level == "reply"]
    assert {cell.contexts for cell in cells} == {1}
    assert all(math.isnan(cell.low) and math.isnan(cell.p) for cell in cells)
    why = "no interval, for it has 1 context, and 6 are needed"
    assert {cell.why for cell in cells if not math.isnan(cell.value)} == {why}
    assert any(note.startswith("wit, over all replies, words: no interval, for") for note in found.notes())


def test_a_value_without_an_interval_and_a_contest_without_a_verdict_say_why(run):
    values = np.stack([np.zeros(REPLIES), np.ones(REPLIES), truth()], axis=1)
    values[0, 0] = 1
    found = ds.correlate(run, scores=Scores(("once", "same", "close"), values), **QUICK)
    one = found.cell("once", "wit")
    why = "no interval, for too many random halves have no value"
    assert (math.isnan(one.value), math.isnan(one.low), one.why) == (False, True, why)
    assert f"wit, over all replies, once: {why}." in found.notes()
    assert found.cell("close", "wit").why == ""
    contest = found.better("once", "close").contest("once", "close", "wit")
    assert (contest.verdict, contest.why) == ("–", why)
    pairs = found.better("close", "same")
    assert pairs.contest("close", "same", "wit").why.startswith("a metric, or the ratings, are the same")
    assert any(note.startswith("–: a metric, or the ratings,") for note in pairs.notes())
    assert "A value for a system and none for a reply: self-bleu-2." in found.notes()


def test_a_run_of_nothing_but_metrics_of_systems():
    found = ds.correlate(ds.evaluate(Replies.of(examples(), ratings()), ["self-bleu-2"]), **QUICK)
    assert {(one.level, one.metric) for one in found.cells} == {("system", "self-bleu-2")}
    assert str(found).startswith("sense: over systems")
    assert "self-bleu-2 ↓" in str(found)
    with pytest.raises(DialoscopeError, match=r"It takes two metrics with a value for a reply to say which"):
        found.better()
    with pytest.raises(DialoscopeError, match=r"No metric of this run has a value for a reply; ask for"):
        ds.correlate(found.panel.result, levels=["reply"], **QUICK)


def test_what_has_no_bounds_counts_as_undefined(run):
    values = truth()
    values[:3] = math.inf, -math.inf, math.nan
    found = ds.correlate(
        run, scores=Scores(("far", "huge", "tiny"), np.outer(values, [1, 1e300, 1e-300])), **QUICK
    )
    one = found.cell("far", "wit")
    for name in ("huge", "tiny"):
        assert found.cell(name, "wit", "pearson").value == pytest.approx(
            found.cell("far", "wit", "pearson").value
        )
    assert (one.n, one.undefined) == (REPLIES - 3, 3)
    assert one.value > 0.3
    assert not math.isnan(found.cell("far", "wit", level="system").value)


def test_progress_is_told_of_each_coefficient(run):
    told = []
    ds.correlate(run, coefficients=["pearson", "cosine"], progress=told.append, **QUICK)
    assert told == [1] * 4 * 2


def test_few_systems_are_said_to_be_few(found):
    assert (
        "4 systems with a value and a rating: over fewer than 6 a correlation says next to nothing; no p is "
        "below .083." in found.notes()
    )
    p = [one.p for one in found.cells if one.level == "system" and one.coefficient == "spearman"]
    assert min(p) >= 2 / 24


def test_forms_for_people_and_programs(found):
    records = json.loads(found.json())
    lines = list(csv.DictReader(io.StringIO(found.csv())))
    assert len(records) == len(lines) == len(found.cells) == 2 * 5 * (7 * 3 + 8)
    assert records[0].keys() == lines[0].keys()
    assert records[0]["groups"] is None
    assert lines[0]["groups"] == ""
    assert all(row["higher_is_better"] is False for row in records if row["metric"] == "repetition-1")
    text, marked = found.text(), found.markdown()
    assert "repetition-1 ↓" in text
    head = "metric Spearman p Pearson Kendall cosine accuracy by system by item systems"
    assert " ".join(text.splitlines()[1].split()) == head
    assert "| metric | Spearman | p | Pearson |" in marked
    assert found.printed("markdown", signatures=True).endswith(
        f"self-bleu-2: {ds.metric('self-bleu-2').signature}"
    )
    assert repr(found) == "<Correlations: 8 metrics, 2 aspects, 290 coefficients>"
    assert found._repr_markdown_() == marked


def test_names_from_files_are_made_safe(run):
    name, aspect = "m\x1b[2J<b>", "a\x1b[2J[x](y)"
    scores = Scores((name,), columns().values[:, :1])
    found = ds.correlate(run, rated(truth(), aspect), scores=scores, **QUICK)
    pairs = found.better(name, "words")
    for text in (found.text(), found.markdown(), pairs.text(), pairs.markdown()):
        assert "\x1b" not in text
    assert "<b>" not in found.markdown() + pairs.markdown()
    marked = found.markdown() + pairs.markdown()
    assert marked.count("[x](y)") == marked.count("\\[x](y)") > 0


def test_of_two_metrics_the_better_one_is_found(run, found):
    one = found.better("close", "loose").contest("close", "loose", "sense")
    x, y = columns().values, run.ratings.means("sense", REPLIES)
    ranked = [stats.rankdata(column) for column in (x[:, 0], x[:, 1], y)]
    r = np.corrcoef(ranked)
    assert (one.first_value, one.second_value) == pytest.approx((r[0, 2], r[1, 2]))
    assert (one.williams_t, one.williams_p) == pytest.approx(williams(r[0, 2], r[1, 2], r[0, 1], REPLIES))
    assert one.low < one.difference < one.high
    assert one.steiger_p == pytest.approx(one.williams_p, abs=0.01)
    assert one.p == pytest.approx(one.williams_p, abs=0.05)
    assert one.p_holm == one.p, "one pair for each aspect"
    assert (one.verdict, one.n, one.contexts) == ("close", REPLIES, CONTEXTS)
    other = found.better("loose", "close").contest("loose", "close", "sense")
    assert (other.difference, other.low) == pytest.approx((-one.difference, -one.high))
    assert other.verdict == "close"


def test_metrics_are_compared_on_the_replies_that_both_have_and_the_right_way_up(run, found):
    one = found.better("gaps", "repetition-1", coefficient="pearson").contest("gaps", "repetition-1", "wit")
    (x, y), z = sides(run, "gaps", "wit"), run.values("repetition-1")
    known = ~np.isnan(x) & ~np.isnan(z)
    assert one.n == known.sum()
    r, lower = (stats.pearsonr(side[known], y[known]).statistic for side in (x, z))
    assert one.second_value == pytest.approx(lower)
    assert one.difference == pytest.approx(r + lower), "lower is better for the second"


def test_an_accuracy_is_turned_over_about_one_half(run):
    replies = Replies.of(examples(), ratings())
    found = ds.correlate(
        ds.evaluate(replies, ["distinct-1", "repetition-1"]), coefficients=["accuracy"], **QUICK
    )
    one = found.better().contest("distinct-1", "repetition-1", "wit")
    assert one.first_value == pytest.approx(1 - one.second_value), "the one is 1 less the other"
    assert one.difference == pytest.approx(0, abs=1e-12)
    up, down = (found.cell(name, "wit", "accuracy").agreement for name in ("distinct-1", "repetition-1"))
    assert up == pytest.approx(down)


def test_what_may_point_either_way_stands_by_its_size(run):
    scores = Scores(("up", "down"), np.stack([columns().values[:, 1], -columns().values[:, 0]], axis=1))
    one = ds.correlate(run, scores=scores, **QUICK).better("down", "up").contest("down", "up", "wit")
    assert one.first_value < 0 < one.second_value
    assert one.difference == pytest.approx(-one.first_value - one.second_value)
    assert (one.verdict, one.williams_t > 0) == ("down", True)


def test_every_pair_is_corrected_for_their_number(found):
    pairs = found.better()
    of_wit = [one for one in pairs.contests if one.aspect == "wit"]
    assert len(of_wit) == 7 * 6 / 2
    least = min(of_wit, key=lambda one: one.p)
    assert least.p_holm == pytest.approx(min(1, 21 * least.p))
    assert all(one.p_holm >= one.p for one in of_wit)
    single = found.better("close", "nothing").contest("close", "nothing", "wit")
    among = pairs.contest("close", "nothing", "wit")
    assert (among.difference, among.low, among.p) == pytest.approx((single.difference, single.low, single.p))
    assert len(json.loads(pairs.json())) == len(pairs.csv().splitlines()) - 1 == 42
    assert repr(pairs) == "<Contests: 42 of spearman>"


def test_williams_is_for_pearson_and_spearman_alone(found):
    one = found.better("close", "nothing", coefficient="kendall").contest("close", "nothing", "wit")
    assert np.isnan([one.williams_p, one.steiger_p]).all()
    assert one.verdict == "close"
    assert (one.p < 0.05) == (one.low > 0 or one.high < 0)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"aspect": "sens"}, r"Nobody rated 'sens' \(did you mean 'sense'\?\); what was rated: sense, wit\."),
        ({"levels": ["turn"]}, r"There is no level 'turn'\. Choose from: reply, system\."),
        ({"groups": ["context"]}, r"There is no group 'context'\. Choose from: overall, system, item\."),
        (
            {"coefficients": ["tau\x1b"]},
            r"There is no coefficient 'tau\\x1b'\. Choose from: pearson, spearman,",
        ),
        ({"coefficients": []}, r"Not one coefficient is named\. Choose from: pearson,"),
        ({"system_value": "median"}, r"system_value is 'median'; it must be one of: own, mean\."),
        ({"confidence": 95}, r"confidence must lie between 0 and 1, such as 0\.95"),
        ({"permutations": 0}, r"permutations must be at least 1, and min_points at least 2\."),
        ({"min_points": 1}, r"permutations must be at least 1, and min_points at least 2\."),
        (
            {"scores": Scores(("words",), np.zeros((REPLIES, 1)))},
            r"The scores name words, which the run has as well; rename them\.",
        ),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "message",
)
def test_what_cannot_be_done_says_what_can(run, how, message):
    with pytest.raises(DialoscopeError, match=message):
        ds.correlate(run, **{**QUICK, **how})


def test_a_run_without_ratings_says_how_to_give_some():
    bare = ds.evaluate(examples(), ["words"])
    with pytest.raises(DialoscopeError, match=r"The run has no ratings; give a file of them with --ratings"):
        ds.correlate(bare)


def test_what_was_not_correlated_cannot_be_asked_for(found):
    with pytest.raises(
        DialoscopeError, match=r"There is no spearman of x with wit at reply level \(overall\)"
    ):
        found.cell("x", "wit")
    with pytest.raises(DialoscopeError, match=r"There is no coefficient 'r'\. Choose from"):
        found.better("words", "close", coefficient="r")
    with pytest.raises(DialoscopeError, match=r"Name two metrics to compare, or none for every pair\."):
        found.better("words")
    with pytest.raises(DialoscopeError, match=r"self-bleu-2 has no value for a reply; these have: words,"):
        found.better("words", "self-bleu-2")
    with pytest.raises(DialoscopeError, match=r"There is no contest of a and b over wit here\."):
        found.better("words", "close").contest("a", "b", "wit")
    with pytest.raises(DialoscopeError, match=r"This run has no blue; it has: words, .*, close, loose, "):
        found.better("words", "blue")
    with pytest.raises(DialoscopeError, match=r"It takes two metrics with a value for a reply to say which"):
        found.better("words", "words")


def test_aspects_are_named_without_regard_to_case(run):
    assert [one.name for one in ds.correlate(run, aspect=["WIT", "wit"], **QUICK).aspects] == ["wit"]


@pytest.mark.corpora
def test_published_correlations_are_met(corpora):
    """Those of DialEvalMetrics for BLEU-4, ROUGE-L and RUBER on one corpus; a benchmark has them all."""
    from benchmarks.papers.correlations import METRICS

    published = json.loads((corpora / "gold/dialevalmetrics_published_correlations.json").read_text())
    run = ds.evaluate(ds.read(corpora / "rated/grade/grade_convai2.jsonl"), list(METRICS.values())[:2])
    found = ds.correlate(
        run, scores=ds.read_scores(corpora / "gold/ruber_scores.jsonl"), system_value="mean", **QUICK
    )
    checked = 0
    for row in published:
        if row["dataset"] == "GRADE-ConvAI2" and row["metric"] in METRICS:
            level = "reply" if row["level"] == "Turn-Level" else "system"
            for name in ("pearson", "spearman"):
                ours = found.cell(METRICS[row["metric"]], "coherence", name, level).value
                assert ours == pytest.approx(row[name], abs=0.001)
                checked += 1
    assert checked == 12


def test_what_learned_from_these_ratings_is_told(run, learned_from):
    learned_from(run)
    told = "words: its weights were fitted to some of these very ratings."
    assert told in ds.correlate(run, levels="reply", groups="overall", **QUICK).notes()


def test_a_single_choice_needs_no_list(run):
    one = ds.correlate(run, levels="reply", groups="item", coefficients="pearson", **QUICK)
    assert (
        one.rows()
        == ds.correlate(run, levels=["reply"], groups=["item"], coefficients=["pearson"], **QUICK).rows()
    )
