"""Agreement of metrics: planted clusters are found, and what must not show does not."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import dialoscope as ds
from dialoscope.analysis.agreement.coefficient_matrix import partial_correlations
from dialoscope.analysis.coefficients import measure
from dialoscope.analysis.trust.known import load_shipped
from dialoscope.core.errors import DialoscopeError
from dialoscope.runs.rating_columns import Ratings
from dialoscope.runs.score_columns import Scores

CONTEXTS, SYSTEMS = 60, 3
REPLIES = CONTEXTS * SYSTEMS
PLANTED = ("a1", "a2", "a3", "b1", "b2", "alone")


def examples(order=range(REPLIES)):
    lengths = np.random.default_rng(5).integers(3, 20, REPLIES)
    return [
        ds.Example(
            f"c{n // SYSTEMS}",
            f"s{n % SYSTEMS}",
            " ".join(["word"] * lengths[n]),
            (f"context {n // SYSTEMS}",),
        )
        for n in order
    ]


def planted(seed=1):
    """Three columns that share something, two that share something else, and one by itself."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, REPLIES, 1))
    noise = rng.normal(size=(REPLIES, 6))
    return np.concatenate([2 * a + noise[:, :3], 2 * b + noise[:, 3:5], noise[:, 5:]], axis=1)


def ratings(values, aspect="overall"):
    return Ratings(
        np.arange(len(values)), (aspect,) * len(values), ("r",) * len(values), np.asarray(values, float)
    )


@pytest.fixture(scope="module")
def run():
    return ds.evaluate(examples(), ["words"])


@pytest.fixture(scope="module")
def found(run):
    return ds.agree(run, scores=Scores(PLANTED, planted()), draws=200)


def groups(view):
    return {frozenset(one.metrics) for one in view.groups}


def test_planted_clusters_are_found_and_stable(found):
    assert groups(found.plain) == {
        frozenset({"a1", "a2", "a3"}),
        frozenset({"b1", "b2"}),
        frozenset({"alone"}),
        frozenset({"words"}),
    }
    assert all(one.stability == (1, 1) for one in found.plain.groups)
    (three,) = (one for one in found.plain.groups if len(one.metrics) == 3)
    assert three.weakest <= three.r.value
    assert three.r.low < three.r.value < three.r.high
    assert three.r.value == pytest.approx(0.8, abs=0.06)  # 4 / 5 of the variance is shared


def test_clusters_of_noise_are_not_stable(run):
    noise = np.random.default_rng(9).normal(size=(REPLIES, 8))
    names = tuple(f"n{place}" for place in range(8))
    few = ds.agree(run, scores=Scores(names, noise), draws=200, cut=0.98, length=None)
    clusters = [one for one in few.plain.groups if len(one.metrics) > 1]
    assert clusters
    assert all(one.stability.jaccard < 0.75 and one.stability.exact < 0.5 for one in clusters)
    assert any(one.kind == "unstable" for one in few.advice)


def test_coefficients_are_those_of_pairs_where_both_have_a_value(run):
    values = planted()
    values[:20, 0] = np.nan
    values[10:50, 3] = np.nan
    for name in ("pearson", "spearman"):
        view = ds.agree(run, scores=Scores(PLANTED, values), coefficient=name, draws=40).plain
        i, j = view.names.index("a1"), view.names.index("b1")
        assert view.r[i, j] == view.r[j, i] == measure(name, values[:, 0], values[:, 3]).value


def test_the_order_of_replies_and_metrics_does_not_show(found):
    order = np.random.default_rng(0).permutation(REPLIES)
    columns = [4, 1, 5, 0, 3, 2]
    mixed = ds.evaluate(examples(order), ["words"])
    again = ds.agree(
        mixed,
        scores=Scores(tuple(PLANTED[place] for place in columns), planted()[order][:, columns]),
        draws=200,
    )
    assert again.plain.names == found.plain.names
    assert again.plain.order == found.plain.order
    assert again.plain.r == pytest.approx(found.plain.r, abs=1e-12)
    assert groups(again.plain) == groups(found.plain)
    assert [one.kind for one in again.advice] == [one.kind for one in found.advice]


def test_the_same_seed_gives_the_same_bits_and_another_does_not(run, found):
    scores = Scores(PLANTED, planted())
    assert ds.agree(run, scores=scores, draws=200).json() == found.json()
    assert ds.agree(run, scores=scores, draws=200, seed=0).json() == found.json()
    assert ds.agree(run, scores=scores, draws=200, seed=1).json() != found.json()


