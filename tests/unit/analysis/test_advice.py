"""Advice on planted situations: each sentence for its reason, with its numbers."""

import math

import numpy as np
import pytest

from dialoscope.analysis.agreement.advice import Evidence, advice
from dialoscope.analysis.agreement.clustered import Group
from dialoscope.analysis.agreement.clustering import Stability
from dialoscope.analysis.agreement.coefficient_matrix import CoefficientMatrix
from dialoscope.analysis.estimate import UNKNOWN, Estimate

NAMES = ("a", "b", "c", "d")
PEOPLE = 4


def matrix(pairs, error=0.02, columns=5, draws=400):
    """Coefficients that are 0 unless named, each known so well."""
    r = np.eye(columns)
    for (i, j), value in pairs.items():
        r[i, j] = r[j, i] = value
    noise = np.random.default_rng(0).normal(scale=error, size=(draws, columns, columns))
    noise = np.triu(noise, 1) + np.triu(noise, 1).transpose(0, 2, 1)
    return CoefficientMatrix(r, np.clip(r + noise, -1, 1), np.full((columns, columns), 100), 0.95, 1000)


def evidence(pairs, clusters=((0,), (1,), (2,), (3,)), *, rated=True, **other):
    found = matrix(pairs)
    groups = tuple(
        Group(tuple(NAMES[i] for i in one), Estimate(0.9, 0.8, 0.95), 0.9, Stability(1, 1))
        for one in clusters
    )
    known = {
        "names": NAMES,
        "matrix": found,
        "clusters": tuple(map(frozenset, clusters)),
        "groups": groups,
        "cut": 0.5,
        "judging": (True,) * 4,
        "trust": tuple(found.estimate(i, PEOPLE) for i in range(4)) if rated else (UNKNOWN,) * 4,
        "basis": "r with overall" if rated else "",
        "rated": rated,
        "length": "words",
        "lengths": (UNKNOWN,) * 4,
        "without_length": (math.nan,) * len(clusters),
        "alike": (0.1,) * 4,
    }
    return Evidence(**{**known, **other})


def said(of, kind):
    return [one for one in advice(of) if one.kind == kind]


def test_the_best_alone_where_nothing_adds_to_it():
    # b follows people only as far as a explains: .6 · .5 = .3
    (one,) = said(evidence({(0, PEOPLE): 0.6, (1, PEOPLE): 0.3, (0, 1): 0.5}), "report")
    assert one.metrics == ("a",)
    assert one.sentence == (
        f"Report a ({evidence({(0, PEOPLE): 0.6}).trust[0]}): of all metrics it follows people best (r with "
        "overall), and no other that agrees with it adds to it."
    )
    assert one.numbers["a"]["r"] == one.numbers["a"]["gain"] == 0.6


def test_one_more_where_it_adds_and_agrees():
    (one,) = said(evidence({(0, PEOPLE): 0.6, (1, PEOPLE): 0.55, (0, 1): 0.4}), "report")
    assert one.metrics == ("a", "b")
    assert "they come from different clusters, and they agree with each other (r .40 [" in one.sentence
    # the partial correlation of b with people given a, by its formula
    assert one.numbers["b"]["gain"] == pytest.approx((0.55 - 0.6 * 0.4) / math.sqrt((1 - 0.36) * (1 - 0.16)))


@pytest.mark.parametrize(
    ("pairs", "other"),
    [
        ({(0, PEOPLE): 0.6, (1, PEOPLE): 0.55, (0, 1): 0.1}, {}),
        ({(0, PEOPLE): 0.6, (1, PEOPLE): 0.35, (0, 1): 0.4}, {}),  # of .35 there is .15 left
        (
            {(0, PEOPLE): 0.6, (1, PEOPLE): 0.55, (0, 1): 0.4},
            {"clusters": ((0, 1), (2,), (3,))},
        ),
        ({(0, PEOPLE): 0.6, (1, PEOPLE): 0.55, (0, 1): 0.4}, {"judging": (True, False, True, True)}),
        ({(0, PEOPLE): 0.6, (1, PEOPLE): 0.55, (0, 1): 0.4}, {"alike": (0.1, 0.96, 0.1, 0.1)}),
        (
            {(0, PEOPLE): 0.6, (1, PEOPLE): 0.55, (0, 1): 0.4},
            {"lengths": (UNKNOWN, Estimate(-0.8, -0.9, -0.7), UNKNOWN, UNKNOWN)},
        ),
    ],
    ids=["disagrees", "adds little", "same cluster", "neither end is better", "all alike", "mostly length"],
)
def test_what_is_not_reported(pairs, other):
    clusters = other.pop("clusters", ((0,), (1,), (2,), (3,)))
    assert said(evidence(pairs, clusters, **other), "report")[0].metrics == ("a",)


def test_nothing_can_be_relied_on():
    (one,) = said(evidence({(0, PEOPLE): 0.01, (1, PEOPLE): -0.5}), "report")
    assert one.metrics == ()
    assert one.sentence.startswith(
        "Rest nothing on these metrics: none of them surely follows people (r with overall). The nearest is "
        "a (.01 ["
    )


def test_the_best_may_still_be_little():
    (one,) = said(evidence({(0, PEOPLE): 0.1}), "report")
    assert one.sentence.endswith(" That is little.")


