"""Paired differences, held to other people's code and to plain calculations."""

import math

import numpy as np
import pytest
import scipy.stats
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest

import dialoscope as ds
from dialoscope.runs.differences import Both, differences, measures
from dialoscope.runs.intervals import Side
from dialoscope.runs.resampling import Resamples


def difference(result, name, draws=2000, first="a", second="b", mean="replies"):
    (measure,) = (one for one in measures(result) if one.name == name)
    both = Both.of(Side.of(result, first, mean), Side.of(result, second, mean))
    (found,) = differences([measure], both, Resamples(draws, 0))
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


def test_the_test_is_the_randomisation_of_scipy(pairs):
    first, second = (side[:12] for side in pairs)
    theirs = scipy.stats.permutation_test(
        (first, second),
        lambda a, b, axis: (b - a).mean(axis=axis),
        permutation_type="samples",
        n_resamples=math.inf,
    )
    exact = difference(lengths(first, second), "words", draws=4095)
    assert exact.p == pytest.approx(theirs.pvalue, abs=1e-12), "every half of twelve contexts"
    assert difference(lengths(first, second), "words", draws=4000).p == pytest.approx(theirs.pvalue, abs=0.02)


def test_the_interval_is_as_wide_as_that_of_the_paired_t_test(pairs):
    first, second = pairs
    found = difference(lengths(*pairs), "words", draws=20_000)
    theirs = scipy.stats.ttest_rel(second, first).confidence_interval(0.95)
    assert found.value == pytest.approx((second - first).mean(), abs=1e-12)
    assert found.interval(0.95) == pytest.approx((theirs.low, theirs.high), abs=0.06)
    assert found.error == pytest.approx(scipy.stats.sem(second - first), rel=1e-9)
    assert found.halves.std() == pytest.approx(found.error, rel=0.04)


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
    found = difference(result, "bleu-4", draws=10_000)
    # sacreBLEU keeps the statistics of references in its metrics, so that each test has its own.
    scores = {
        kind: PairedTest([("a", first), ("b", second)], {"BLEU": BLEU()}, [references], kind, 5000)()[1][
            "BLEU"
        ]
        for kind in ("ar", "bs")
    }
    assert [found.first, found.second] == pytest.approx([one.score for one in scores["ar"]], abs=1e-9)
    assert 0.005 < found.p < 0.5
    assert found.p == pytest.approx(scores["ar"][1].p_value, abs=0.02)
    alone = [one.ci for one in scores["bs"]]
    low, high = found.interval(0.95)
    assert max(alone) / 2 < (high - low) / 2 < math.hypot(*alone), "paired, and so less than apart"


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
    assert found.error == pytest.approx(error, rel=1e-9)
    half = scipy.stats.t.ppf(0.975, 11) * error
    assert found.interval(0.95) == pytest.approx((found.value - half, found.value + half))
    assert found.p == pytest.approx(2 * scipy.stats.t.sf(abs(found.value) / error, 11))
    assert 0.01 < found.p < 0.99
    assert found.effect is None


def test_part_of_the_first_less_the_second(pairs):
    """The bounds of B - 0.9 A are of that difference, not those of B - A moved."""
    first, second = pairs
    found = difference(lengths(*pairs), "words")
    apart = second - 0.9 * first
    theirs = scipy.stats.bootstrap(
        (apart,), np.mean, confidence_level=0.9, n_resamples=10_000, rng=np.random.default_rng(1)
    )
    assert found.bounds(0.95, Resamples(10_000, 0), 0.9) == pytest.approx(
        theirs.confidence_interval, abs=0.05
    )
    plain = found.bounds(0.95, Resamples(10_000, 0))
    assert plain.low < second.mean() - first.mean() < plain.high


def unequal(seed, replies, texts=60):
    """Two systems with the same source of words; the second replies more often to each context."""
    rng = np.random.default_rng(seed)
    examples = [
        ds.Example(f"{name}{context}-{reply}", name, " ".join(f"w{word}" for word in words), (f"c{context}",))
        for name, many in (("a", 1), ("b", replies))
        for context in range(texts)
        for reply in range(many)
        for words in [np.minimum(rng.pareto(0.7, rng.integers(3, 15)), 400).astype(int)]
    ]
    return ds.evaluate(examples, ["distinct-1", "entropy-2", "self-bleu-2"])


