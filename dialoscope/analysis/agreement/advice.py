"""What to make of it: which metrics to report, which say the same, which to avoid, each with its numbers."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product

import numpy as np

from dialoscope.analysis.agreement.clustered import Group
from dialoscope.analysis.agreement.clustering import Cluster
from dialoscope.analysis.agreement.coefficient_matrix import CoefficientMatrix
from dialoscope.analysis.coefficients import format_coefficient
from dialoscope.analysis.estimate import Estimate
from dialoscope.analysis.trust.known import FITTED
from dialoscope.core.safe_text import printable

SAME = 0.9
"""Two metrics that agree so well share four fifths of their variance: one of them is enough."""
MOSTLY = 0.7
"""A metric that goes with length so closely shares half of its variance with it."""
LITTLE = 0.2
"""Whatever agrees no better than this shares at most one twenty-fifth of its variance."""
ALL_ALIKE = 0.95
"""Where so many replies have one value, correlations hang on the few others."""
STABLE = 0.75
"""Hennig's (2007) bound: a cluster whose mean Jaccard index is below it should not be called one."""


@dataclass(frozen=True)
class Advice:
    """One sentence, and what stands behind it."""

    kind: str
    """report, redundant, avoid, length, apart or unstable."""
    metrics: tuple[str, ...]
    sentence: str
    numbers: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """By metric, by the metrics of a cluster, or of the whole cluster that the sentence is about."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """All that advice is made from; metrics of which lower is better are turned over."""

    names: tuple[str, ...]
    matrix: CoefficientMatrix
    """The metrics with each other, and with people as one more column where they rated these replies."""
    clusters: tuple[Cluster, ...]
    groups: tuple[Group, ...]
    """What is known of each cluster."""
    cut: float
    judging: tuple[bool, ...]
    """Whether one end of the metric is the better one; no metric can be trusted or not without that."""
    trust: tuple[Estimate, ...]
    """How each follows people: here where they rated, else where others did."""
    basis: str
    """What these numbers are, in words; empty where there are none."""
    rated: bool
    """Whether people rated these very replies."""
    length: str
    """What length is measured by; empty where it is not known."""
    lengths: tuple[Estimate, ...]
    """How each metric goes with length (Spearman)."""
    without_length: tuple[float, ...]
    """The mean r within each cluster when length is held constant; NaN where there is none."""
    alike: tuple[float, ...]
    """The share of the replies that have the metric's commonest value."""
    fitted: frozenset[int] = frozenset()
    """The metrics that learned from the ratings they are judged by."""

    def preferred(self) -> list[int]:
        """The metrics that follow people best first; where that is not known, in the order of their names."""
        keys = [
            (not judging, math.inf if math.isnan(trust.value) else -trust.value, name)
            for judging, trust, name in zip(self.judging, self.trust, self.names, strict=True)
        ]
        return sorted(range(len(keys)), key=keys.__getitem__)

    def is_length(self, i: int) -> bool:
        """Whether a metric is length, or mostly so."""
        return abs(self.lengths[i].value) >= MOSTLY

    def told(self, some: Sequence[int], estimates: Mapping[int, Estimate] | Sequence[Estimate]) -> str:
        """Metrics, each with the number behind it."""
        return ", ".join(f"{printable(self.names[i])} ({estimates[i]})" for i in some)

    def listed(self, members: Cluster) -> str:
        """The metrics of a cluster."""
        return ", ".join(printable(self.names[i]) for i in sorted(members))

    def named(
        self, some: Sequence[int], estimates: Mapping[int, Estimate] | Sequence[Estimate]
    ) -> dict[str, dict[str, float]]:
        """The same for programs."""
        return {self.names[i]: estimates[i].numbers for i in some}


def advice(of: Evidence) -> tuple[Advice, ...]:
    """The most important first."""
    first = _trusted(of) if of.basis else _one_of_each(of)
    parts = (_redundant, _avoided, _alike, _lengthy, _by_length, _apart, _unstable)
    return (first, *(one for part in parts for one in part(of)))


