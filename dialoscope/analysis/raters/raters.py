"""The reliability of the ratings of a run."""

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from dialoscope.analysis.coefficients import measure
from dialoscope.analysis.estimate import Estimate
from dialoscope.analysis.halves import Clusters
from dialoscope.analysis.raters.aspect_correlations import Resampling, correlate_aspects
from dialoscope.analysis.raters.intraclass import Noise, OneWay, ceiling, one_way, two_way
from dialoscope.analysis.raters.outliers import Outlier, find_outliers
from dialoscope.analysis.raters.rater_report import AspectReliability, Raters, Without
from dialoscope.analysis.raters.reliability import LEVELS, RaterAgreement, alpha, leave_one_out, variance
from dialoscope.core.arrays import Floats, Ints
from dialoscope.core.errors import DialoscopeError
from dialoscope.core.records import Rating
from dialoscope.core.safe_text import printable
from dialoscope.runs.rating_columns import AspectRatings, Ratings
from dialoscope.runs.resampling import HALVES, Resamples
from dialoscope.runs.result import CONFIDENCE, Result, check_halves
from dialoscope.runs.scaling import normalise_ratings

_LARGEST = 1e50
"""The fourth power of a larger rating is no number, and that of one as small is 0."""


def raters(
    result: Result,
    ratings: Ratings | Iterable[Rating] | None = None,
    *,
    aspect: str | Sequence[str] | None = None,
    system: str | None = None,
    normalise: str | None = None,
    scales: Mapping[str, tuple[float, float]] | None = None,
    confidence: float = CONFIDENCE,
    draws: int = HALVES,
    seed: int | None = None,
) -> Raters:
    """Measure how well the raters of a run agree, which of them do not, and how the aspects correlate.

    Args:
        result: The run, for its ratings and for which replies are to one context.
        ratings: Ratings of its replies, in place of those in the run.
        aspect: The rated aspects to use; all of them if none is named.
        system: The system whose replies are used; by default all.
        normalise: Put ratings on 0 to 1, by the "scale" of the aspect or by each "rater"'s own range.
        scales: The lowest and highest rating of an aspect; the usual scale that holds all, if not named.
        confidence: Confidence level of the intervals, such as 0.95.
        draws: Number of random halves of the contexts, for intervals of correlations between aspects.
        seed: Seed of the halves; by default that of the run.
    """
    Result.check(result)
    check_halves(confidence, draws)
    rated = result.ratings if ratings is None else Ratings.of(result.replies, ratings)
    if system is not None:
        rated = rated.of_replies(result.rows(system))
    wanted = _choose_aspects(rated, aspect)
    rows = result.replies.rows_by_name()
    rated = rated.with_replies(rows)
    if normalise is not None or scales:
        rated = normalise_ratings(rated, normalise or "scale", scales, wanted)
    valued = _choose_valued(rated, wanted)
    seed = result.provenance.seed if seed is None else seed
    how = Resampling(Clusters.of(result.replies.item[rows], seed), Resamples(draws, seed), confidence)
    means = {name: rated.means(name, len(rows)) for name in valued}
    systems = result.replies.system_by_name()[rows]
    reliabilities = tuple(_aspect(rated, name, systems, confidence) for name in valued)
    silent = [_describe_unvalued(name) for name in wanted if name not in valued]
    return Raters(
        reliabilities, correlate_aspects(means, how), (*rated.notes, *silent), confidence, how.draws
    )


def _choose_aspects(ratings: Ratings, aspect: str | Sequence[str] | None) -> list[str]:
    if not len(ratings):
        raise DialoscopeError("There are no ratings; give a file of them with --ratings (ratings=).")
    names = [aspect] if isinstance(aspect, str) else list(aspect or ratings.aspects)
    return list(dict.fromkeys(map(ratings.named, names)))


def _choose_valued(ratings: Ratings, names: Sequence[str]) -> list[str]:
    """The aspects that have a rating with a value."""
    valued = [name for name in names if len(ratings.of_aspect(name).value)]
    if not valued:
        raise DialoscopeError(_describe_unvalued(names[0]))
    return valued


def _describe_unvalued(name: str) -> str:
    return f"Of '{printable(name)}' there are ratings, but none with a value."


