"""A gate says what it found out, and never lets pass what it could not."""

import math
import re

import numpy as np
import pytest
import scipy.stats

import dialoscope as ds
from dialoscope.analysis.comparison.gate import Gate, evaluate_gate, format_difference
from dialoscope.runs.differences import Difference, LeaveOuts
from dialoscope.runs.resampling import Resamples, studentised_bounds

DRAWS = Resamples(4000, 0)
BLOCKS = 200
SCORES = scipy.stats.norm.ppf((np.arange(BLOCKS) + 0.5) / BLOCKS)
UNIT = studentised_bounds(0.0, SCORES, 0.95, DRAWS).high


def difference(first, second, left_out_of_first, left_out_of_second):
    return Difference(first, second, None, LeaveOuts(left_out_of_first, left_out_of_second), None)


def found(first, second, bound=0.09):
    """A difference whose 95 % bounds on one side are so far from it."""
    return difference(first, second, np.full(BLOCKS, first), second + bound / UNIT * SCORES)


def verdict(text, difference, *, strict=False, confidence=0.95):
    one = evaluate_gate(Gate.of(text), ("old", "new"), difference, confidence, DRAWS, strict=strict)
    return one.verdict, one.ok


@pytest.mark.parametrize(
    ("gate", "second", "expected"),
    [
        # The 95 % bounds on one side lie .09 to each side of the difference.
        ("m>=-0.5", 9.9, "passed"),
        ("m>=-0.5", 9.6, "passed"),
        ("m>=-0.5", 9.58, "undecided"),
        ("m>=-0.5", 9.42, "undecided"),
        ("m>=-0.5", 9.4, "failed"),
        ("m>=-5%", 9.6, "passed"),
        ("m>=-5%", 9.5, "undecided"),
        ("m>=-5%", 9.4, "failed"),
        ("m<=0.5", 10.4, "passed"),
        ("m<=0.5", 10.5, "undecided"),
        ("m<=0.5", 10.6, "failed"),
        ("m<=5%", 10.4, "passed"),
        ("m<=5%", 10.6, "failed"),
        ("m>=0", 10.2, "passed"),
        ("m>=0.5", 10.2, "failed"),
        ("m<=-0.5", 9.4, "passed"),
    ],
)
def test_the_truth_table(gate, second, expected):
    assert verdict(gate, found(10.0, second)) == (expected, expected != "failed")
    assert verdict(gate, found(10.0, second), strict=True) == (expected, expected == "passed")


def test_swapped_and_turned_over_a_claim_has_the_same_verdict():
    for second in (9.3, 9.5, 9.7):
        ours = verdict("m>=-0.5", found(10.0, second))
        assert verdict("m<=0.5", found(-10.0, -second)) == ours


def test_a_part_of_a_negative_value_is_a_part_of_its_size():
    assert verdict("m>=-5%", found(-10.0, -10.4)) == ("passed", True)
    assert verdict("m>=-5%", found(-10.0, -10.6)) == ("failed", False)


def test_that_the_old_value_is_uncertain_is_part_of_a_relative_gate():
    """Both move together: B is always .96 A, so that the difference varies but the ratio does not."""
    first = 10 + 0.2 * SCORES
    moved = difference(10.0, 9.6, first, 0.96 * first)
    assert verdict("m>=-5%", moved) == ("passed", True)
    assert verdict("m>=-3%", moved) == ("failed", False)
    assert verdict("m>=-0.5", moved) == ("undecided", True)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    ("gate", "difference", "why"),
    [
        ("m>=-1", found(math.nan, 3.0), "A has no value"),
        ("m>=-1", found(3.0, math.nan), "B has no value"),
        ("m>=-1", found(math.nan, math.nan), "A and B have no value"),
        ("m>=-2%", found(0.0, 3.0), "a part of 0 is nothing"),
        (
            "m>=-1",
            difference(1.0, 2.0, np.empty(0), np.empty(0)),
            "the bounds of the difference are unknown",
        ),
        (
            "m>=-1",
            difference(1.0, 2.0, np.ones(1), np.ones(1)),
            "the bounds of the difference are unknown",
        ),
        (
            "m>=-1",
            difference(0.0, 0.0, np.array([0.0, math.nan]), np.zeros(2)),
            "the bounds of the difference are unknown",
        ),
    ],
)
def test_what_is_undefined_never_passes(gate, difference, why, strict):
    one = evaluate_gate(Gate.of(gate), ("old", "new"), difference, 0.95, DRAWS, strict=strict)
    assert (one.verdict, one.ok, one.why) == ("undefined", False, why)


