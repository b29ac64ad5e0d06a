"""Paired differences, held to other people's code and to plain calculations."""

import math

import numpy as np
import pytest
import scipy.stats
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest

import dialoscope as ds
from dialoscope.results.differences import Both, differences, measures
from dialoscope.results.resampling import Draws
from dialoscope.results.uncertainty import Side


def difference(result, name, draws=2000, exchanges=None, first="a", second="b"):
    (measure,) = (one for one in measures(result) if one.name == name)
    both = Both.of(Side.of(result, first), Side.of(result, second))
    (found,) = differences([measure], both, Draws(draws, 0), exchanges)
    return found


def lengths(first, second):
    """Two systems whose replies have so many words."""
    return ds.evaluate(
        [
            ds.Example(str(place), name, "w " * int(n))
            for name, many in (("a", first), ("b", second))
            for place, n in enumerate(many)
        ],
        ["words"],
    )


@pytest.fixture(scope="module")
def pairs():
    rng = np.random.default_rng(5)
    first = rng.integers(5, 25, 60)
    return first, first + rng.integers(-3, 6, 60)


def test_the_bootstrap_is_that_of_scipy(pairs):
    first, second = pairs
    theirs = scipy.stats.bootstrap(
        (first, second),
        lambda a, b, axis: (b - a).mean(axis=axis),
        paired=True,
        method="percentile",
        n_resamples=20_000,
        rng=np.random.default_rng(1),
    )
    found = difference(lengths(*pairs), "words", draws=20_000)
    assert found.value == pytest.approx((second - first).mean(), abs=1e-12)
    assert found.resampled.interval(0.95) == pytest.approx(theirs.confidence_interval, abs=0.02)
    assert found.resampled.error == pytest.approx(theirs.standard_error, rel=0.02)


def test_the_randomisation_is_that_of_scipy(pairs):
    first, second = (side[:12] for side in pairs)
    theirs = scipy.stats.permutation_test(
        (first, second),
        lambda a, b, axis: (b - a).mean(axis=axis),
        permutation_type="samples",
        n_resamples=math.inf,
    )
    found = difference(lengths(first, second), "words", exchanges=20_000)
    assert found.p == pytest.approx(theirs.pvalue, abs=0.01)


def test_the_effect_is_that_of_the_paired_t_test(pairs):
    first, second = pairs
    found = difference(lengths(*pairs), "words")
    t = scipy.stats.ttest_rel(second, first).statistic
    assert found.effect.size == pytest.approx(t / math.sqrt(60), rel=1e-12)
    counted = np.bincount(np.sign(second - first) + 1, minlength=3).tolist()
    assert [found.effect.lower, found.effect.equal, found.effect.higher] == counted


VERBS, NOUNS = (
    ("see", "like", "want", "know", "need"),
    ("the tea", "a cup", "this cat", "my old car", "it all"),
)


def talk(seed, share):
    """Forty sentences, a share of their words the same for every seed."""
    rng, kept = np.random.default_rng(seed), np.random.default_rng(0)
    words = [("i", "we", "they"), VERBS, NOUNS, ("today", "now", "very much", "in the end")]
    texts = []
    for _ in range(40):
        old, new = ([one[int(source.integers(len(one)))] for one in words] for source in (kept, rng))
        texts.append(" ".join(o if rng.random() < share else n for o, n in zip(old, new, strict=True)))
    return texts


def test_tests_of_bleu_are_those_of_sacrebleu():
    """PairedTest draws by itself, so that numbers are near and not the same."""
    references, first, second = talk(1, 1), talk(2, 0.5), talk(3, 0.62)
    result = ds.evaluate(
        [
            ds.Example(str(place), name, text, (), (reference,))
            for name, texts in (("a", first), ("b", second))
            for place, (text, reference) in enumerate(zip(texts, references, strict=True))
        ],
        ["bleu-4"],
    )
    found = difference(result, "bleu-4", draws=5000, exchanges=10_000)
    # sacreBLEU keeps the statistics of references in its metrics, so that each test has its own.
    scores = {
        kind: PairedTest([("a", first), ("b", second)], {"BLEU": BLEU()}, [references], kind, 5000)()[1][
            "BLEU"
        ]
        for kind in ("ar", "bs")
    }
    assert [found.first, found.second] == pytest.approx([one.score for one in scores["ar"]], abs=1e-9)
    assert 0.01 < found.p < 0.5
    assert found.p == pytest.approx(scores["ar"][1].p_value, abs=0.02)
    for drawn, theirs in zip((found.resampled.first, found.resampled.second), scores["bs"], strict=True):
        low, high = np.quantile(drawn, [0.025, 0.975])
        assert (high - low) / 2 == pytest.approx(theirs.ci, rel=0.06)


