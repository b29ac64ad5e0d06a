"""How far each metric can be trusted: how it goes with what people said of replies, corpus by corpus."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dialoscope.analysis.aspects import standing
from dialoscope.analysis.coefficients import Coefficient, Wording, fisher, measure, round_last_digits
from dialoscope.analysis.estimate import Estimate
from dialoscope.analysis.halves import Clusters, in_halves, narrow_halves
from dialoscope.analysis.trust.evidence import CorpusRecord, Family, Figure
from dialoscope.analysis.trust.known import FITTED, Trust, shipped
from dialoscope.core.arrays import Floats, Ints
from dialoscope.core.errors import DialoscopeError
from dialoscope.core.safe_text import printable
from dialoscope.runs.resampling import HALVES, Resamples, halves_interval
from dialoscope.runs.result import CONFIDENCE, Result, check_halves

LOST = "so many values are the same that it has no interval"


def trust(
    *results: Result,
    names: Sequence[str] = (),
    aspect: str = "overall",
    confidence: float = CONFIDENCE,
    draws: int = HALVES,
    seed: int | None = None,
) -> Trust:
    """How every metric of these rated runs goes with every rated aspect, and on the whole.

    Args:
        results: Runs of different rated corpora; without any, what was measured for this version is returned.
        names: What the corpora are called; their files' names where nothing is given.
        aspect: What people were asked for; where replies were not rated overall, coherence stands for that.
        confidence: How much an interval should hold.
        draws: Number of random halves of the contexts, with all their replies.
        seed: Of the halves; that of each run where none is given.
    """
    Result.check(*results)
    check_halves(confidence, draws)
    if not results:
        found = _known(confidence, draws, seed)
        _check_rated(aspect, [corpus.aspects for corpus in found.corpora])
        return replace(found, aspect=aspect)
    judged = _judged(results, names, seed)
    _check_apart(judged)
    _check_rated(aspect, [tuple(corpus.ratings) for corpus in judged])
    found = _marked(estimate_trust(judged, confidence, draws), {corpus.data for corpus in judged})
    return replace(found, aspect=aspect)


def _known(confidence: float, draws: int, seed: int | None) -> Trust:
    if (confidence, draws, seed) != (CONFIDENCE, HALVES, None):
        raise DialoscopeError(
            f"The figures that come with dialoscope have {100 * CONFIDENCE:g}% intervals from {HALVES} "
            "random halves of the contexts; name rated runs to measure others."
        )
    return shipped()


def _judged(results: Sequence[Result], names: Sequence[str], seed: int | None) -> "list[Judged]":
    titles = tuple(names) or tuple(map(_title, results))
    if len(set(titles)) < len(results) or len(titles) != len(results):
        raise DialoscopeError(
            f"Each corpus needs a name of its own, but these are: {printable(', '.join(titles))}; rename a "
            "run's folder (names=)."
        )
    judged = [Judged.of(result, name) for name, result in zip(titles, results, strict=True)]
    return judged if seed is None else [replace(corpus, seed=seed) for corpus in judged]


class ScoredColumn(NamedTuple):
    """A metric and its value for each reply of a corpus."""

    metric: str
    signature: str
    higher_is_better: bool | None
    values: Floats
    how: str = ""
    """What must be known of the values, such as that they are of weights fitted elsewhere."""


@dataclass(frozen=True, eq=False)
class Judged:
    """A corpus: what metrics and what people say of its replies."""

    name: str
    columns: tuple[ScoredColumn, ...]
    ratings: Mapping[str, Floats]
    """The mean rating of each reply, by aspect."""
    items: Ints
    """The same number for all replies to one context."""
    data: str
    """Its hash."""
    seed: int
    """Of the halves."""
    source: str = ""
    """Whom to cite."""

    @classmethod
    def of(cls, result: Result, name: str) -> "Judged":
        """What a run knows, its replies by name: the order they came in must not show."""
        aspects = sorted(set(result.ratings.aspect))
        if not aspects:
            raise DialoscopeError(
                f"{printable(name)} has no ratings, so that it says nothing of trust; score rated replies."
            )
        families = {
            metric.unfitted.signature: metric for metric in reversed(result.metrics) if metric.of_replies
        }
        if not families:
            raise DialoscopeError(
                f"{printable(name)} has no metric with a value for a single reply; score it with one."
            )
        rows = result.replies.rows_by_name()
        columns = tuple(
            ScoredColumn(str(one.unfitted), signature, one.higher_is_better, result.values(one)[rows])
            for signature, one in reversed(families.items())
        )
        means = {
            aspect: round_last_digits(result.ratings.means(aspect, len(rows))[rows]) for aspect in aspects
        }
        items, made = result.replies.item[rows], result.provenance
        return cls(name, columns, means, items, made.data, made.seed)


def estimate_trust(corpora: Sequence[Judged], confidence: float = CONFIDENCE, draws: int = HALVES) -> Trust:
    """The figures of all metrics on all corpora."""
    kinds: dict[str, ScoredColumn] = {}
    found: dict[str, list[Figure]] = {}
    for corpus in corpora:
        for scored, figure in _figures(corpus, confidence, draws):
            known = kinds.setdefault(scored.signature, scored)
            kinds[scored.signature] = known._replace(how=known.how or scored.how)
            found.setdefault(scored.signature, []).append(figure)
    families = tuple(
        Family(one.metric, signature, one.higher_is_better, tuple(found[signature]), one.how)
        for signature, one in kinds.items()
    )
    return Trust(tuple(map(_described, corpora)), families, {"confidence": confidence, "draws": draws})


def _described(one: Judged) -> CorpusRecord:
    contexts = len(np.unique(one.items))
    return CorpusRecord(
        one.name, one.source, tuple(one.ratings), len(one.items), contexts, one.data, one.seed
    )


def _figures(one: Judged, confidence: float, draws: int) -> list[tuple[ScoredColumn, Figure]]:
    x = np.stack([scored.values for scored in one.columns], axis=1)
    y = np.stack(list(one.ratings.values()), axis=1)
    clusters = Clusters.of(one.items, one.seed)
    measures: dict[str, list[list[Coefficient]]] = {}
    halves: dict[str, Floats] = {}
    for name in ("spearman", "pearson"):
        measures[name] = [[_measured(name, ours, theirs) for theirs in y.T] for ours in x.T]
        whole = np.array([[found.value for found in row] for row in measures[name]])
        found = in_halves(name, x, y, clusters, Resamples(draws, one.seed))
        halves[name] = narrow_halves(name, found, whole, clusters.count)
    ends = {name: halves_interval(values, confidence) for name, values in halves.items()}
    z = fisher(halves["spearman"])
    figures = []
    for place, scored in enumerate(one.columns):
        for other, (aspect, people) in enumerate(one.ratings.items()):
            both = np.isfinite(scored.values) & np.isfinite(people)
            contexts = len(np.unique(one.items[both]))
            spearman, pearson = (
                Estimate.of(
                    measures[name][place][other], ends[name][:, place, other], contexts, confidence, LOST
                )
                for name in ("spearman", "pearson")
            )
            known = math.isfinite(spearman.low)
            figure = Figure(
                corpus=one.name,
                aspect=aspect,
                n=spearman.n,
                contexts=contexts,
                spearman=spearman.value,
                low=spearman.low,
                high=spearman.high,
                error=float(np.nanstd(z[:, place, other])) if known else math.nan,
                pearson=pearson.value,
                pearson_low=pearson.low,
                pearson_high=pearson.high,
                why=spearman.why,
            )
            figures.append((scored, figure))
    return figures


def _measured(name: str, values: Floats, people: Floats) -> Coefficient:
    words = Wording("all values are", "all ratings are", "all values and all ratings are")
    found = measure(name, values, people, words=words)
    return found if found.n else found._replace(why="no rated reply has a value")


def _title(result: Result) -> str:
    """File and folder, without the ending."""
    paths = (result.provenance.source or {}).get("paths") or ["run"]
    path = Path(paths[0]).resolve()
    return f"{path.parent.name}/{path.name.partition('.')[0]}"


def _check_rated(aspect: str, rated: Sequence[Sequence[str]]) -> None:
    """Say before anything is computed that nobody was asked for this."""
    if not any(standing(names, aspect) for names in rated):
        known = ", ".join(dict.fromkeys(name for names in rated for name in names))
        raise DialoscopeError(
            f"No corpus has ratings of {printable(aspect)}; people rated: {printable(known)}."
        )


def _check_apart(corpora: Sequence[Judged]) -> None:
    """The same replies twice would count as two corpora."""
    seen: dict[str, str] = {}
    for corpus in corpora:
        if corpus.data in seen:
            raise DialoscopeError(
                f"{printable(corpus.name)} and {printable(seen[corpus.data])} are runs of the same "
                "data, which can count once only; leave one of them out."
            )
        seen[corpus.data] = corpus.name


def _marked(found: Trust, data: set[str]) -> Trust:
    """A metric that learned from ratings is not judged by these as if it had not."""
    learned = shipped().learned_from(data)
    families = tuple(
        replace(family, how=FITTED) if family.signature in learned else family for family in found.families
    )
    return replace(found, families=families)