def _trusted(of: Evidence) -> Advice:
    """The smallest set that is consistent and follows people."""
    judged = [i for i in of.preferred() if of.judging[i] and not math.isnan(of.trust[i].value)]
    trusted = [i for i in judged if of.trust[i].low > 0 and not of.is_length(i) and of.alike[i] < ALL_ALIKE]
    if not trusted:
        nearest = f" The nearest is {of.told(judged[:1], of.trust)}." if judged else ""
        sentence = f"Rest nothing on these metrics: none of them surely follows people ({of.basis}).{nearest}"
        return Advice("report", (), sentence, of.named(judged[:1], of.trust))
    gains = _chosen(of, trusted)
    numbers = {
        name: {**found, "gain": gains[i].value}
        for i, (name, found) in zip(gains, of.named([*gains], of.trust).items(), strict=True)
    }
    return Advice("report", tuple(numbers), _why(of, gains), numbers)


def _chosen(of: Evidence, trusted: Sequence[int]) -> dict[int, Estimate]:
    """One metric after the other, of another cluster each, that agrees with all before and adds to them."""
    gains = {trusted[0]: of.trust[trusted[0]]}
    rest = _without(of, of.matrix, trusted[0])
    for i in trusted[1:]:
        apart = all(i not in cluster for cluster in of.clusters if cluster & gains.keys())
        if apart and all(_more_than_little(of.matrix.estimate(i, one)) for one in gains):
            gain = rest.estimate(i, len(of.names)) if of.rated else of.trust[i]
            if _more_than_little(gain):
                gains[i] = gain
                rest = _without(of, rest, i)
    return gains


def _more_than_little(r: Estimate) -> bool:
    return r.value >= LITTLE and r.low > 0


def _without(of: Evidence, matrix: CoefficientMatrix, place: int) -> CoefficientMatrix:
    """What others have left to add, which only people's ratings of the same replies can tell."""
    return matrix.without(place) if of.rated else matrix


def _why(of: Evidence, gains: Mapping[int, Estimate]) -> str:
    first, *more = gains
    after = "" if of.trust[first].value >= LITTLE else " That is little."
    learned = of.fitted & gains.keys()
    if learned:
        after += f" {of.listed(learned)}: {FITTED}, so that it looks better here than elsewhere."
    if not more:
        better = [i for i in of.preferred() if of.judging[i] and of.trust[i].value > of.trust[first].value]
        among = "those that are neither mostly length nor nearly constant" if better else "all metrics"
        none = (
            "that agrees with it adds to it" if of.rated else "of another cluster agrees with it and does so"
        )
        return (
            f"Report {of.told([first], of.trust)}: of {among} it follows people best ({of.basis}), and no "
            f"other {none}.{after}"
        )
    least = min((of.matrix.estimate(i, j) for i, j in combinations(gains, 2)), key=lambda one: one.value)
    added = (
        f" Held against those before it, each still adds something: {of.told(more, gains)}."
        if of.rated
        else ""
    )
    return (
        f"Report {of.told([*gains], of.trust)}: each follows people ({of.basis}), they come from different "
        f"clusters, and they agree with each other (r {least} or more).{added}{after}"
    )


def _one_of_each(of: Evidence) -> Advice:
    """Without people: what covers all that is measured."""
    central = {i: _centrality(of, i, cluster) for cluster in of.clusters for i in cluster}
    middle = np.nan_to_num([central[i].value for i in range(len(of.names))])
    chosen = [max(sorted(cluster), key=middle.__getitem__) for cluster in of.clusters]
    names = ", ".join(printable(of.names[i]) for i in chosen)
    sentence = (
        "No ratings tell these replies apart, and nothing is known of these metrics from elsewhere, so "
        "nothing says which of them to trust. To see all that they measure, report one of each cluster, that "
        f"which is most like the others of it: {names}."
    )
    return Advice("report", tuple(of.names[i] for i in chosen), sentence, of.named(chosen, central))


def _centrality(of: Evidence, i: int, cluster: Cluster) -> Estimate:
    """How a metric goes with the others of its cluster."""
    return of.matrix.mean([(i, j) for j in sorted(cluster - {i})])


def _redundant(of: Evidence) -> Iterator[Advice]:
    """What says the same as a metric that is to be preferred to it."""
    kept: dict[int, dict[int, Estimate]] = {}
    for i in of.preferred():
        if of.alike[i] >= ALL_ALIKE:
            continue  # no wonder that it is like others that are nearly always the same
        near = [column for column in kept if of.matrix.r[i, column] >= SAME]
        if near:
            nearest = max(near, key=lambda one: float(of.matrix.r[i, one]))
            kept[nearest][i] = of.matrix.estimate(i, nearest)
        else:
            kept[i] = {}
    for one, others in kept.items():
        if others:
            told = of.told([*others], others)
            sentence = f"One is enough of {printable(of.names[one])} and {told}: nearly the same (r)."
            numbers = of.named([*others], others)
            yield Advice("redundant", tuple(numbers), sentence, numbers)


