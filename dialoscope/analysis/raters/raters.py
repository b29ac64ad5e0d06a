"""What people said of the replies, and how far they can be relied on."""

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
    """How far the raters of a run's replies agree, who of them does not, and how the aspects go together.

    Args:
        result: The run, for its ratings and for which replies are to one context.
        ratings: What people said, in place of the ratings in the run.
        aspect: What to look at, if not at everything that was rated.
        system: Whose replies to look at, if not at everybody's.
        normalise: Put ratings on 0 to 1, by the "scale" of the aspect or by each "rater"'s own range.
        scales: The lowest and highest rating of an aspect; the usual scale that holds all, if not named.
        confidence: How much an interval should hold.
        draws: Number of random halves of the contexts, for intervals of correlations between aspects.
        seed: For the draws; the run's own if not named.
    """
    Result.check(result)
    check_halves(confidence, draws)
    said = result.ratings if ratings is None else Ratings.of(result.replies, ratings)
    if system is not None:
        said = said.of_replies(result.rows(system))
    wanted = _wanted(said, aspect)
    rows = result.replies.rows_by_name()
    said = said.with_replies(rows)
    if normalise is not None or scales:
        said = normalise_ratings(said, normalise or "scale", scales, wanted)
    valued = _valued(said, wanted)
    seed = result.provenance.seed if seed is None else seed
    how = Resampling(Clusters.of(result.replies.item[rows], seed), Resamples(draws, seed), confidence)
    means = {name: said.means(name, len(rows)) for name in valued}
    systems = result.replies.system_by_name()[rows]
    found = tuple(_aspect(said, name, systems, confidence) for name in valued)
    silent = [_silent(name) for name in wanted if name not in valued]
    return Raters(found, correlate_aspects(means, how), (*said.notes, *silent), confidence, how.draws)


def _wanted(said: Ratings, aspect: str | Sequence[str] | None) -> list[str]:
    if not len(said):
        raise DialoscopeError("There are no ratings; give a file of them with --ratings (ratings=).")
    names = [aspect] if isinstance(aspect, str) else list(aspect or said.aspects)
    return list(dict.fromkeys(map(said.named, names)))


def _valued(said: Ratings, names: Sequence[str]) -> list[str]:
    """Those of them that somebody gave a value."""
    found = [name for name in names if len(said.of_aspect(name).value)]
    if not found:
        raise DialoscopeError(_silent(names[0]))
    return found


def _silent(name: str) -> str:
    return f"Of '{printable(name)}' there are ratings, but none with a value."


def _check_sizes(name: str, values: Floats) -> None:
    """Refuse what cannot be reckoned with, and is no rating either."""
    most, spread = float(np.abs(values).max()), float(np.ptp(values))
    if most > _LARGEST:
        raise DialoscopeError(f"A rating of '{printable(name)}' is {most:g}, which is none; correct it.")
    if 0 < spread < 1 / _LARGEST:
        raise DialoscopeError(
            f"Ratings of '{printable(name)}' differ by {spread:g} at most, which is nothing; correct them."
        )


def _aspect(said: Ratings, name: str, systems: Ints, confidence: float) -> AspectReliability:
    given = said.of_aspect(name)
    _check_sizes(name, given.value)
    each = leave_one_out(given)
    per_reply = np.bincount(given.reply)
    per_reply = per_reply[per_reply > 0]
    are_places = _are_places(given, per_reply)
    odd = () if are_places else find_outliers(each)
    return AspectReliability(
        name,
        replies=len(per_reply),
        ratings=len(given.value),
        missing=given.missing,
        fewest=int(per_reply.min()),
        most=int(per_reply.max()),
        are_places=are_places,
        numbers=_numbers(given, each, systems, confidence),
        each=each,
        outliers=odd,
        without=_without(said, name, odd, systems, confidence),
    )


def _are_places(given: AspectRatings, per_reply: Ints) -> bool:
    """Whether raters are places in lists of different lengths, and so no persons."""
    numbered = given.raters == tuple(map(str, range(1, len(given.raters) + 1)))
    return numbered and not given.missing and bool(per_reply.min() < per_reply.max())


def _numbers(
    given: AspectRatings, each: Sequence[RaterAgreement], systems: Ints, confidence: float
) -> dict[str, Estimate]:
    """Everything that is said of an aspect, by name."""
    single, mean = one_way(given, confidence)
    of_one, of_mean = two_way(given, confidence)
    n, spread, within = len(given.value), variance(given.value), OneWay.of(given).within
    noise = Noise.of(given)
    return {
        "mean": Estimate(float(given.value.mean()), n=n),
        "variance": Estimate(spread, n=n, why="there is one rating" if n < 2 else ""),
        "variance within replies": Estimate(
            within.noise, n=int(within.freedom), why="" if within.freedom else "no reply has two ratings"
        ),
        **_summary("pearson", each),
        **_summary("spearman", each),
        **{f"alpha {level}": alpha(given, level) for level in LEVELS},
        "ICC(1,1)": single,
        "ICC(1,k)": mean,
        "ICC(2,1)": of_one,
        "ICC(2,k)": of_mean,
        "ceiling of replies": ceiling(given, None, confidence, noise),
        "ceiling of systems": ceiling(given, systems, confidence, noise),
    }


def _summary(name: str, each: Sequence[RaterAgreement]) -> dict[str, Estimate]:
    """Over raters, each against the mean of the others: the mean and the most."""
    found = [getattr(rater, name) for rater in each]
    values = [coefficient.value for coefficient in found if not math.isnan(coefficient.value)]
    if not values:
        reasons = "; ".join(dict.fromkeys(coefficient.why for coefficient in found))
        why = (
            f"of no rater ({reasons})"
            if any(coefficient.n for coefficient in found)
            else "no reply has two ratings"
        )
        return {f"{name} {which}": Estimate.undefined(why) for which in ("mean", "max")}
    mean, most = sum(values) / len(values), max(values)
    return {
        f"{name} mean": Estimate(mean, n=len(values)),
        f"{name} max": Estimate(most, n=len(values)),
    }


def _without(
    said: Ratings, name: str, odd: Sequence[Outlier], systems: Ints, confidence: float
) -> Without | None:
    """The aspect without those who stand out; nothing where that leaves nobody to compare."""
    if not odd:
        return None
    others = said.without([outlier.rater for outlier in odd], name)
    rest = others.of_aspect(name)
    if len(rest.raters) < 2:
        return None
    with_all, with_rest = (one.means(name, len(systems)) for one in (said, others))
    numbers = _numbers(rest, leave_one_out(rest), systems, confidence)
    return Without(numbers, measure("pearson", with_all, with_rest))
