"""Advice on metrics: which to report, which are redundant, which to avoid, each with its numbers."""

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
"""A metric that correlates with length so closely shares half of its variance with it."""
LITTLE = 0.2
"""Whatever agrees no better than this shares at most one twenty-fifth of its variance."""
ALL_ALIKE = 0.95
"""If so many replies have one value, correlations depend on the few others."""
STABLE = 0.75
"""Hennig's (2007) bound: a cluster whose mean Jaccard index is below it should not be called one."""


@dataclass(frozen=True)
class Advice:
    """One sentence of advice, with the numbers that it is based on."""

    kind: str
    """report, redundant, avoid, length, apart or unstable."""
    metrics: tuple[str, ...]
    sentence: str
    numbers: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Numbers by metric, by the metrics of a cluster, or of the cluster that the sentence is about."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """The numbers that advice is based on; metrics for which lower is better have their signs turned."""

    names: tuple[str, ...]
    matrix: CoefficientMatrix
    """The metrics with each other, and with people as one more column where they rated these replies."""
    clusters: tuple[Cluster, ...]
    groups: tuple[Group, ...]
    """The statistics of each cluster."""
    cut: float
    judging: tuple[bool, ...]
    """Whether one end of the metric is the better one; no metric can be trusted or not without that."""
    trust: tuple[Estimate, ...]
    """The correlation of each with people: on these replies where they are rated, else on other corpora."""
    basis: str
    """The name of these correlations; empty where there are none."""
    rated: bool
    """Whether people rated these very replies."""
    length: str
    """The metric that measures length; empty where there is none."""
    lengths: tuple[Estimate, ...]
    """The correlation of each metric with length (Spearman)."""
    without_length: tuple[float, ...]
    """The mean r within each cluster when length is held constant; NaN where there is none."""
    alike: tuple[float, ...]
    """The share of the replies that have the metric's commonest value."""
    fitted: frozenset[int] = frozenset()
    """The metrics that were trained on the ratings they are evaluated with."""

    def by_preference(self) -> list[int]:
        """The metrics that follow people best first; where that is not known, in the order of their names."""
        keys = [
            (not judging, math.inf if math.isnan(trust.value) else -trust.value, name)
            for judging, trust, name in zip(self.judging, self.trust, self.names, strict=True)
        ]
        return sorted(range(len(keys)), key=keys.__getitem__)

    def is_length(self, i: int) -> bool:
        """Whether a metric is length, or mostly so."""
        return abs(self.lengths[i].value) >= MOSTLY

    def describe(self, metrics: Sequence[int], estimates: Mapping[int, Estimate] | Sequence[Estimate]) -> str:
        """The names of the metrics, each with its estimate."""
        return ", ".join(f"{printable(self.names[i])} ({estimates[i]})" for i in metrics)

    def join_names(self, members: Cluster) -> str:
        """The names of the metrics of a cluster."""
        return ", ".join(printable(self.names[i]) for i in sorted(members))

    def numbers_of(
        self, metrics: Sequence[int], estimates: Mapping[int, Estimate] | Sequence[Estimate]
    ) -> dict[str, dict[str, float]]:
        """The estimates as numbers, by metric."""
        return {self.names[i]: estimates[i].numbers for i in metrics}


def advice(of: Evidence) -> tuple[Advice, ...]:
    """All advice on the metrics, the most important first."""
    first = _recommend_metrics(of) if of.basis else _recommend_representatives(of)
    parts = (
        _find_redundant,
        _warn_of_unproven,
        _find_constant,
        _find_lengthy,
        _find_explained_by_length,
        _find_opposed,
        _find_unstable,
    )
    return (first, *(item for part in parts for item in part(of)))


def _recommend_metrics(of: Evidence) -> Advice:
    """The smallest consistent set of metrics that correlate with people."""
    judged = [i for i in of.by_preference() if of.judging[i] and not math.isnan(of.trust[i].value)]
    trusted = [i for i in judged if of.trust[i].low > 0 and not of.is_length(i) and of.alike[i] < ALL_ALIKE]
    if not trusted:
        nearest = f" The nearest is {of.describe(judged[:1], of.trust)}." if judged else ""
        sentence = f"Rest nothing on these metrics: none of them surely follows people ({of.basis}).{nearest}"
        return Advice("report", (), sentence, of.numbers_of(judged[:1], of.trust))
    gains = _choose_metrics(of, trusted)
    numbers = {
        name: {**values, "gain": gains[i].value}
        for i, (name, values) in zip(gains, of.numbers_of([*gains], of.trust).items(), strict=True)
    }
    return Advice("report", tuple(numbers), _why(of, gains), numbers)