def test_what_depends_on_how_much_there_is_is_compared_at_equal_numbers():
    result = unequal(1, 3)
    for name in ("distinct-1", "entropy-2", "self-bleu-2"):
        found = difference(result, name)
        assert found.chosen
        assert found.first == pytest.approx(result.score(name, "a"), rel=1e-9), "all of its replies"
        assert abs(found.second - found.first) < abs(result.score(name, "b") - found.first)
        assert found.p > 0.05
    same = unequal(1, 1)
    plain = difference(same, "distinct-1")
    assert not plain.chosen
    assert plain.second == same.score("distinct-1", "b")


def test_neither_the_order_of_rows_nor_that_of_systems_shows_in_the_choice():
    result = unequal(2, 4, texts=12)
    order = np.random.default_rng(0).permutation(len(result.replies))
    rng = np.random.default_rng(2)
    examples = [
        ds.Example(f"{name}{context}-{reply}", name, " ".join(f"w{word}" for word in words), (f"c{context}",))
        for name, many in (("a", 1), ("b", 4))
        for context in range(12)
        for reply in range(many)
        for words in [np.minimum(rng.pareto(0.7, rng.integers(3, 15)), 400).astype(int)]
    ]
    mixed = ds.evaluate([examples[place] for place in order], ["distinct-1"])
    ours, theirs = difference(result, "distinct-1"), difference(mixed, "distinct-1")
    assert (ours.first, ours.second, ours.p) == (theirs.first, theirs.second, theirs.p)


def test_groups_of_different_sizes_are_compared_at_equal_sizes():
    rng = np.random.default_rng(3)
    examples = [
        ds.Example(
            f"{name}{group}-{reply}",
            name,
            " ".join(f"w{word}" for word in rng.integers(60, size=8)),
            (f"variant {reply} of {group}",),
            group=f"g{group}",
        )
        for name, many in (("a", 3), ("b", 6))
        for group in range(20)
        for reply in range(many)
    ]
    result = ds.evaluate(examples, ["diversity-1"])
    assert result.score("diversity-1", "b") - result.score("diversity-1", "a") > 0.3
    found = difference(result, "diversity-1")
    assert found.chosen
    assert abs(found.effect.size) < 0.5, "of the replies that are compared, too"
    assert abs(found.value) < 0.1
    assert found.p > 0.05


def test_means_are_over_replies_or_over_contexts():
    """One context has nine replies of a word, the other a single one of five."""
    examples = [
        ds.Example(
            f"{name}{place}", name, "w " * (5 if place == 9 else 1 + (name == "b")), (f"c{place // 9}",)
        )
        for name in "ab"
        for place in range(10)
    ]
    result = ds.evaluate(examples, ["words", "bleu-2"], missing="undefined")
    by_reply, by_context = (difference(result, "words", mean=mean) for mean in ("replies", "contexts"))
    assert (by_reply.first, by_reply.second) == pytest.approx((1.4, 2.3))
    assert (by_context.first, by_context.second) == pytest.approx((3.0, 3.5))
    table = result.table(mean="contexts")
    assert table.cell("a", "words").value == pytest.approx(3.0)
    assert "Means are over contexts" in " ".join(table.notes())
    assert "Means are over replies" in " ".join(result.table().notes())
    with pytest.raises(ds.DialoscopeError, match="mean is 'words'; it must be one of: replies, contexts"):
        result.table(mean="words")


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
        assert np.array_equal(ours.halves, theirs.halves, equal_nan=True)
        assert np.array_equal(ours.left_out.second, theirs.left_out.second)
    both = Both.of(Side.of(plain, "a"), Side.of(plain, "b"))
    for one, found in zip(
        measures(plain), differences(measures(plain), both, Resamples(200, 0)), strict=True
    ):
        alone = difference(plain, one.name, draws=200)
        assert np.array_equal(found.halves, alone.halves, equal_nan=True)
        assert found.p == alone.p


def test_replies_to_one_context_count_once():
    """Three replies to each of ten contexts are ten pairs of means."""
    found = difference(several(), "words", draws=100)
    assert sum(found.effect[1:]) == 10
    assert found.blocks == 10


def test_one_context_in_common_says_nothing_of_others():
    result = ds.evaluate(
        [ds.Example("1", "a", "so"), ds.Example("1", "b", "so it is"), ds.Example("2", "b", "no")],
        ["words", "distinct-1"],
    )
    for name in ("words", "distinct-1"):
        found = difference(result, name)
        assert math.isnan(found.p)
        assert all(map(math.isnan, found.interval(0.95)))
        assert math.isnan(found.error)
    assert difference(result, "words").value == 2
