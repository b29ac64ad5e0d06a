"""Diversity over groups of replies, by hand, by another calculation, and on the released groups."""

import json
import math
from collections import Counter

import numpy as np
import pytest

import dialoscope as ds
from dialoscope.metrics import metrics
from dialoscope.text.batch import Batch


def group(name, *texts, system="s"):
    return [ds.Example(f"{name}#{i}", system, text, ("q",), group=name) for i, text in enumerate(texts)]


def scored(examples, metric="diversity-1"):
    one = ds.metric(metric)
    return one, one.measure(Batch(examples))


def score(examples, metric="diversity-1"):
    one, tally = scored(examples, metric)
    return one.score(tally)


def by_hand(grams):
    """The entropy in bits from the definition: minus the mean over tokens of log2 of their shares."""
    counts, total = Counter(grams), len(grams)
    return -sum(math.log2(counts[gram] / total) for gram in grams) / total


def test_it_is_the_entropy_over_all_replies_of_a_group():
    replies = group("q", "yes no", "yes yes", "no")
    assert score(replies) == pytest.approx(by_hand(["yes", "no", "yes", "yes", "no"]))
    pairs = [("yes", "no"), ("yes", "yes")]
    assert score(replies, "diversity-2") == pytest.approx(by_hand(pairs)) == 1.0


def test_a_system_has_the_mean_over_its_groups_whatever_their_sizes():
    replies = group("a", "yes", "no") + group("b", "x", "x", "x", "x", "x")
    assert score(replies) == 0.5


def test_groups_of_different_sizes_are_told_of():
    one, tally = scored(group("a", "yes", "no") + group("b", "x", "y", "z") + group("alone", "w"))
    assert one.notes(tally).warning == (
        "diversity-1 is a mean over groups of 2 to 3 replies, and more replies have more to vary: "
        "compare systems on the same groups, or make groups of one size (augment --full)."
    )
    other = group("a", "yes", "no", system="t")
    result = ds.evaluate(group("a", "yes", "no") + group("b", "x", "y", "z") + other, "diversity-1")
    assert any("groups of 2 to 3 replies" in note for note in result.table().notes())
    for replies in (other, other + group("b", "w", system="t"), [ds.Example("1", "s", "yes")]):
        one, tally = scored(replies)
        assert one.notes(tally).warning == ""


def test_the_same_reply_to_everything_is_no_diversity():
    assert score(group("q", "I see", "I see", "I see")) == 1.0  # two words, always the same two
    assert score(group("q", "I see", "I see"), "diversity-2") == 0.0


def test_each_reply_has_the_value_of_its_group_and_its_system():
    replies = group("q", "yes", "no") + group("q", "yes", "yes", system="t") + [ds.Example("1", "s", "yes")]
    one, tally = scored(replies)
    assert one.score_each(tally).tolist()[:4] == [1.0, 1.0, 0.0, 0.0]
    assert math.isnan(one.score_each(tally)[4])
    result = ds.evaluate(replies, "diversity-1", missing="undefined")
    assert (result.score("diversity-1", "s"), result.score("diversity-1", "t")) == (1.0, 0.0)
    assert result.table().cell("s", "diversity-1").undefined == 1


@pytest.mark.parametrize(
    "replies",
    [
        [ds.Example("1", "s", "yes no")],
        group("q", "yes no"),
        group("q", "", "..."),
        group("q", "a", "b") + group("r", "c"),
    ],
    ids=["no group", "one reply", "no words", "one-word replies"],
)
def test_undefined_is_not_zero(replies):
    one, tally = scored(replies, "diversity-2")
    assert math.isnan(one.score(tally))
    assert np.isnan(one.score_each(tally)).all()
    assert not one.rows(tally).any()
    assert one.notes(tally).numbers == {"n": 0.0}


def test_a_group_without_a_value_does_not_count():
    replies = group("a", "yes", "no") + group("b", "alone") + group("c", "", "")
    assert score(replies) == 1.0
    one, tally = scored(replies)
    assert one.notes(tally).numbers["n"] == 1.0
    assert one.defined(tally).tolist() == [True, True, False, False, False]


def test_what_varies_within_groups_and_between_them_adds_up_to_all():
    replies = group("a", "tea now", "tea later", "tea") + group("b", "rain", "rain today", "sun")
    one, tally = scored(replies)
    first, second = (" ".join(one.response for one in part).split() for part in (replies[:3], replies[3:]))
    beside = one.notes(tally).numbers
    within = (len(first) * by_hand(first) + len(second) * by_hand(second)) / len(first + second)
    assert beside["within"] == pytest.approx(within)
    assert beside["within"] + beside["between"] == pytest.approx(by_hand(first + second))


def test_groups_that_say_the_same_do_not_differ():
    one, tally = scored(group("a", "yes", "no") + group("b", "no", "yes"))
    assert one.notes(tally).numbers["between"] == 0.0


def test_the_baseline_mixes_replies_to_unrelated_queries():
    replies = [reply for i in range(5) for reply in group(f"q{i}", *[f"word{i}"] * 5)]
    one, tally = scored(replies)
    assert one.score(tally) == 0.0
    assert one.notes(tally).numbers["unrelated"] == pytest.approx(
        math.log2(5)
    )  # each reply from another group


def test_the_baseline_of_a_system_that_answers_everything_alike_is_its_value():
    replies = [reply for i in range(4) for reply in group(f"q{i}", "yes", "no", "yes", "no")]
    one, tally = scored(replies)
    assert one.score(tally) == 1.0
    assert 0.8 < one.notes(tally).numbers["unrelated"] <= 1.0


