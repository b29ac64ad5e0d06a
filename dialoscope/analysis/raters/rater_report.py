"""The report on the raters."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dialoscope.analysis.coefficients import Coefficient
from dialoscope.analysis.estimate import Estimate
from dialoscope.analysis.raters.aspect_correlations import AspectPair
from dialoscope.analysis.raters.outliers import Outlier
from dialoscope.analysis.raters.reliability import RaterAgreement
from dialoscope.core.errors import DialoscopeError
from dialoscope.core.render.document import Report, choose_notes, group
from dialoscope.core.render.sections import Grid, GridCell, NoteLines, Quantity, Section, number
from dialoscope.core.safe_text import printable
from dialoscope.runs.resampling import Resamples

_ACROSS = 4
"""Aspects side by side in a table; more would not fit a page."""
_RATERS_SHOWN = 20
"""The number of raters shown for each aspect; all of them are in JSON and CSV."""


class Without(NamedTuple):
    """The statistics of an aspect without the outliers."""

    numbers: Mapping[str, Estimate]
    means: Coefficient
    """Pearson's coefficient of the replies' mean ratings with and without the outliers."""


@dataclass(frozen=True)
class AspectReliability:
    """The agreement of raters on one aspect."""

    aspect: str
    replies: int
    """The number of rated replies."""
    ratings: int
    missing: int
    """Ratings without a value."""
    fewest: int
    """The smallest number of ratings of a reply."""
    most: int
    are_places: bool
    """Whether raters are positions in lists of different lengths, so that none of them is one person."""
    numbers: Mapping[str, Estimate]
    each: tuple[RaterAgreement, ...]
    outliers: tuple[Outlier, ...]
    without: Without | None

    @property
    def counts(self) -> dict[str, int]:
        """The numbers of replies, raters and ratings."""
        return {
            "replies": self.replies,
            "raters": len(self.each),
            "ratings": self.ratings,
            "missing": self.missing,
            "fewest of a reply": self.fewest,
            "most of a reply": self.most,
        }

    def odd(self, rater: str) -> str:
        """Why a rater is an outlier; empty if not."""
        return next((outlier.why for outlier in self.outliers if outlier.rater == rater), "")

    def rows(self) -> Iterator["RaterStatistic"]:
        """A row for each statistic, those of each rater after those of all."""
        yield from (RaterStatistic(self.aspect, name, value) for name, value in self.counts.items())
        for name, estimate in self.numbers.items():
            yield RaterStatistic(self.aspect, name, *estimate)
        for rater in self.each:
            odd = self.odd(rater.rater)
            n, once = rater.ratings, "there is one rating" if rater.ratings < 2 else ""
            yield RaterStatistic(self.aspect, "mean", rater.mean, n=n, rater=rater.rater)
            yield RaterStatistic(self.aspect, "variance", rater.variance, n=n, why=once, rater=rater.rater)
            for name in ("pearson", "spearman"):
                value, n, why = getattr(rater, name)
                yield RaterStatistic(self.aspect, name, value, n=n, why=why or odd, rater=rater.rater)

    def notes(self) -> Iterator[str]:
        """The notes on this aspect."""
        if self.are_places:
            yield (
                f"raters have no names and replies have {self.fewest} to {self.most} of them, so a number is "
                "a place in a list and no person: nobody is judged as a rater; read ICC(1,·) and alpha"
            )
        undefined = ((estimate.why, what) for what, estimate in self.numbers.items() if estimate.why)
        yield from (f"no {', '.join(names)}: {why}" for why, names in group(undefined).items())
        odd = (
            (outlier.why, f"{printable(outlier.rater)} ({outlier.number:.2f})") for outlier in self.outliers
        )
        yield from (f"outliers are {', '.join(raters)}: {why}" for why, raters in group(odd).items())
        if self.without is not None:
            yield self._effect(self.without)

    def _effect(self, rest: Without) -> str:
        names = ("pearson mean", "alpha interval", "ICC(1,k)", "ceiling of replies", "mean")
        changes = [
            f"{name} {number(rest.numbers[name].value)} (was {number(self.numbers[name].value)})"
            for name in names
        ]
        return (
            f"without outliers {', '.join(changes)}; the replies' means correlate "
            f"{number(rest.means.value)} with those of all raters"
        )


@dataclass(frozen=True, repr=False)
class Raters(Report):
    """The agreement of raters, aspect by aspect, and the correlations of the aspects."""

    aspects: tuple[AspectReliability, ...]
    pairs: tuple[AspectPair, ...]
    about: tuple[str, ...]
    """Notes on the ratings."""
    confidence: float
    draws: Resamples
    """The random halves of the contexts, for the intervals of pairs."""

    def __getitem__(self, aspect: str) -> AspectReliability:
        for reliability in self.aspects:
            if reliability.aspect == aspect:
                return reliability
        names = ", ".join(printable(reliability.aspect) for reliability in self.aspects)
        raise DialoscopeError(f"Nothing is known of '{printable(aspect)}'; there is: {names}.")

    def sections(self, *, notes: bool = False) -> list[Section]:
        """The numbers of each aspect, each rater, the pairs of aspects, and how to read them."""
        return [*self.grids(), NoteLines(self.notes(details=notes))]

    def columns(self) -> tuple[str, ...]:
        """The names in a record."""
        return RaterStatistic._fields

    def rows(self) -> list[dict[str, object]]:
        """One record for each number: of an aspect, of one of its raters, or of two aspects."""
        statistics = [row for aspect in self.aspects for row in aspect.rows()]
        for pair in self.pairs:
            statistics += [
                RaterStatistic(pair.first, "pearson", *pair.pearson, other=pair.second),
                RaterStatistic(pair.first, "spearman", *pair.spearman, other=pair.second),
            ]
        return [row._asdict() for row in statistics]

    def grids(self) -> list[Grid]:
        """The tables, a few aspects in each."""
        parts = [self.aspects[start : start + _ACROSS] for start in range(0, len(self.aspects), _ACROSS)]
        grids = [*map(_statistics_grid, parts), *self._of_raters()]
        if self.pairs:
            head = ["aspect", "with", "replies", "Pearson", "Spearman"]
            grids.append(Grid(head, list(map(_pair, self.pairs)), stub=2))
        return grids

    def notes(self, *, details: bool = False) -> list[str]:
        """The notes: all of them, or the short ones."""
        by_note = group(
            (note, printable(aspect.aspect)) for aspect in self.aspects for note in aspect.notes()
        )
        unknown = group(
            (pair.pearson.why or pair.spearman.why, printable(f"{pair.first} with {pair.second}"))
            for pair in self.pairs
        )
        short_notes = [
            *map(printable, self.about),
            *(f"{', '.join(aspects)}: {note}." for note, aspects in by_note.items()),
            *(f"{', '.join(pairs)}: {why}." for why, pairs in unknown.items() if why),
            *self._hidden_raters(),
            f"[low, high]: {100 * self.confidence:g}% interval.",
        ]
        return choose_notes(short_notes, self._legend(), details=details)

    def __repr__(self) -> str:
        return f"<Raters: {len(self.aspects)} aspects>"

    def _of_raters(self) -> Iterator[Grid]:
        """Each rater, where there are several and they are persons."""
        aspects = [aspect for aspect in self.aspects if not aspect.are_places and len(aspect.each) > 1]
        head = ["aspect", "rater", "ratings", "mean", "variance", "Pearson", "Spearman", "outlier"]
        rows = [_rater(aspect, rater) for aspect in aspects for rater in aspect.each[:_RATERS_SHOWN]]
        if rows:
            yield Grid(head, rows, stub=2)

    def _hidden_raters(self) -> Iterator[str]:
        """Notes on raters that are not shown, and on raters without names."""
        hidden = [
            aspect for aspect in self.aspects if len(aspect.each) > _RATERS_SHOWN and not aspect.are_places
        ]
        if hidden:
            names = ", ".join(f"{len(aspect.each)} of {printable(aspect.aspect)}" for aspect in hidden)
            yield f"The first {_RATERS_SHOWN} raters are shown ({names}); all of them: --json or --csv."
        if any(_are_numbered(aspect.each) and not aspect.are_places for aspect in self.aspects):
            yield (
                "Raters without names are distinguished by their place in a list; where that is not always "
                "the same person, read ICC(1,·) and alpha."
            )

    def _legend(self) -> Iterator[str]:
        yield (
            "pearson, spearman: each rater against the mean of the others, over raters the mean and the max. "
            "ICC(1,·): every reply has its own raters, ICC(2,·): all have the same; (·,1): of one rating, "
            "(·,k): of their mean."
        )
        yield (
            "Ceiling: the correlation with the mean ratings that a metric without error would have, given "
            "the raters' noise."
        )
        if self.pairs:
            yield (
                "With: correlations of the replies' mean ratings; intervals from "
                f"{self.draws.times} random halves of the contexts, seed {self.draws.seed}."
            )


class RaterStatistic(NamedTuple):
    """One statistic as a record."""

    aspect: str
    statistic: str
    value: float
    low: float = math.nan
    high: float = math.nan
    n: int | None = None
    why: str = ""
    """Why it is undefined, or why the rater is an outlier."""
    rater: str | None = None
    other: str | None = None
    """The aspect it is correlated with."""


def _quantity(estimate: Estimate) -> Quantity:
    return Quantity(estimate.value, estimate.low, estimate.high)


def _statistics_grid(aspects: Sequence[AspectReliability]) -> Grid:
    """The statistics, an aspect a column."""
    counts = [[name, *(str(aspect.counts[name]) for aspect in aspects)] for name in aspects[0].counts]
    numbers: list[list[GridCell]] = [
        [name, *(_quantity(aspect.numbers[name]) for aspect in aspects)] for name in aspects[0].numbers
    ]
    return Grid(["", *(aspect.aspect for aspect in aspects)], [*counts, *numbers])


def _rater(aspect: AspectReliability, rater: RaterAgreement) -> list[str]:
    numbers = (rater.mean, rater.variance, rater.pearson.value, rater.spearman.value)
    outlier = "yes" if aspect.odd(rater.rater) else ""
    return [aspect.aspect, rater.rater, str(rater.ratings), *map(number, numbers), outlier]


def _pair(pair: AspectPair) -> list[GridCell]:
    return [pair.first, pair.second, str(pair.pearson.n), _quantity(pair.pearson), _quantity(pair.spearman)]


def _are_numbered(each: Sequence[RaterAgreement]) -> bool:
    return len(each) > 1 and all(rater.rater.isdecimal() for rater in each)