def _choose_metrics(of: Evidence, trusted: Sequence[int]) -> dict[int, Estimate]:
    """Metrics of different clusters, chosen one by one, each with what it adds to those before it.

    Each correlates with those before it, and with people beyond what those explain.
    """
    gains = {trusted[0]: of.trust[trusted[0]]}
    rest = _without(of, of.matrix, trusted[0])
    for i in trusted[1:]:
        apart = all(i not in cluster for cluster in of.clusters if cluster & gains.keys())
        if apart and all(_more_than_little(of.matrix.estimate(i, chosen)) for chosen in gains):
            gain = rest.estimate(i, len(of.names)) if of.rated else of.trust[i]
            if _more_than_little(gain):
                gains[i] = gain
                rest = _without(of, rest, i)
    return gains


def _more_than_little(r: Estimate) -> bool:
    return r.value >= LITTLE and r.low > 0


def _without(of: Evidence, matrix: CoefficientMatrix, column: int) -> CoefficientMatrix:
    """The coefficients with a metric held constant, if people rated the same replies."""
    return matrix.without(column) if of.rated else matrix


def _why(of: Evidence, gains: Mapping[int, Estimate]) -> str:
    first, *more = gains
    after = "" if of.trust[first].value >= LITTLE else " That is little."
    learned = of.fitted & gains.keys()
    if learned:
        after += f" {of.join_names(learned)}: {FITTED}, so that it looks better here than elsewhere."
    if not more:
        better = [
            i for i in of.by_preference() if of.judging[i] and of.trust[i].value > of.trust[first].value
        ]
        among = "those that are neither mostly length nor nearly constant" if better else "all metrics"
        none = (
            "that agrees with it adds to it" if of.rated else "of another cluster agrees with it and does so"
        )
        return (
            f"Report {of.describe([first], of.trust)}: of {among} it follows people best ({of.basis}), and "
            f"no other {none}.{after}"
        )
    least = min((of.matrix.estimate(i, j) for i, j in combinations(gains, 2)), key=lambda r: r.value)
    added = (
        f" Held against those before it, each still adds something: {of.describe(more, gains)}."
        if of.rated
        else ""
    )
    return (
        f"Report {of.describe([*gains], of.trust)}: each follows people ({of.basis}), they come from "
        f"different clusters, and they agree with each other (r {least} or more).{added}{after}"
    )


def _recommend_representatives(of: Evidence) -> Advice:
    """The most central metric of each cluster, where no ratings are known."""
    central = {
        i: of.matrix.mean([(i, j) for j in sorted(cluster - {i})]) for cluster in of.clusters for i in cluster
    }
    middle = np.nan_to_num([central[i].value for i in range(len(of.names))])
    chosen = [max(sorted(cluster), key=middle.__getitem__) for cluster in of.clusters]
    names = ", ".join(printable(of.names[i]) for i in chosen)
    sentence = (
        "No ratings tell these replies apart, and nothing is known of these metrics from elsewhere, so "
        "nothing says which of them to trust. To see all that they measure, report one of each cluster, that "
        f"which is most like the others of it: {names}."
    )
    return Advice("report", tuple(of.names[i] for i in chosen), sentence, of.numbers_of(chosen, central))


def _find_redundant(of: Evidence) -> Iterator[Advice]:
    """Metrics that nearly equal one that is to be preferred to them."""
    similar: dict[int, dict[int, Estimate]] = {}
    for i in of.by_preference():
        if of.alike[i] >= ALL_ALIKE:
            continue  # no wonder that it is like others that are nearly always the same
        near = [column for column in similar if of.matrix.r[i, column] >= SAME]
        if near:
            nearest = max(near, key=lambda metric: float(of.matrix.r[i, metric]))
            similar[nearest][i] = of.matrix.estimate(i, nearest)
        else:
            similar[i] = {}
    for metric, others in similar.items():
        if others:
            described = of.describe([*others], others)
            sentence = f"One is enough of {printable(of.names[metric])} and {described}: nearly the same (r)."
            numbers = of.numbers_of([*others], others)
            yield Advice("redundant", tuple(numbers), sentence, numbers)