def test_the_baseline_needs_as_many_groups_as_a_group_has_replies():
    one, tally = scored(group("a", "x", "y", "z") + group("b", "u", "v", "w"))
    assert math.isnan(one.notes(tally).numbers["unrelated"])


def test_groups_without_an_n_gram_do_not_count_in_the_baseline():
    one, tally = scored(group("a", "x y", "") + group("b", "", "x y"), "diversity-2")
    assert one.score(tally) == 0.0
    assert one.notes(tally).numbers["unrelated"] == 0.0  # the same bigram, wherever the two replies end up


def test_neither_order_nor_shards_show_in_the_baseline_but_the_seed_does():
    chance = np.random.default_rng(3)
    words = [f"w{i}" for i in range(12)]
    replies = [
        reply
        for i in range(20)
        for reply in group(
            f"q{i}", *(" ".join(chance.choice(words, chance.integers(1, 6))) for _ in range(4))
        )
    ]
    one, tally = scored(replies)
    order = chance.permutation(len(replies))
    assert one.notes(tally).numbers == one.notes(tally.take(order)).numbers
    halves = [one.measure(Batch(part)) for part in (replies[:33], replies[33:])]
    assert one.notes(one.tally.joined(halves)).numbers == one.notes(tally).numbers
    other = ds.metric("diversity-1:seed=1")
    assert other.notes(tally).numbers["unrelated"] != one.notes(tally).numbers["unrelated"]
    assert other.score(tally) == one.score(tally)


def test_one_column_of_words_serves_every_n():
    result = ds.evaluate(group("q", "a b c", "c b a"), metrics("diversity:n=1/2/3"))
    assert len(result.tallies) == 1


def test_an_interval_resamples_groups_and_a_test_pairs_them():
    chance = np.random.default_rng(0)

    def replies(system, words):
        return [
            reply
            for i in range(30)
            for reply in group(
                f"q{i}",
                *(f"w{chance.integers(words)} w{chance.integers(words)}" for _ in range(5)),
                system=system,
            )
        ]

    result = ds.evaluate(replies("rich", 9) + replies("poor", 2), "diversity-1")
    cell = result.table().cell("rich", "diversity-1")
    assert (cell.items, cell.replies) == (30, 150)
    assert cell.beside["n"] == 30
    values = result.values("diversity-1")[:150:5]
    error = 1.96 * values.std() / math.sqrt(30)
    assert cell.low == pytest.approx(cell.value - error, abs=error / 3)
    assert cell.high == pytest.approx(cell.value + error, abs=error / 3)
    assert result.significance("diversity-1", "rich", "poor") < 0.01


def test_a_run_keeps_it(tmp_path):
    replies = group("a", "yes no", "no") + group("b", "x", "y z")
    result = ds.evaluate(replies, metrics("diversity:n=1/2"))
    result.save(tmp_path / "run")
    loaded = ds.Result.load(tmp_path / "run")
    assert loaded == result
    assert loaded.table().json() == result.table().json()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("diversity-0", "diversity: n must be between 1 and 100, not 0"),
        ("diversity:tokenizer=x", "There is no tokenizer 'x'"),
        ("diversity:seed=-1", "diversity: seed must be 0 or above, not -1"),
        ("diversity:log=10", "diversity has no log '10'. Choose one of: 2, e."),
        ("diversity:short=half", "diversity has no short 'half'. Choose one of: none, whole."),
    ],
)
def test_settings_that_make_no_sense_are_refused(text, complaint):
    with pytest.raises(ds.MetricError) as refused:
        ds.metric(text)
    assert complaint in str(refused.value)


def test_replies_without_a_group_are_told():
    with pytest.raises(ds.MetricError, match=r"diversity-2 needs group, but 1 of 1 replies have none"):
        ds.evaluate([ds.Example("1", "s", "x")], "diversity")


def released_code(replies, n=2):
    """What the authors' code computes, written again from its description."""
    grams = []
    for reply in replies:
        words = reply.split(" ")
        starts = range(len(words) - n + 1)
        grams += [" ".join(words)] if len(words) <= n else [" ".join(words[i : i + n]) for i in starts]
    shares = [count / len(grams) for count in Counter(grams).values()]
    return -sum(share * math.log(share) for share in shares)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_variant_of_the_authors_code(n):
    texts = [
        ("yes", "yes", "yes no", "no , not at all", "a b c"),
        ("a b", "a b", "b a b a", "b", ""),
        ("b c", "a b c", "c", "b c", "c d  e"),
    ]
    for some in texts:
        found = score(group("q", *some), f"diversity-{n}:variant=pang-code")
        assert found == pytest.approx(released_code(some, n), abs=1e-12)


def test_a_short_reply_is_no_n_gram_of_another():
    replies = group("q", "a", "a a", "a a a")
    grams = ["a", "a a", "a a", "a a"]
    found = score(replies, "diversity-2:variant=pang-code,log=2")
    assert found == pytest.approx(by_hand(grams))


@pytest.mark.corpora
@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_released_groups_have_the_values_of_another_calculation(corpora, n):
    path = corpora / "rated" / "pang2020" / "diversity_groups.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    expected = [released_code(row["responses"], n) for row in rows]
    name = f"diversity-{n}:variant=pang-code"
    result = ds.evaluate(ds.read(path), name)
    (system,) = result.systems
    assert len(result.replies) == 1000
    assert result.values(name)[::5] == pytest.approx(expected, abs=1e-12)
    assert np.ptp(result.values(name).reshape(200, 5), axis=1).max() == 0
    assert result.score(name, system) == pytest.approx(sum(expected) / len(rows), abs=1e-12)
    assert result.table().cell(system, name).items == 200
