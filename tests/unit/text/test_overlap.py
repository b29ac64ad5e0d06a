"""The array arithmetic against the same things done word by word."""

import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dialoscope as ds
from dialoscope.metrics import rouge
from dialoscope.text.batch import Batch
from dialoscope.text.overlap import overlap
from dialoscope.text.tokenizer import Tokenizer
from dialoscope.text.tokens import hash_ngrams, hash_words, replies_of, reply_words

FEW = st.lists(st.sampled_from("abcd"), max_size=12)
CASES = st.lists(st.tuples(FEW, st.lists(FEW, min_size=0, max_size=3)), min_size=1, max_size=8)


def make(cases):
    return Batch(
        [
            ds.Example(str(i), "s", " ".join(r), (), tuple(map(" ".join, refs)))
            for i, (r, refs) in enumerate(cases)
        ]
    )


def grams(words, n):
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


@given(cases=CASES, order=st.integers(1, 6))
@settings(max_examples=200, deadline=None)
def test_matches_are_the_common_part_of_two_bags(cases, order):
    found = overlap(make(cases), Tokenizer("split")).matches(order)
    expected = [(grams(reply, order) & grams(ref, order)).total() for reply, refs in cases for ref in refs]
    assert found.tolist() == expected


@given(cases=CASES, order=st.integers(1, 6))
@settings(max_examples=200, deadline=None)
def test_clipped_counts_take_the_best_of_all_references(cases, order):
    found = overlap(make(cases), Tokenizer("split")).count_clipped(order, len(cases))
    for (reply, refs), count in zip(cases, found, strict=True):
        best = Counter()
        for ref in refs:
            best |= grams(ref, order)
        assert count == (grams(reply, order) & best).total()


@given(cases=CASES, order=st.integers(2, 6))
@settings(max_examples=50, deadline=None)
def test_numbers_that_would_not_fit_are_made_small_again(cases, order):
    plain = overlap(make(cases), Tokenizer("split")).matches(order)
    import sys

    module = sys.modules["dialoscope.text.overlap"]
    kept, module._LARGEST = module._LARGEST, 64
    try:
        assert overlap(make(cases), Tokenizer("split")).matches(order).tolist() == plain.tolist()
    finally:
        module._LARGEST = kept


@given(cases=CASES)
@settings(max_examples=200, deadline=None)
def test_subsequences_are_those_of_the_textbook(cases):
    pairs = overlap(make(cases), Tokenizer("split"))
    plain = [textbook(reply, ref, 1.0) for reply, refs in cases for ref in refs]
    weighted = [textbook(reply, ref, 1.2) for reply, refs in cases for ref in refs]
    assert pairs.subsequence.tolist() == plain
    assert pairs.weighted_subsequence(1.2) == pytest.approx(weighted, abs=1e-12)


def textbook(reply, reference, weight):
    """Lin (2004), table 1, cell by cell; with weight 1 it is the plain longest common subsequence."""
    worth, runs = Counter(), Counter()
    for i, word in enumerate(reply, 1):
        for j, other in enumerate(reference, 1):
            if word == other:
                run = runs[i - 1, j - 1]
                worth[i, j] = worth[i - 1, j - 1] + (run + 1) ** weight - run**weight
                runs[i, j] = run + 1
            else:
                worth[i, j] = max(worth[i - 1, j], worth[i, j - 1])
    return worth[len(reply), len(reference)]


@given(cases=CASES, weight=st.sampled_from([1.0, 1.2, 2.0]))
@settings(max_examples=200, deadline=None)
def test_runs_that_the_script_matches_are_those_of_the_whole_table(cases, weight):
    found = overlap(make(cases), Tokenizer("split")).weighted_hits(weight)
    assert found.tolist() == [hits(ref, reply, weight) for reply, refs in cases for ref in refs]


