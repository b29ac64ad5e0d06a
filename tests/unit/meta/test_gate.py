"""A gate says what it found out, and never lets pass what it could not."""

import math

import numpy as np
import pytest

import dialoscope as ds
from dialoscope.meta.comparison.gate import Gate, judged, signed
from dialoscope.results.differences import Bootstrapped, Difference, Jackknifed


def found(first, second, spread=0.1):
    """A difference whose draws lie evenly within the spread, to both sides."""
    draws = np.linspace(-spread, spread, 1001)
    return Difference(first, second, 0.5, Bootstrapped(np.full(1001, first), second + draws, 50), None)


def verdict(text, difference, *, strict=False, confidence=0.95):
    one = judged(Gate.of(text), ("old", "new"), difference, confidence, strict=strict)
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
        turned = Difference(-10.0, -second, 0.5, found(-10.0, -second).resampled, None)
        assert verdict("m<=0.5", turned) == ours


def test_a_part_of_a_negative_value_is_a_part_of_its_size():
    assert verdict("m>=-5%", found(-10.0, -10.4)) == ("passed", True)
    assert verdict("m>=-5%", found(-10.0, -10.6)) == ("failed", False)


def test_that_the_old_value_is_uncertain_is_part_of_a_relative_gate():
    """Both move together: B is always .96 A, so that the difference varies but the ratio does not."""
    first = 10 + np.linspace(-4, 4, 1001)
    moved = Difference(10.0, 9.6, 0.5, Bootstrapped(first, 0.96 * first, 50), None)
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
            Difference(1.0, 2.0, math.nan, Bootstrapped(np.empty(0), np.empty(0), 1), None),
            "the bounds of the difference are unknown",
        ),
        (
            "m>=-1",
            Difference(1.0, 2.0, math.nan, Jackknifed((1.0, 2.0), np.ones(1), np.ones(1)), None),
            "the bounds of the difference are unknown",
        ),
        (
            "m>=-1",
            Difference(0.0, 0.0, math.nan, Bootstrapped(np.empty(0), np.empty(0), 1), None),
            "the bounds of the difference are unknown",
        ),
    ],
)
def test_what_is_undefined_never_passes(gate, difference, why, strict):
    one = judged(Gate.of(gate), ("old", "new"), difference, 0.95, strict=strict)
    assert (one.verdict, one.ok, one.why) == ("undefined", False, why)


@pytest.mark.parametrize("second", [9.0, 11.0])
def test_few_contexts_decide_nothing_however_clear_they_are(second):
    """Four differences of one sign come by chance once in sixteen times, five once in 32."""

    def on(contexts):
        draws = Bootstrapped(np.full(100, 10.0), np.full(100, second), contexts)
        return judged(
            Gate.of("m>=-0.5"), ("old", "new"), Difference(10.0, second, 0.1, draws, None), 0.95, strict=True
        )

    assert (on(4).verdict, on(4).ok) == ("undecided", False)
    assert on(4).why == "4 contexts are too few to be sure of anything"
    assert on(5).verdict == ("passed" if second > 10 else "failed")


def test_reasons_name_the_end_that_decided():
    def why(gate, second):
        return judged(Gate.of(gate), ("old", "new"), found(10.0, second), 0.95, strict=False).why

    assert why("m>=-0.5", 9.8) == "surely no lower than -0.290"
    assert why("m>=-0.5", 9.2) == "surely no higher than -0.710"
    assert why("m<=0.5", 10.2) == "surely no higher than +0.290"
    assert why("m<=0.5", 10.8) == "surely no lower than +0.710"
    assert why("m>=-0.5", 9.5) == "anything from -0.590 to -0.410 is possible"


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
    assert signed(value) == text