def test_pooled_metrics_are_compared_by_leaving_out_contexts():
    """Against scoring everything again without each context."""
    rng = np.random.default_rng(8)
    words = [[rng.integers(20, size=rng.integers(3, 9)) for _ in range(2)] for _ in range(12)]
    texts = [[" ".join(f"w{word}" for word in one) for one in both] for both in words]
    examples = [
        ds.Example(str(place), name, said)
        for place, both in enumerate(texts)
        for name, said in zip("ab", both, strict=True)
    ]
    found = difference(ds.evaluate(examples, ["distinct-2"]), "distinct-2")
    plain = []
    for left_out in range(12):
        rest = ds.evaluate([one for one in examples if one.id != str(left_out)], ["distinct-2"])
        plain.append(rest.score("distinct-2", "b") - rest.score("distinct-2", "a"))
    error = math.sqrt(11 / 12 * np.square(np.array(plain) - np.mean(plain)).sum())
    assert found.resampled.error == pytest.approx(error, rel=1e-9)
    half = scipy.stats.t.ppf(0.975, 11) * error
    assert found.resampled.interval(0.95) == pytest.approx((found.value - half, found.value + half))
    assert found.p == pytest.approx(2 * scipy.stats.t.sf(abs(found.value) / error, 11))
    assert 0.01 < found.p < 0.99
    assert found.effect is None


def test_part_of_the_first_less_the_second(pairs):
    """A relative difference: B - 0.9 A has the interval of that difference, not that of B - A moved."""
    first, second = pairs
    found = difference(lengths(*pairs), "words", draws=20_000)
    theirs = scipy.stats.bootstrap(
        (first, second),
        lambda a, b, axis: (b - 0.9 * a).mean(axis=axis),
        paired=True,
        method="percentile",
        n_resamples=20_000,
        rng=np.random.default_rng(1),
    )
    assert found.resampled.interval(0.95, 0.9) == pytest.approx(theirs.confidence_interval, abs=0.03)


def test_what_people_said_is_compared_as_a_metric_is():
    """Means of raters by reply, replies nobody rated left out, against scipy on these means."""
    rng = np.random.default_rng(2)
    examples = [ds.Example(str(place), name, "yes") for name in "ab" for place in range(30)]
    ratings = [
        ds.Rating(
            one.id, one.system, "overall", f"r{rater}", float(rng.normal(3 + 0.4 * (one.system == "b")))
        )
        for one in examples
        for rater in range(3)
    ]
    ratings = [one for one in ratings if (one.id, one.system) != ("7", "a")]
    result = ds.evaluate(ds.Replies.of(examples, ratings), ["words"])
    found = difference(result, "rated:overall")
    means = result.ratings.means("overall", 60).reshape(2, 30)
    known = ~np.isnan(means).any(axis=0)
    assert known.sum() == 29
    assert (found.first, found.second) == pytest.approx(tuple(np.nanmean(means, axis=1)))
    t = scipy.stats.ttest_rel(means[1][known], means[0][known]).statistic
    assert found.effect.size == pytest.approx(t / math.sqrt(29), rel=1e-9)
    assert found.p == pytest.approx(scipy.stats.ttest_rel(means[1][known], means[0][known]).pvalue, abs=0.05)


def several(order=None):
    """Three replies of each system to each of ten contexts; sums depend on the order of their parts."""
    rng = np.random.default_rng(4)
    examples = [
        ds.Example(
            f"{name}{context}-{reply}",
            name,
            "a b c d e f g "[: int(rng.integers(1, 14))],
            (str(context),),
            ("a b d",),
        )
        for name in "ab"
        for context in range(10)
        for reply in range(3)
    ]
    return ds.evaluate(
        examples if order is None else [examples[place] for place in order], ["rouge-1", "words"]
    )


def test_neither_the_order_of_rows_nor_what_else_is_compared_shows():
    plain, mixed = several(), several(np.random.default_rng(0).permutation(60))
    for name in ("rouge-1", "words"):
        ours, theirs = (difference(result, name, draws=200) for result in (plain, mixed))
        assert (ours.first, ours.second, ours.p, ours.effect) == (
            theirs.first,
            theirs.second,
            theirs.p,
            theirs.effect,
        )
        assert np.array_equal(ours.resampled.first, theirs.resampled.first)
        assert np.array_equal(ours.resampled.second, theirs.resampled.second)
    both = Both.of(Side.of(plain, "a"), Side.of(plain, "b"))
    for one, found in zip(measures(plain), differences(measures(plain), both, Draws(200, 0)), strict=True):
        alone = difference(plain, one.name, draws=200)
        assert np.array_equal(found.resampled.second, alone.resampled.second)
        assert found.p == alone.p


def test_replies_to_one_context_count_once():
    """Three replies to each of ten contexts are ten pairs of means."""
    found = difference(several(), "words", draws=100)
    assert sum(found.effect[1:]) == 10
    assert found.resampled.blocks == 10


def test_one_context_in_common_says_nothing_of_others():
    result = ds.evaluate(
        [ds.Example("1", "a", "so"), ds.Example("1", "b", "so it is"), ds.Example("2", "b", "no")],
        ["words", "distinct-1"],
    )
    for name in ("words", "distinct-1"):
        found = difference(result, name)
        assert math.isnan(found.p)
        assert all(map(math.isnan, found.resampled.interval(0.95)))
        assert math.isnan(found.resampled.error)
    assert difference(result, "words").value == 2
