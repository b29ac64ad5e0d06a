"""Tests of which of two metrics correlates better with people, on the replies that both have a value for."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from dialoscope.analysis.coefficients import FEWEST, NAMES, format_coefficient, middle
from dialoscope.analysis.correlation.estimates import capitalize_name, sign
from dialoscope.analysis.correlation.group_sums import RowGroups, coefficients_in_groups
from dialoscope.analysis.correlation.levels import RandomDraws
from dialoscope.analysis.correlation.panel import Panel
from dialoscope.analysis.halves import Clusters, excess, in_halves, no_interval
from dialoscope.analysis.significance import holm, steiger, williams
from dialoscope.core.arrays import Floats, Ints
from dialoscope.core.errors import DialoscopeError
from dialoscope.core.render.document import Report, choose_notes
from dialoscope.core.render.sections import Grid, GridCell, NoteLines, Quantity, Section, p_value
from dialoscope.runs.resampling import halves_interval, halves_p

_THREE_DIGITS = partial(format_coefficient, digits=3)
TESTED = ("pearson", "spearman")
"""The coefficients that Williams' and Steiger's tests are for."""


@dataclass(frozen=True)
class Contest:
    """The test of which of two metrics correlates better with a rated aspect."""

    aspect: str
    coefficient: str
    first: str
    second: str
    first_value: float
    second_value: float
    difference: float
    """The first less the second, each turned over if lower is better; by size where neither end is."""
    low: float
    high: float
    p: float
    """The p-value by random halves of the contexts."""
    p_holm: float
    """Corrected for the number of pairs."""
    williams_t: float
    """The statistic of Williams' test, which assumes independent replies."""
    williams_p: float
    steiger_z: float
    """The statistic of Steiger's test, which does so too."""
    steiger_p: float
    n: int
    contexts: int
    verdict: str
    """The better metric; unsure where the difference is not significant, – where it is undefined."""
    why: str
    """Why the difference is undefined, if so."""


@dataclass(frozen=True, repr=False)
class Contests(Report):
    """Pairs of metrics, aspect by aspect."""

    contests: tuple[Contest, ...]
    coefficient: str
    confidence: float

    def contest(self, first: str, second: str, aspect: str) -> Contest:
        """The contest of two metrics, in this order."""
        for contest in self.contests:
            if (contest.first, contest.second, contest.aspect) == (first, second, aspect):
                return contest
        raise DialoscopeError(f"There is no contest of {first} and {second} over {aspect} here.")

    def sections(self, *, notes: bool = False) -> list[Section]:
        """A row for each pair and aspect, and how to read them."""
        return [self.grid(), NoteLines(self.notes(details=notes))]

    def rows(self) -> list[dict[str, Any]]:
        """One record for each pair and aspect."""
        return [asdict(contest) for contest in self.contests]

    def columns(self) -> list[str]:
        """The names in a record, also where there is none."""
        return list(Contest.__dataclass_fields__)

    def grid(self) -> Grid:
        """A row for each pair and aspect."""
        head = ["aspect", "first", "second", "first's", "second's", "difference", "p", "n", "better"]
        return Grid(head, list(map(_row, self.contests)), stub=3)

    def notes(self, *, details: bool = False) -> list[str]:
        """The notes: all of them, or the short ones."""
        short_notes = [
            f"[low, high]: {100 * self.confidence:g}% interval; p: corrected for the number of pairs (Holm); "
            f"better: where p < {1 - self.confidence:.2g}.",
            *sorted({f"–: {contest.why}." for contest in self.contests if contest.why}),
        ]
        more = [
            f"{capitalize_name(self.coefficient)} with the ratings, on the replies that both metrics have a "
            "value for; difference: first less second, turned over where lower is better, by size where "
            "neither end is.",
            "Interval and p are from random halves of the contexts, the same for both metrics. Williams' and "
            "Steiger's tests are in --json and --csv.",
        ]
        return choose_notes(short_notes, more, details=details)

    def __repr__(self) -> str:
        return f"<Contests: {len(self.contests)} of {self.coefficient}>"


def _row(contest: Contest) -> list[GridCell]:
    return [
        contest.aspect,
        contest.first,
        contest.second,
        _THREE_DIGITS(contest.first_value),
        _THREE_DIGITS(contest.second_value),
        Quantity(contest.difference, contest.low, contest.high, form=_THREE_DIGITS),
        p_value(contest.p_holm),
        str(contest.n),
        contest.verdict,
    ]


class MetricPair(NamedTuple):
    """The indices of two metrics."""

    first: int
    second: int


def compare_metrics(
    panel: Panel,
    random_draws: RandomDraws,
    confidence: float,
    coefficient: str,
    first: str | None,
    second: str | None,
) -> Contests:
    """Test two metrics against each other, or every pair if none is named."""
    if coefficient not in NAMES:
        raise DialoscopeError(f"There is no coefficient '{coefficient}'. Choose from: {', '.join(NAMES)}.")
    if (first is None) != (second is None):
        raise DialoscopeError("Name two metrics to compare, or none for every pair.")
    if first is None or second is None:
        pairs = [MetricPair(*both) for both in combinations(range(len(panel.columns)), 2)]
    else:
        pairs = [MetricPair(panel.index_of(first), panel.index_of(second))]
    if not pairs or pairs[0].first == pairs[0].second:
        raise DialoscopeError("It takes two metrics with a value for a reply to say which is the better one.")
    test = _ContestTest(panel, random_draws, confidence, coefficient)
    contests = [
        contest for aspect in range(len(panel.aspects)) for contest in test.test_aspect(aspect, pairs)
    ]
    return Contests(tuple(contests), coefficient, confidence)