def test_without_people_one_of_each_cluster_stands_for_it():
    pairs = {(0, 1): 0.9, (1, 2): 0.9, (0, 2): 0.7}
    (one,) = said(evidence(pairs, ((0, 1, 2), (3,)), rated=False), "report")
    assert one.metrics == ("b", "d")
    assert one.sentence.endswith(
        "report one of each cluster, that which is most like the others of it: b, d."
    )
    assert one.numbers["b"]["r"] == pytest.approx(0.9)


def test_people_elsewhere_stand_in_for_people_here():
    trust = (Estimate(0.5, 0.3, 0.6), Estimate(0.4, 0.2, 0.5), Estimate(-0.3, -0.4, -0.2), UNKNOWN)
    of = evidence({(0, 1): 0.4}, rated=False, trust=trust, basis="ρ elsewhere")
    assert said(of, "report")[0].metrics == ("a", "b")
    assert said(of, "avoid")[0].metrics == ("c",)


def test_of_what_says_the_same_the_more_trusted_comes_first():
    of = evidence({(0, PEOPLE): 0.3, (1, PEOPLE): 0.5, (0, 1): 0.95, (2, 1): 0.92}, ((0, 1, 2), (3,)))
    (one,) = said(of, "redundant")
    assert one.metrics == ("a", "c")
    assert one.sentence.startswith("One is enough of b and a (.95 [")
    assert one.sentence.endswith("): nearly the same (r).")


def test_what_to_avoid_and_why():
    of = evidence({(0, PEOPLE): 0.5, (1, PEOPLE): -0.5, (2, PEOPLE): 0.01})
    against, useless = said(of, "avoid")
    assert against.metrics == ("b",)
    assert against.sentence.startswith("Avoid b (−.50 [")
    assert against.sentence.endswith("]): better by this measure is worse to people (r with overall).")
    assert useless.metrics == ("c", "d")
    assert "at best a little agreement with people, below 0.2" in useless.sentence
    wide = (of.trust[0], Estimate(0.2, -0.1, 0.5), of.trust[0], of.trust[0])
    (unsure,) = said(evidence({}, trust=wide), "avoid")
    assert unsure.sentence == (
        "Do not count on b (.20 [−.10, .50]): nothing shows yet that people are followed (r with overall)."
    )


def test_a_metric_of_which_neither_end_is_better_is_neither_trusted_nor_avoided():
    of = evidence({(0, PEOPLE): 0.6, (1, PEOPLE): -0.6}, judging=(False, False, True, True))
    assert not {"a", "b"} & {
        name for one in advice(of) if one.kind in ("report", "avoid") for name in one.metrics
    }


def test_one_value_for_nearly_all():
    (one,) = (
        one for one in said(evidence({}, alike=(0.1, 0.983, 0.1, 0.1)), "avoid") if "Rest" in one.sentence
    )
    assert one.sentence == "Rest nothing on b (98.3 %) here: so many replies have one and the same value."
    assert one.numbers == {"b": {"share": 0.983}}


def test_clusters_that_pull_against_each_other():
    pairs = {(i, j): -0.4 for i in (0, 1) for j in (2, 3)}
    (one,) = said(evidence(pairs, ((0, 1), (2, 3))), "apart")
    assert one.metrics == NAMES
    assert one.sentence.startswith("Do not mix a, b with what pulls the other way (mean r): c, d (−.40 [")
    assert not said(evidence({}, ((0, 1), (2, 3))), "apart")


def test_a_cluster_that_is_none():
    groups = (
        Group(("a", "b"), Estimate(0.6, 0.5, 0.7), 0.6, Stability(0.6, 0.2)),
        Group(("c",), UNKNOWN, math.nan, Stability(0.5, 0.1)),
        Group(("d",), UNKNOWN, math.nan, Stability(1, 1)),
    )
    (one,) = said(evidence({}, ((0, 1), (2,), (3,)), groups=groups), "unstable")
    assert one.metrics == ("a", "b")
    assert "(mean Jaccard index .60; just so in 20 % of the halves)" in one.sentence


def test_what_length_holds_together():
    (one,) = said(evidence({}, ((0, 1), (2,), (3,)), without_length=(0.1, math.nan, math.nan)), "length")
    assert one.sentence == (
        "It is length that a, b have in common: their mean r falls from .90 to .10 with words held constant."
    )
    assert one.numbers == {"cluster": {"r": 0.9, "without_length": 0.1}}


def test_a_small_fall_without_length_is_not_called_length():
    of = evidence({}, ((0, 1), (2,), (3,)), cut=0.1, without_length=(0.89, math.nan, math.nan))
    assert not said(of, "length")


def test_the_best_of_all_is_not_named_where_another_is_better_but_length():
    of = evidence(
        {(0, PEOPLE): 0.6, (1, PEOPLE): 0.7}, lengths=(UNKNOWN, Estimate(0.9, 0.8, 0.95), *[UNKNOWN] * 2)
    )
    (one,) = said(of, "report")
    assert one.metrics == ("a",)
    assert (
        "of those that are neither mostly length nor nearly constant it follows people best" in one.sentence
    )


def test_what_is_nearly_always_the_same_is_not_called_redundant():
    assert not said(evidence({(0, 1): 0.99}, ((0, 1), (2,), (3,)), alike=(0.1, 0.97, 0.1, 0.1)), "redundant")