@pytest.mark.parametrize("second", [9.0, 11.0])
def test_few_contexts_decide_nothing_however_clear_they_are(second):
    def on(contexts):
        same = difference(10.0, second, np.full(contexts, 10.0), np.full(contexts, second))
        return evaluate_gate(Gate.of("m>=-0.5"), ("old", "new"), same, 0.95, DRAWS, strict=True)

    assert (on(19).verdict, on(19).ok) == ("undecided", False)
    assert on(19).why == "19 contexts are too few; a gate needs 20"
    assert on(20).verdict == ("passed" if second > 10 else "failed")


def test_what_is_the_same_everywhere_is_no_worse():
    same = difference(3.0, 3.0, np.linspace(2.9, 3.1, 40), np.linspace(2.9, 3.1, 40))
    assert verdict("m>=0", same, strict=True) == ("passed", True)
    assert verdict("m<=0%", same, strict=True) == ("passed", True)


def test_reasons_name_the_end_that_decided():
    def why(gate, second):
        return evaluate_gate(
            Gate.of(gate), ("old", "new"), found(10.0, second), 0.95, DRAWS, strict=False
        ).why

    def said(gate, second):
        text = why(gate, second)
        numbers = re.findall(r"[+-][\d.]+", text)
        return re.sub(r"[+-][\d.]+", "x", text), pytest.approx(list(map(float, numbers)), abs=0.005)

    assert said("m>=-0.5", 9.8) == ("surely no lower than x", [-0.29])
    assert said("m>=-0.5", 9.2) == ("surely no higher than x", [-0.71])
    assert said("m<=0.5", 10.2) == ("surely no higher than x", [0.29])
    assert said("m<=0.5", 10.8) == ("surely no lower than x", [0.71])
    assert said("m>=-0.5", 9.5) == ("anything from x to x is possible", [-0.59, -0.41])


@pytest.mark.parametrize(
    ("text", "gate"),
    [
        ("bleu-4>=-0.01", Gate("bleu-4", True, -0.01, False)),
        (" bleu-4 >= -2 % ", Gate("bleu-4", True, -0.02, True)),
        ("perplexity<=.5", Gate("perplexity", False, 0.5, False)),
        ("bleu-4:smoothing=none>=-1e-3", Gate("bleu-4:smoothing=none", True, -0.001, False)),
        ("rated:how >= it is<=+1", Gate("rated:how >= it is", False, 1.0, False)),
    ],
)
def test_gates_are_read_and_written(text, gate):
    assert Gate.of(text) == gate
    assert Gate.of(str(gate)) == gate


@pytest.mark.parametrize("text", ["", "bleu", "bleu>-1", "bleu>=", ">=1", "bleu>=x", "bleu>=1e999", "bleu=1"])
def test_what_is_no_gate_is_refused_with_an_example(text):
    with pytest.raises(
        ds.DialoscopeError, match=r"is not understood; write METRIC>=-MARGIN, such as 'bleu-4>=-0"
    ):
        Gate.of(text)


def test_a_gate_that_would_stop_what_is_better_is_refused():
    with pytest.raises(
        ds.DialoscopeError,
        match=r"'perplexity>=-1%' would stop what is better: .* lower. Write 'perplexity<=1%'",
    ):
        Gate.of("perplexity>=-1%").check_direction(False)
    with pytest.raises(ds.DialoscopeError, match=r"better when higher. Write 'bleu>=-0.1'"):
        Gate.of("bleu<=0.1").check_direction(True)
    Gate.of("words>=-1").check_direction(None)
    Gate.of("words<=1").check_direction(None)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.5, "+0.500"),
        (-12.34, "-12.3"),
        (0.0, "0.000"),
        (0.06, "+0.060"),
        (-0.00097, "-0.00097"),
        (math.nan, "–"),
    ],
)
def test_differences_have_signs_and_digits_that_count(value, text):
    assert format_difference(value) == text