@dataclass(frozen=True, eq=False)
class _ContestTest:
    """The settings of the tests of metrics."""

    panel: Panel
    random_draws: RandomDraws
    confidence: float
    coefficient: str

    def test_aspect(self, aspect: int, pairs: Sequence[MetricPair]) -> list[Contest]:
        """The contests of all pairs over one aspect."""
        by_pair: dict[MetricPair, Contest] = {}
        for group, rows in self._with_the_same_gaps(aspect, pairs):
            candidates = self._candidates(sorted({index for pair in group for index in pair}), aspect, rows)
            by_pair |= {pair: self._contest(pair, aspect, candidates) for pair in group}
        contests = [by_pair[pair] for pair in pairs]
        corrected = holm(np.array([contest.p for contest in contests])).tolist()
        return [
            _decide(contest, p, sure=p < 1 - self.confidence)
            for contest, p in zip(contests, corrected, strict=True)
        ]

    def _with_the_same_gaps(
        self, aspect: int, pairs: Sequence[MetricPair]
    ) -> Iterator[tuple[list[MetricPair], Ints]]:
        """Pairs with the rows that both metrics and the aspect have a value in."""
        x, y = self.panel.x, self.panel.y[:, aspect]
        kinds: dict[bytes, list[MetricPair]] = {}
        for pair in pairs:
            gaps = np.isnan(x[:, pair]).any(axis=1) | np.isnan(y)
            kinds.setdefault(gaps.tobytes(), []).append(pair)
        for gaps_of, group in kinds.items():
            yield group, np.flatnonzero(~np.frombuffer(gaps_of, bool))

    def _candidates(self, places: Sequence[int], aspect: int, rows: Ints) -> "_Candidates":
        """The coefficients of these metrics with an aspect on these replies."""
        x, y = self.panel.x[rows][:, places], self.panel.y[rows][:, [aspect]]
        everything = RowGroups(np.zeros(len(rows), np.int64), 1)
        values = coefficients_in_groups(self.coefficient, x, y, everything)[0, :, 0]
        none = middle(self.coefficient)
        better = [self.panel.columns[index].higher_is_better for index in places]
        signs = np.array([sign(*row) for row in zip(better, values - none, strict=True)])
        between = np.full((len(places), len(places)), np.nan)
        if self.coefficient in TESTED:
            between = coefficients_in_groups(self.coefficient, x, x, everything)[0] * signs[:, None] * signs
        clusters = Clusters.of(self.panel.item, self.random_draws.seed)
        halves = np.full((0, len(places)), np.nan)
        if clusters.count > 1:
            draws = self.random_draws.halves
            halves = in_halves(self.coefficient, x, y, clusters.take(rows), draws)[:, :, 0]
            halves = values + (halves - values) * excess(clusters.count)
        return _Candidates(
            list(places), rows, values, (values - none) * signs, between, (halves - none) * signs
        )

    def _contest(self, pair: MetricPair, aspect: int, candidates: "_Candidates") -> Contest:
        panel, rows = self.panel, candidates.rows
        i, j = (candidates.places.index(index) for index in pair)
        first, second, between = (float(r) for r in (*candidates.oriented[[i, j]], candidates.between[i, j]))
        t, z = (test(first, second, between, len(rows)) for test in (williams, steiger))
        apart = candidates.halves[:, i] - candidates.halves[:, j]
        low, high = halves_interval(apart, self.confidence).tolist()
        lost = float(np.isnan(apart).mean()) if len(apart) else 1.0
        unknown = no_interval(lost, len(np.unique(panel.item)), self.confidence)
        return Contest(
            aspect=panel.aspects[aspect],
            coefficient=self.coefficient,
            first=panel.columns[pair.first].name,
            second=panel.columns[pair.second].name,
            first_value=float(candidates.values[i]),
            second_value=float(candidates.values[j]),
            difference=first - second,
            low=low,
            high=high,
            p=float(halves_p(apart)),
            p_holm=math.nan,
            williams_t=t.statistic,
            williams_p=t.p,
            steiger_z=z.statistic,
            steiger_p=z.p,
            n=len(rows),
            contexts=len(np.unique(panel.item[rows])),
            verdict="–",
            why=_explain_undefined(len(rows)) if math.isnan(first - second) else unknown,
        )


def _explain_undefined(n: int) -> str:
    """Why two metrics have no coefficients on so many replies."""
    if n < FEWEST:
        return f"fewer than {FEWEST} replies have a rating and both values"
    return "a metric, or the ratings, are the same for all replies that have a rating and both values"


class _Candidates(NamedTuple):
    """Metrics on the replies that all of them have a value for."""

    places: list[int]
    """The indices of the metrics among all."""
    rows: Ints
    values: Floats
    oriented: Floats
    """The values less the middle, with signs turned where lower is better, as are those that follow."""
    between: Floats
    """The coefficients of the metrics with each other; NaN where they are not needed."""
    halves: Floats  # (halves, metrics)


def _decide(contest: Contest, p_holm: float, *, sure: bool) -> Contest:
    """The contest with the corrected p-value and the verdict."""
    if math.isnan(p_holm):
        return contest
    better = contest.first if contest.difference > 0 else contest.second
    return replace(contest, p_holm=p_holm, verdict=better if sure else "unsure")