def _check_sizes(name: str, values: Floats) -> None:
    """Refuse ratings so large, or so close to each other, that nothing can be computed."""
    most, spread = float(np.abs(values).max()), float(np.ptp(values))
    if most > _LARGEST:
        raise DialoscopeError(f"A rating of '{printable(name)}' is {most:g}, which is none; correct it.")
    if 0 < spread < 1 / _LARGEST:
        raise DialoscopeError(
            f"Ratings of '{printable(name)}' differ by {spread:g} at most, which is nothing; correct them."
        )


def _aspect(all_ratings: Ratings, name: str, systems: Ints, confidence: float) -> AspectReliability:
    ratings = all_ratings.of_aspect(name)
    _check_sizes(name, ratings.value)
    each = leave_one_out(ratings)
    per_reply = np.bincount(ratings.reply)
    per_reply = per_reply[per_reply > 0]
    are_places = _are_positions(ratings, per_reply)
    odd = () if are_places else find_outliers(each)
    return AspectReliability(
        name,
        replies=len(per_reply),
        ratings=len(ratings.value),
        missing=ratings.missing,
        fewest=int(per_reply.min()),
        most=int(per_reply.max()),
        are_places=are_places,
        numbers=_numbers(ratings, each, systems, confidence),
        each=each,
        outliers=odd,
        without=_without(all_ratings, name, odd, systems, confidence),
    )


def _are_positions(ratings: AspectRatings, per_reply: Ints) -> bool:
    """Whether raters are positions in lists of different lengths, and so no persons."""
    numbered = ratings.raters == tuple(map(str, range(1, len(ratings.raters) + 1)))
    return numbered and not ratings.missing and bool(per_reply.min() < per_reply.max())


def _numbers(
    ratings: AspectRatings, each: Sequence[RaterAgreement], systems: Ints, confidence: float
) -> dict[str, Estimate]:
    """The statistics of an aspect, by name."""
    single, mean = one_way(ratings, confidence)
    of_one, of_mean = two_way(ratings, confidence)
    n, spread, within = len(ratings.value), variance(ratings.value), OneWay.of(ratings).within
    noise = Noise.of(ratings)
    return {
        "mean": Estimate(float(ratings.value.mean()), n=n),
        "variance": Estimate(spread, n=n, why="there is one rating" if n < 2 else ""),
        "variance within replies": Estimate(
            within.noise, n=int(within.freedom), why="" if within.freedom else "no reply has two ratings"
        ),
        **_summary("pearson", each),
        **_summary("spearman", each),
        **{f"alpha {level}": alpha(ratings, level) for level in LEVELS},
        "ICC(1,1)": single,
        "ICC(1,k)": mean,
        "ICC(2,1)": of_one,
        "ICC(2,k)": of_mean,
        "ceiling of replies": ceiling(ratings, None, confidence, noise),
        "ceiling of systems": ceiling(ratings, systems, confidence, noise),
    }


def _summary(name: str, each: Sequence[RaterAgreement]) -> dict[str, Estimate]:
    """The mean and the highest of the raters' correlations with the mean of the others."""
    coefficients = [getattr(rater, name) for rater in each]
    values = [coefficient.value for coefficient in coefficients if not math.isnan(coefficient.value)]
    if not values:
        reasons = "; ".join(dict.fromkeys(coefficient.why for coefficient in coefficients))
        why = (
            f"of no rater ({reasons})"
            if any(coefficient.n for coefficient in coefficients)
            else "no reply has two ratings"
        )
        return {f"{name} {which}": Estimate.undefined(why) for which in ("mean", "max")}
    mean, most = sum(values) / len(values), max(values)
    return {
        f"{name} mean": Estimate(mean, n=len(values)),
        f"{name} max": Estimate(most, n=len(values)),
    }


def _without(
    ratings: Ratings, name: str, odd: Sequence[Outlier], systems: Ints, confidence: float
) -> Without | None:
    """The statistics without the outliers; None if that leaves fewer than two raters."""
    if not odd:
        return None
    others = ratings.without([outlier.rater for outlier in odd], name)
    rest = others.of_aspect(name)
    if len(rest.raters) < 2:
        return None
    with_all, with_rest = (each.means(name, len(systems)) for each in (ratings, others))
    numbers = _numbers(rest, leave_one_out(rest), systems, confidence)
    return Without(numbers, measure("pearson", with_all, with_rest))