def test_a_double_is_at_distance_0_and_one_of_the_two_is_enough(run):
    values = planted()
    doubled = Scores((*PLANTED, "again"), np.column_stack([values, values[:, 5]]))
    agreement = ds.agree(run, scores=doubled, draws=50)
    merge = agreement.plain.merges()[0]
    assert (merge["left"] + merge["right"], merge["distance"], merge["found"]) == (
        ["again", "alone"],
        0,
        1,
    ) or (merge["right"] + merge["left"] == ["again", "alone"])
    assert "One is enough of again and alone (1 [1, 1]): nearly the same (r)." in [
        one.sentence for one in agreement.advice
    ]


def test_what_length_alone_brings_together_falls_apart_without_it(run):
    length = run.values("words")
    rng = np.random.default_rng(4)
    scores = np.column_stack([length + rng.normal(size=REPLIES) for _ in range(3)])
    agreement = ds.agree(run, scores=Scores(("x", "y", "z"), scores), draws=100)
    assert groups(agreement.plain) == {frozenset({"words", "x", "y", "z"})}
    assert groups(agreement.without_length) == {frozenset({"x"}), frozenset({"y"}), frozenset({"z"})}
    sentences = [one.sentence for one in agreement.advice if one.kind == "length"]
    assert any(
        sentence.startswith("It is length that words, x, y, z have in common") for sentence in sentences
    )
    assert any(sentence.startswith("Read words beside x") for sentence in sentences)


def test_a_metric_that_is_length_has_nothing_left_without_it(run):
    length = run.values("words")
    other = np.random.default_rng(4).normal(size=(REPLIES, 2))
    scores = Scores(("same", "p", "q"), np.column_stack([3 * length - 2, other]))
    agreement = ds.agree(run, scores=scores, draws=50)
    assert agreement.without_length.names == ("p", "q")
    assert "With words held constant nothing is left of same." in agreement.notes(details=True)
    pair = next(row for row in agreement.rows() if {row["first"], row["second"]} == {"same", "p"})
    assert math.isnan(pair["without_length_r"])


def test_lower_is_better_is_turned_over_for_clusters_and_the_sign_is_kept_in_the_matrix():
    replies = [
        ds.Example(f"c{n}", "s", f"one two {'one ' * (n % 5)} {'three four five' if n % 3 else ''}")
        for n in range(40)
    ]
    view = ds.agree(ds.evaluate(replies, ["distinct-1", "repetition-1", "words"]), draws=50).plain
    i, j = view.names.index("distinct-1"), view.names.index("repetition-1")
    assert view.r[i, j] == pytest.approx(-1)
    assert view.distances[i, j] == pytest.approx(0)
    assert frozenset({"distinct-1", "repetition-1"}) in {
        frozenset(one.metrics) & {"distinct-1", "repetition-1"} for one in view.groups
    }