def _warn_of_unproven(of: Evidence) -> Iterator[Advice]:
    """Metrics that correlate with people negatively, little, or not significantly."""
    judged = [i for i in of.by_preference() if of.judging[i]]
    against = [i for i in judged if of.trust[i].high < 0]
    unproven = [i for i in judged if of.trust[i].low <= 0 <= of.trust[i].high]
    useless = [i for i in unproven if of.trust[i].high < LITTLE]
    unsure = [i for i in unproven if i not in useless]
    yield from _against(of, against, "Avoid", "better by this measure is worse to people")
    yield from _against(of, useless, "Avoid", f"at best a little agreement with people, below {LITTLE:g}")
    yield from _against(of, unsure, "Do not count on", "nothing shows yet that people are followed")


def _against(of: Evidence, metrics: Sequence[int], verb: str, reason: str) -> Iterator[Advice]:
    if metrics:
        numbers = of.numbers_of(metrics, of.trust)
        yield Advice(
            "avoid",
            tuple(numbers),
            f"{verb} {of.describe(metrics, of.trust)}: {reason} ({of.basis}).",
            numbers,
        )


def _find_constant(of: Evidence) -> Iterator[Advice]:
    flat = {
        name: {"share": share} for name, share in zip(of.names, of.alike, strict=True) if share >= ALL_ALIKE
    }
    if flat:
        described = ", ".join(f"{printable(name)} ({100 * row['share']:.1f} %)" for name, row in flat.items())
        sentence = f"Rest nothing on {described} here: so many replies have one and the same value."
        yield Advice("avoid", tuple(flat), sentence, flat)


def _find_lengthy(of: Evidence) -> Iterator[Advice]:
    metrics = [i for i in range(len(of.names)) if of.is_length(i) and of.names[i] != of.length]
    if metrics:
        numbers = of.numbers_of(metrics, of.lengths)
        sentence = (
            f"Read {printable(of.length)} beside {of.describe(metrics, of.lengths)}: half or more of it is "
            "length (Spearman's ρ)."
        )
        yield Advice("length", tuple(numbers), sentence, numbers)


def _find_explained_by_length(of: Evidence) -> Iterator[Advice]:
    for cluster, group, rest in zip(of.clusters, of.groups, of.without_length, strict=True):
        if rest < min(1 - of.cut, group.r.value / 2):
            sentence = (
                f"It is length that {of.join_names(cluster)} have in common: their mean r falls from "
                f"{format_coefficient(group.r.value)} to {format_coefficient(rest)} with "
                f"{printable(of.length)} held constant."
            )
            yield Advice(
                "length", group.metrics, sentence, {"cluster": {"r": group.r.value, "without_length": rest}}
            )


def _find_opposed(of: Evidence) -> Iterator[Advice]:
    """Clusters that correlate negatively with each other."""
    large = [cluster for cluster in of.clusters if len(cluster) > 1]
    for position, ours in enumerate(large):
        between = {
            theirs: of.matrix.mean(list(product(sorted(ours), sorted(theirs))))
            for theirs in large[position + 1 :]
        }
        against = {theirs: r for theirs, r in between.items() if r.value <= -LITTLE and r.high < 0}
        if against:
            described = "; ".join(f"{of.join_names(theirs)} ({r})" for theirs, r in against.items())
            names = tuple(of.names[i] for theirs in (ours, *against) for i in sorted(theirs))
            numbers = {of.join_names(theirs): r.numbers for theirs, r in against.items()}
            sentence = (
                f"Do not mix {of.join_names(ours)} with what pulls the other way (mean r): {described}."
            )
            yield Advice("apart", names, sentence, numbers)


def _find_unstable(of: Evidence) -> Iterator[Advice]:
    for cluster, group in zip(of.clusters, of.groups, strict=True):
        stability = group.stability
        if len(cluster) > 1 and stability.jaccard < STABLE:
            sentence = (
                f"Do not build on the cluster of {of.join_names(cluster)}: other contexts give others (mean "
                f"Jaccard index {format_coefficient(stability.jaccard)}; just so in "
                f"{100 * stability.exact:.0f} % of the halves)."
            )
            yield Advice("unstable", group.metrics, sentence, {"cluster": stability._asdict()})
