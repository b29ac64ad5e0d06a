"""Do metrics agree with people: every metric with every rated aspect, with intervals and tests."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from dialoscope.analysis.coefficients import FEWEST, NAMES
from dialoscope.analysis.correlation.correlation_report import Correlations
from dialoscope.analysis.correlation.estimates import Correlation, CorrelationSettings, Kind, RatedAspect
from dialoscope.analysis.correlation.levels import (
    AllReplies,
    CorrelationLevel,
    InGroups,
    OverSystems,
    RandomDraws,
)
from dialoscope.analysis.correlation.panel import Panel
from dialoscope.analysis.raters.intraclass import ceiling
from dialoscope.analysis.significance import holm
from dialoscope.analysis.trust.known import FITTED, metrics_fitted_to
from dialoscope.core.arrays import Floats
from dialoscope.core.errors import DialoscopeError
from dialoscope.core.records import Rating, Score
from dialoscope.core.safe_text import printable
from dialoscope.runs.rating_columns import Ratings
from dialoscope.runs.resampling import HALVES
from dialoscope.runs.result import CONFIDENCE, Result, check_halves
from dialoscope.runs.score_columns import Scores

LEVELS = ("reply", "system")
GROUPS = ("overall", "system", "item")
PERMUTATIONS = 10_000
"""The number of permutations of the systems."""


def correlate(
    result: Result,
    ratings: Ratings | Iterable[Rating] | None = None,
    *,
    aspect: str | Sequence[str] | None = None,
    scores: Scores | Iterable[Score] | None = None,
    levels: str | Sequence[str] = LEVELS,
    groups: str | Sequence[str] = GROUPS,
    coefficients: str | Sequence[str] = NAMES,
    system_value: str = "own",
    min_points: int = FEWEST,
    confidence: float = CONFIDENCE,
    draws: int = HALVES,
    permutations: int = PERMUTATIONS,
    seed: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Correlations:
    """Correlate each metric of a run with the ratings of its replies.

    Args:
        result: A run.
        ratings: Ratings of its replies, in place of those in the run.
        aspect: The rated aspects to use; all of them if none is named.
        scores: Scores of the replies by metrics of other programs, which are included.
        levels: reply, system, or both.
        groups: Of replies: overall, and the mean of the coefficients within each system or each item.
        coefficients: pearson, spearman, kendall, cosine, accuracy.
        system_value: What a metric says of a system: its own value, or the mean over the replies.
        min_points: The smallest number of replies, or systems, for a coefficient.
        confidence: Confidence level of the intervals, such as 0.95.
        draws: Number of random halves of the contexts, for intervals and tests over replies.
        permutations: Number of permutations of the systems, for tests over systems.
        seed: Seed of halves and permutations; by default that of the run.
        progress: Called after each coefficient of each level and group.
    """
    Result.check(result)
    kinds = tuple(_kinds(_choose(levels, LEVELS, "level"), _choose(groups, GROUPS, "group")))
    names = _choose(coefficients, NAMES, "coefficient")
    check_halves(confidence, draws)
    _check(permutations, min_points)
    random = RandomDraws(draws, permutations, result.provenance.seed if seed is None else seed)
    rated = result.ratings if ratings is None else Ratings.of(result.replies, ratings)
    others = None if scores is None else Scores.of(result.replies, scores)
    panel = Panel.of(result, rated, _aspects(rated, aspect), others)
    if not panel.columns:
        kinds = _system_kinds(kinds)
    settings = CorrelationSettings(
        kinds, names, confidence, random, len(panel.rows), len(np.unique(panel.item)), len(panel.systems)
    )
    aspects = tuple(_rated_aspect(rated, panel, index) for index in range(len(panel.aspects)))
    cells: list[Correlation] = []
    for kind in kinds:
        level = _level(kind, panel, random, min_points, system_value)
        cells += _cells(kind, level, settings, aspects, progress or (lambda more: None))
    fitted = [f"{printable(name)}: {FITTED}." for name in metrics_fitted_to(result)]
    about = (*rated.notes, *(others.notes if others else ()), *fitted)
    return Correlations(tuple(cells), aspects, settings, about, panel)


def _level(
    kind: Kind, panel: Panel, random_draws: RandomDraws, min_points: int, system_value: str
) -> CorrelationLevel:
    if kind.level == "system":
        return OverSystems(panel.by_system(system_value), random_draws, min_points)
    if kind.group == "overall":
        return AllReplies(panel, random_draws, min_points)
    return InGroups(panel, random_draws, min_points, by_system=kind.group == "system")


def _kinds(levels: Sequence[str], groups: Sequence[str]) -> Iterator[Kind]:
    if "reply" in levels:
        yield from (Kind("reply", group) for group in groups)
    if "system" in levels:
        yield Kind("system", "overall")


def _system_kinds(kinds: Sequence[Kind]) -> tuple[Kind, ...]:
    """The kinds that remain where no metric has a value for a reply: those over systems."""
    left = tuple(kind for kind in kinds if kind.level == "system")
    if not left:
        raise DialoscopeError(
            "No metric of this run has a value for a reply; ask for their values for systems: --level system "
            "(levels=)."
        )
    return left


def _cells(
    kind: Kind,
    level: CorrelationLevel,
    settings: CorrelationSettings,
    aspects: Sequence[RatedAspect],
    progress: Callable[[int], None],
) -> Iterator[Correlation]:
    """The correlations of one kind, coefficient by coefficient, aspect by aspect."""
    counts = level.counts
    for name in settings.coefficients:
        values = level.values(name)
        inference = level.inference(name, values.value, settings.confidence)
        corrected = _holm(inference.p)
        progress(1)
        for (i, j), value in np.ndenumerate(values.value):
            column = level.metrics[i]
            yield Correlation(
                metric=column.name,
                aspect=aspects[j].name,
                level=kind.level,
                group=kind.group,
                coefficient=name,
                value=float(value),
                low=float(inference.low[i, j]),
                high=float(inference.high[i, j]),
                p=float(inference.p[i, j]),
                p_holm=float(corrected[i, j]),
                n=int(counts.n[i, j]),
                undefined=int((~np.isfinite(column.values)).sum()),
                contexts=int(counts.contexts[i, j]),
                groups=None if values.groups is None else int(values.groups[i, j]),
                of=level.of,
                ceiling=aspects[j].ceiling_at(kind),
                higher_is_better=column.higher_is_better,
                why=values.why[i][j] or inference.why[i][j],
                signature=column.signature,
            )


def _holm(p: Floats) -> Floats:
    """P-values corrected for the number of metrics, for each aspect."""
    return np.stack([holm(column) for column in p.T], axis=1) if p.size else p


def _aspects(ratings: Ratings, aspect: str | Sequence[str] | None) -> tuple[str, ...]:
    wanted = [aspect] if isinstance(aspect, str) else aspect
    if not ratings.aspects:
        raise DialoscopeError("The run has no ratings; give a file of them with --ratings (ratings=).")
    return tuple(dict.fromkeys(map(ratings.named, wanted))) if wanted else ratings.aspects


def _rated_aspect(ratings: Ratings, panel: Panel, index: int) -> RatedAspect:
    name, values = panel.aspects[index], panel.y[:, index]
    most = ceiling(ratings.of_aspect(name))
    of_systems = ceiling(ratings.of_aspect(name), panel.result.replies.system)
    rated = int((~np.isnan(values)).sum())
    return RatedAspect(name, rated, len(values), most.value, most.why, of_systems.value)


def _choose(requested: str | Sequence[str], allowed: Sequence[str], what: str) -> tuple[str, ...]:
    """The requested names in the order of the allowed ones; an error if one is not allowed."""
    requested = [requested] if isinstance(requested, str) else requested
    for name in requested:
        if name not in allowed:
            raise DialoscopeError(
                f"There is no {what} '{printable(name)}'. Choose from: {', '.join(allowed)}."
            )
    if not requested:
        raise DialoscopeError(f"Not one {what} is named. Choose from: {', '.join(allowed)}.")
    return tuple(name for name in allowed if name in requested)


def _check(permutations: int, min_points: int) -> None:
    if permutations < 1 or min_points < 2:
        raise DialoscopeError("permutations must be at least 1, and min_points at least 2.")