def test_what_cannot_be_compared_is_left_out_by_name_and_reason(run):
    values = planted()
    values[:, 0] = 7
    values[: REPLIES // 2 + 1, 1] = np.nan
    values[3, 2] = np.inf
    agreement = ds.agree(run, scores=Scores(PLANTED, values), draws=40)
    assert {one.metric: one.why for one in agreement.left_out} == {
        "a1": "7 for every reply",
        "a2": "undefined for 91 of 180 replies",
        "a3": "infinite for some replies",
    }
    assert "Left out: a1 (7 for every reply)." in agreement.notes(details=True)
    with_system = ds.agree(ds.evaluate(examples(), ["words", "self-bleu-2", "distinct-1"]), draws=40)
    assert [(one.metric, one.why) for one in with_system.left_out] == [
        ("self-bleu-2", "a value for a system and none for a reply")
    ]


def test_ratings_may_be_given_beside_the_run(run):
    values = planted()
    agreement = ds.agree(
        run, scores=Scores(PLANTED, values), ratings=ratings(values[:, 5], "Overall"), draws=50
    )
    assert agreement.settings.aspect == "Overall"
    about = {one.metric: one.people.value for one in agreement.metrics}
    assert about["alone"] == pytest.approx(1)
    assert about["a1"] == pytest.approx(measure("pearson", values[:, 0], values[:, 5]).value)


def test_several_aspects_count_together_unless_one_is_overall_or_named(run):
    values = planted()
    two = [ratings(values[:, place], name) for place, name in ((0, "fluency"), (3, "Humour"))]
    both = Ratings(
        np.concatenate([one.reply for one in two]),
        two[0].aspect + two[1].aspect,
        two[0].rater + two[1].rater,
        np.concatenate([one.value for one in two]),
    )
    scores = Scores(PLANTED, values)
    assert (
        ds.agree(run, scores=scores, ratings=both, draws=40).settings.aspect == "the mean of Humour, fluency"
    )
    named = ds.agree(run, scores=scores, ratings=both, aspect="humour", draws=40)
    assert named.settings.aspect == "Humour"
    with pytest.raises(DialoscopeError, match=r"Nobody rated 'flow'.*what was rated: fluency, Humour"):
        ds.agree(run, scores=scores, ratings=both, aspect="flow", draws=40)


def test_ratings_that_do_not_vary_say_nothing(run):
    agreement = ds.agree(
        run, scores=Scores(PLANTED, planted()), ratings=ratings(np.full(REPLIES, 3)), draws=40
    )
    assert agreement.settings.aspect == ""
    assert "overall is rated the same everywhere, or hardly at all, and says nothing." in agreement.notes(
        details=True
    )
    assert agreement.advice[0].sentence.startswith("No ratings tell these replies apart")


def test_without_a_metric_of_length_nothing_is_held_constant():
    replies = ds.evaluate(examples(), ["distinct-1", "entropy-1"])
    agreement = ds.agree(replies, draws=40)
    assert agreement.without_length is None
    assert "Length was not held constant." in agreement.notes(details=True)
    assert ds.agree(replies, length="entropy-1", draws=40).settings.length == "entropy-1"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"coefficient": "kendall"}, "The coefficient is 'kendall'; it must be one of: pearson, spearman."),
        ({"cut": 3}, "The cut is 3; it must be a distance 1 - r, from 0 to 2."),
        ({"draws": 0}, "draws be at least 1"),
        (
            {"draws": 2_000_000},
            "2000000 halves of 13 columns are more than memory should hold; ask for 295857 or fewer.",
        ),
        ({"confidence": 1}, "confidence must lie between 0 and 1"),
        (
            {"length": "size"},
            "This run has no size to hold constant; it has: a1, a2, a3, alone, b1, b2, words.",
        ),
        (
            {"scores": Scores(("x",), np.full((REPLIES, 1), 2.0))},
            "this run has 1 that can be compared. Left out: x (2 for every reply).",
        ),
    ],
)
def test_what_cannot_be_done_is_said(run, options, message):
    with pytest.raises(DialoscopeError) as refused:
        ds.agree(run, **{"scores": Scores(PLANTED, planted()), **options})
    assert message in str(refused.value)


def test_a_length_that_does_not_vary_cannot_be_held_constant():
    replies = [replace(one, response="two words") for one in examples()]
    result = ds.evaluate(replies, ["words", "repetition-1"])
    scores = Scores(PLANTED, planted())
    with pytest.raises(DialoscopeError, match=r"repetition-1 cannot be held constant \(0 for every reply\)"):
        ds.agree(result, scores=scores, length="repetition-1")
    for length in ("words", None):
        found = ds.agree(result, scores=scores, length=length, draws=40)
        assert found.without_length is None
        assert "Length was not held constant." in found.notes(details=True)
        assert "Left out: words (2 for every reply)." in found.notes(details=True)


def test_sizes_whose_squares_are_no_numbers_do_not_show(run):
    values = planted()
    far = Scores(PLANTED, values * [1, 1e300, 1e-300, 1, 1, 1])
    near, found = (ds.agree(run, scores=one, draws=40).plain for one in (Scores(PLANTED, values), far))
    np.testing.assert_allclose(found.r, near.r, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.low, near.low, rtol=0, atol=1e-12)


def test_too_few_replies_are_said_to_be_too_few():
    two = ds.evaluate(examples(range(2)), ["words", "distinct-1"])
    with pytest.raises(
        DialoscopeError, match=r"Left out: distinct-1, words \(replies: 2, and 3 are needed\)"
    ):
        ds.agree(two)