def _avoided(of: Evidence) -> Iterator[Advice]:
    """What people speak against."""
    judged = [i for i in of.preferred() if of.judging[i]]
    against = [i for i in judged if of.trust[i].high < 0]
    unproven = [i for i in judged if of.trust[i].low <= 0 <= of.trust[i].high]
    useless = [i for i in unproven if of.trust[i].high < LITTLE]
    unsure = [i for i in unproven if i not in useless]
    yield from _against(of, against, "Avoid", "better by this measure is worse to people")
    yield from _against(of, useless, "Avoid", f"at best a little agreement with people, below {LITTLE:g}")
    yield from _against(of, unsure, "Do not count on", "nothing shows yet that people are followed")


def _against(of: Evidence, some: Sequence[int], verb: str, reason: str) -> Iterator[Advice]:
    if some:
        numbers = of.named(some, of.trust)
        yield Advice(
            "avoid", tuple(numbers), f"{verb} {of.told(some, of.trust)}: {reason} ({of.basis}).", numbers
        )


def _alike(of: Evidence) -> Iterator[Advice]:
    flat = {
        name: {"share": share} for name, share in zip(of.names, of.alike, strict=True) if share >= ALL_ALIKE
    }
    if flat:
        told = ", ".join(f"{printable(name)} ({100 * one['share']:.1f} %)" for name, one in flat.items())
        sentence = f"Rest nothing on {told} here: so many replies have one and the same value."
        yield Advice("avoid", tuple(flat), sentence, flat)


def _lengthy(of: Evidence) -> Iterator[Advice]:
    some = [i for i in range(len(of.names)) if of.is_length(i) and of.names[i] != of.length]
    if some:
        numbers = of.named(some, of.lengths)
        sentence = (
            f"Read {printable(of.length)} beside {of.told(some, of.lengths)}: half or more of it is length "
            "(Spearman's ρ)."
        )
        yield Advice("length", tuple(numbers), sentence, numbers)


def _by_length(of: Evidence) -> Iterator[Advice]:
    for cluster, group, rest in zip(of.clusters, of.groups, of.without_length, strict=True):
        if rest < min(1 - of.cut, group.r.value / 2):
            sentence = (
                f"It is length that {of.listed(cluster)} have in common: their mean r falls from "
                f"{format_coefficient(group.r.value)} to {format_coefficient(rest)} with "
                f"{printable(of.length)} held constant."
            )
            yield Advice(
                "length", group.metrics, sentence, {"cluster": {"r": group.r.value, "without_length": rest}}
            )


def _apart(of: Evidence) -> Iterator[Advice]:
    """Clusters that pull against each other."""
    large = [cluster for cluster in of.clusters if len(cluster) > 1]
    for place, ours in enumerate(large):
        between = {
            one: of.matrix.mean(list(product(sorted(ours), sorted(one)))) for one in large[place + 1 :]
        }
        against = {one: r for one, r in between.items() if r.value <= -LITTLE and r.high < 0}
        if against:
            told = "; ".join(f"{of.listed(one)} ({r})" for one, r in against.items())
            names = tuple(of.names[i] for one in (ours, *against) for i in sorted(one))
            numbers = {of.listed(one): r.numbers for one, r in against.items()}
            sentence = f"Do not mix {of.listed(ours)} with what pulls the other way (mean r): {told}."
            yield Advice("apart", names, sentence, numbers)


def _unstable(of: Evidence) -> Iterator[Advice]:
    for cluster, group in zip(of.clusters, of.groups, strict=True):
        found = group.stability
        if len(cluster) > 1 and found.jaccard < STABLE:
            sentence = (
                f"Do not build on the cluster of {of.listed(cluster)}: other contexts give others (mean "
                f"Jaccard index {format_coefficient(found.jaccard)}; just so in "
                f"{100 * found.exact:.0f} % of the halves)."
            )
            yield Advice("unstable", group.metrics, sentence, {"cluster": found._asdict()})