def hits(reference, reply, weight):
    """The way back through Lin's table, all of which is kept, and the runs on it that the reference has."""
    worth, runs = Counter(), Counter()
    for i, word in enumerate(reference, 1):
        for j, other in enumerate(reply, 1):
            if word == other:
                run = runs[i - 1, j - 1]
                worth[i, j] = worth[i - 1, j - 1] + (run + 1) ** weight - run**weight
                runs[i, j] = run + 1
            else:
                worth[i, j] = max(worth[i - 1, j], worth[i, j - 1])
    i, j, matched = len(reference), len(reply), []
    while i and j:
        if reference[i - 1] == reply[j - 1]:
            i, j = i - 1, j - 1
            matched.append(i)
        elif worth[i - 1, j] >= worth[i, j - 1]:
            i -= 1
        else:
            j -= 1
    runs = [1]
    for later, earlier in pairwise(matched):
        runs = [*runs[:-1], runs[-1] + 1] if later == earlier + 1 else [*runs, 1]
    return math.fsum(run**weight for run in runs) if matched else 0


@pytest.mark.parametrize("order", ["l", "w"])
@pytest.mark.parametrize("best", ["f", "each"])
def test_a_reply_too_long_for_one_of_its_references_is_undefined_and_reported(monkeypatch, order, best):
    monkeypatch.setattr(rouge, "_MOST_PAIRS", {"l": 6, "w": 6})
    batch = make([("ab", ["ab"]), ("abc", ["abc", "ab"]), ("ab", ["abc"]), ("abcd", [])])
    values = ds.Rouge(order=order, best=best, tokenizer="char").grade(batch)
    assert values.tolist() == pytest.approx(
        [1, math.nan, ds.Rouge(order=order).grade(make([("ab", ["abc"])]))[0], math.nan], nan_ok=True
    )
    (reason,) = batch.undefined
    assert reason == f"rouge-{order}, which compares at most 6 pairs of words of a reply and a reference"
    assert batch.undefined[reason] == {1}, "a reply without references is undefined for another reason"


def test_long_texts_have_the_same_subsequences_in_pieces(monkeypatch):
    import sys

    words = [f"w{i % 37}" for i in range(400)]
    cases = [(words[i:], [words[: 300 - i], words[::2]]) for i in range(5)]
    whole = overlap(make(cases), Tokenizer("split")).weighted_subsequence(1.2)
    monkeypatch.setattr(sys.modules["dialoscope.text.overlap"], "_TABLE", 50)
    assert overlap(make(cases), Tokenizer("split")).weighted_subsequence(1.2).tolist() == whole.tolist()


def test_hashes_of_words_are_the_same_in_every_batch():
    tokenizer = Tokenizer("split")
    one, other = make([(["a", "b"], [])]), make([(["x", "b", "a"], [])])
    first = hash_words(one, tokenizer, replies_of(one, tokenizer)).ids.tolist()
    second = hash_words(other, tokenizer, replies_of(other, tokenizer)).ids.tolist()
    assert first == [second[2], second[1]]
    pairs = [hash_ngrams(reply_words(batch, tokenizer), 2).ids.tolist() for batch in (one, other)]
    assert pairs[0][0] not in pairs[1], "a b is not b a"


def test_a_very_long_pair_does_not_slow_down_the_others():
    """Its cells are its own: the work counted, not timed."""
    from dialoscope.text.overlap import _chunks_of_like_size

    rows, columns = np.append(np.full(2000, 10), 6000), np.append(np.full(2000, 12), 6000)
    chunks = list(_chunks_of_like_size(rows, columns))
    cells = sum(rows[chunk].max() * columns[chunk].max() * len(chunk) for chunk in chunks)
    assert sorted(np.concatenate(chunks).tolist()) == list(range(2001))
    assert cells <= 1.1 * (rows * columns).sum()


def test_more_words_than_there_are_characters_are_compared_all_the_same():
    from dialoscope.core.tally import Tokens
    from dialoscope.text.overlap import Overlap

    big = np.array([2_000_000, 5, 1_200_000], np.int64)
    pairs = Overlap(Tokens(big, np.array([3])), Tokens(big[::2], np.array([2])), np.array([0]), 2_000_001)
    assert pairs.subsequence.tolist() == [2]