def test_what_learned_from_these_ratings_is_not_praised_without_saying_so(run, learned_from, monkeypatch):
    learned_from(run)
    scores = Scores(("other", "third"), planted()[:, [0, 3]])
    monkeypatch.setattr(type(run.metrics[0]), "higher_is_better", True)
    found = ds.agree(run, scores=scores, ratings=ratings(run.values("words")), length=None, draws=100)
    assert found.advice[0].metrics[0] == "words"
    assert "words: its weights were fitted to some of these very ratings" in found.advice[0].sentence
    assert {one.metric: bool(one.how) for one in found.metrics} == {
        "words": True,
        "other": False,
        "third": False,
    }


def test_json_holds_everything_and_no_nan(found):
    told = json.loads(found.json(), parse_constant=pytest.fail)
    assert told["coefficient"] == "pearson"
    assert len(told["pairs"]) == 7 * 6 / 2
    assert {pair["first"] for pair in told["pairs"]} < set(told["order"])
    assert [sorted(one["metrics"]) for one in told["clusters"] if len(one["metrics"]) == 3] == [
        ["a1", "a2", "a3"]
    ]
    assert told["clusters"][0].keys() == {"metrics", "r", "low", "high", "weakest", "jaccard", "exact"}
    assert len(told["merges"]) == 6
    assert len(told["without_length"]["merges"]) == 5
    assert {one["kind"] for one in told["advice"]} >= {"report"}
    single = next(one for one in told["clusters"] if len(one["metrics"]) == 1)
    assert (single["r"], single["weakest"], single["exact"]) == (None, None, 1)


def test_hostile_names_are_shown_and_not_obeyed(run):
    scores = Scores(("\x1b[2J", "<b>|x", "{}"), planted()[:, [0, 1, 5]])
    agreement = ds.agree(run, scores=scores, ratings=ratings(planted()[:, 5], "{0}\x07"), draws=40)
    for text in (agreement.text(), agreement.markdown()):
        assert not {"\x1b", "\x07"} & set(text)
    assert "\\x1b[2J" in agreement.text()
    assert "&lt;b&gt;\\|x" in agreement.markdown()
    assert "{0}\\x07" in agreement.advice[0].sentence


def test_one_system_alone_is_as_if_it_were_the_whole_run(run):
    mine = np.arange(1, REPLIES, SYSTEMS)
    alone = ds.evaluate(examples(mine), ["words"])
    values, rated = planted(), ratings(planted()[:, 5])
    ours = ds.agree(run, scores=Scores(PLANTED, values), ratings=rated, system="s1", draws=50)
    theirs = ds.agree(
        alone, scores=Scores(PLANTED, values[mine]), ratings=ratings(rated.value[mine]), draws=50
    )
    assert ours.plain.r.tolist() == theirs.plain.r.tolist()
    assert [one.people.value for one in ours.metrics] == [one.people.value for one in theirs.metrics]
    assert groups(ours.plain) == groups(theirs.plain)
    assert ours.notes()[0].startswith("Pearson's r over 60 replies of s1 to 60 contexts")
    with pytest.raises(DialoscopeError, match="There is no system 'x' in this run"):
        ds.agree(run, scores=Scores(PLANTED, values), system="x")


def test_a_notebook_and_a_console_show_it(found):
    assert repr(found) == "<Agreement: 7 metrics, 4 clusters>"
    assert found._repr_markdown_() == found.markdown()
    assert str(found) == found.text() == found.printed()


def test_a_family_is_looked_for_among_the_branches(found):
    just_so = found.plain.branch(["a3", "a1", "a2"])
    assert just_so == (("a1", "a2", "a3"), 1, 1)
    nearly = found.plain.branch(["a1", "a2", "a3", "alone"])
    assert nearly.metrics == ("a1", "a2", "a3")
    assert nearly.jaccard == 0.75
    assert found.plain.branch(["alone"]) == (("alone",), 1, 1)


def test_trust_from_elsewhere_stands_in_where_nobody_rated(sample):
    unrated = [replace(one) for one in ds.read(sample)]
    agreement = ds.agree(ds.evaluate(unrated, ["bleu-4", "rouge-l", "words"]), draws=50)
    about = {one.metric: one for one in agreement.metrics}
    assert math.isnan(about["bleu-4"].people.value)
    assert about["bleu-4"].elsewhere.value == load_shipped().of(ds.metric("bleu-4")).spearman
    first = agreement.advice[0]
    assert "Spearman's ρ over other corpora, for no ratings tell these replies apart" in first.sentence


def test_one_context_has_no_intervals_and_says_so():
    replies = [ds.Example(f"r{n}", "s", "word " * (n % 7 + 1), ("hi",)) for n in range(30)]
    values = np.random.default_rng(0).normal(size=(30, 2))
    agreement = ds.agree(ds.evaluate(replies, ["words"]), scores=Scores(("x", "y"), values))
    assert agreement.settings.contexts == 1
    assert agreement.notes()[0].endswith("to 1 context, which are too few for intervals.")
    assert all(math.isnan(one.stability.jaccard) for one in agreement.plain.groups)
    told = json.loads(agreement.json(), parse_constant=pytest.fail)
    assert {(pair["low"], pair["high"]) for pair in told["pairs"]} == {(None, None)}
    assert {merge["found"] for merge in told["merges"]} == {None}
    assert "–        –          –" in agreement.text()


def test_a_pair_without_a_coefficient_says_why(run):
    values = planted()
    values[: REPLIES // 2, 0] = np.nan
    values[REPLIES // 2 :, 1] = 1  # the same wherever a1 has a value
    agreement = ds.agree(run, scores=Scores(PLANTED[:2] + PLANTED[3:], values[:, [0, 1, 3, 4, 5]]), draws=40)
    why = {
        frozenset((row["first"], row["second"])): (row["r"], row["n"], row["why"]) for row in agreement.rows()
    }
    r, n, reason = why[frozenset({"a1", "a2"})]
    assert math.isnan(r)
    assert (n, reason) == (90, "one of them is the same for all 90 replies that have both")
    assert why[frozenset({"b1", "b2"})][2] == ""
    assert "Pairs of metrics without r: 1. They count as if it were 0; --csv says why." in agreement.notes(
        details=True
    )
    apart = ds.agree(run, scores=Scores(("p", "q"), halves()), draws=40)
    (few,) = (row["why"] for row in apart.rows() if {row["first"], row["second"]} == {"p", "q"})
    assert few == "0 replies have both, and 3 are needed"


def halves():
    """Two columns that no reply has both of."""
    values = np.random.default_rng(0).normal(size=(REPLIES, 2))
    values[: REPLIES // 2, 0] = np.nan
    values[REPLIES // 2 :, 1] = np.nan
    return values


@pytest.mark.corpora
def test_the_families_of_feng_et_al_on_rated_replies(corpora, glove, wordnet):
    overlap = [*(f"bleu-{n}" for n in range(1, 5)), "meteor", *(f"rouge-{n}" for n in (1, 2, 3, 4, "l", "w"))]
    vectors = ["average", "extrema", "greedy"]
    replies = ds.read(corpora / "rated" / "grade" / "grade_dailydialog.jsonl")
    view = ds.agree(ds.evaluate(replies, [*overlap, *vectors, "words"])).plain
    for family in (overlap, vectors):
        assert view.branch(family).jaccard == 1
        assert view.branch(family).found > 0.75


@pytest.mark.parametrize("coefficient", ["pearson", "spearman"])
def test_length_is_held_constant_along_any_curve(coefficient):
    """Metrics of nothing but length and their own noise, one falling as it grows, one rising ever less."""
    rng = np.random.default_rng(6)
    replies = [
        ds.Example(str(n), "s", "word " * int(size), (f"context {n}",))
        for n, size in enumerate(rng.integers(1, 40, 600))
    ]
    result = ds.evaluate(replies, ["words"])
    length = result.values("words")
    curves = [1 / length, np.log(length), np.abs(length - 20), np.sqrt(length)]
    noisy = [one / one.std() + 0.15 * rng.normal(size=600) for one in curves]
    scores = Scores(("inverse", "log", "middle", "root"), np.stack(noisy, axis=1))
    found = ds.agree(result, scores=scores, coefficient=coefficient, draws=100)
    rest = found.without_length
    apart = rest.r[~np.eye(len(rest.names), dtype=bool)]
    assert np.abs(apart).max() < 0.2
    line = np.corrcoef([*noisy, length])
    linear = partial_correlations(line, [4])[:4, :4]
    assert np.abs(linear[~np.eye(4, dtype=bool)]).max() > 0.4, "what a straight line leaves"
    told = " ".join(one.sentence for one in found.advice if one.kind == "length")
    assert all(name in told for name in ("inverse", "log", "root"))
