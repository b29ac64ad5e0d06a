"""The trust in each metric: its correlation with ratings of replies, corpus by corpus."""

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
from dialoscope.analysis.trust.known import FITTED, Trust, load_shipped
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
    """Correlate every metric of these rated runs with every rated aspect, on each corpus and over all.

    Args:
        results: Runs of different rated corpora; without any, what was measured for this version is returned.
        names: Names of the corpora; by default those of their files.
        aspect: The rated aspect; where replies were not rated overall, coherence is the proxy.
        confidence: Confidence level of the intervals, such as 0.95.
        draws: Number of random halves of the contexts, with all their replies.
        seed: Seed of the halves; by default that of each run.
    """
    Result.check(*results)
    check_halves(confidence, draws)
    if not results:
        table = _shipped_figures(confidence, draws, seed)
        _check_aspect(aspect, [corpus.aspects for corpus in table.corpora])
        return replace(table, aspect=aspect)
    corpora = _read_corpora(results, names, seed)
    _check_distinct(corpora)
    _check_aspect(aspect, [tuple(corpus.ratings) for corpus in corpora])
    table = _mark_fitted(estimate_trust(corpora, confidence, draws), {corpus.data for corpus in corpora})
    return replace(table, aspect=aspect)


def _shipped_figures(confidence: float, draws: int, seed: int | None) -> Trust:
    if (confidence, draws, seed) != (CONFIDENCE, HALVES, None):
        raise DialoscopeError(
            f"The figures that come with dialoscope have {100 * CONFIDENCE:g}% intervals from {HALVES} "
            "random halves of the contexts; name rated runs to measure others."
        )
    return load_shipped()


def _read_corpora(results: Sequence[Result], names: Sequence[str], seed: int | None) -> "list[ScoredCorpus]":
    titles = tuple(names) or tuple(map(_title, results))
    if len(set(titles)) < len(results) or len(titles) != len(results):
        raise DialoscopeError(
            f"Each corpus needs a name of its own, but these are: {printable(', '.join(titles))}; rename a "
            "run's folder (names=)."
        )
    corpora = [ScoredCorpus.of(result, name) for name, result in zip(titles, results, strict=True)]
    return corpora if seed is None else [replace(corpus, seed=seed) for corpus in corpora]


class ScoredColumn(NamedTuple):
    """A metric and its value for each reply of a corpus."""

    metric: str
    signature: str
    higher_is_better: bool | None
    values: Floats
    how: str = ""
    """A note on the values, such as that their weights were fitted elsewhere."""


@dataclass(frozen=True, eq=False)
class ScoredCorpus:
    """A corpus: the values of metrics and the mean ratings of its replies."""

    name: str
    columns: tuple[ScoredColumn, ...]
    ratings: Mapping[str, Floats]
    """The mean rating of each reply, by aspect."""
    items: Ints
    """The same number for all replies to one context."""
    data: str
    """The hash of the corpus."""
    seed: int
    """The seed of the halves."""
    source: str = ""
    """The publication to cite."""

    @classmethod
    def of(cls, result: Result, name: str) -> "ScoredCorpus":
        """The corpus of a run, with the replies sorted by name so that their order does not matter."""
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
            ScoredColumn(
                str(metric.unfitted), signature, metric.higher_is_better, result.values(metric)[rows]
            )
            for signature, metric in reversed(families.items())
        )
        means = {
            aspect: round_last_digits(result.ratings.means(aspect, len(rows))[rows]) for aspect in aspects
        }
        items, made = result.replies.item[rows], result.provenance
        return cls(name, columns, means, items, made.data, made.seed)


def estimate_trust(
    corpora: Sequence[ScoredCorpus], confidence: float = CONFIDENCE, draws: int = HALVES
) -> Trust:
    """The figures of all metrics on all corpora."""
    kinds: dict[str, ScoredColumn] = {}
    figures: dict[str, list[Figure]] = {}
    for corpus in corpora:
        for scored, figure in _figures(corpus, confidence, draws):
            column = kinds.setdefault(scored.signature, scored)
            kinds[scored.signature] = column._replace(how=column.how or scored.how)
            figures.setdefault(scored.signature, []).append(figure)
    families = tuple(
        Family(kind.metric, signature, kind.higher_is_better, tuple(figures[signature]), kind.how)
        for signature, kind in kinds.items()
    )
    return Trust(tuple(map(_corpus_record, corpora)), families, {"confidence": confidence, "draws": draws})


def _corpus_record(corpus: ScoredCorpus) -> CorpusRecord:
    contexts = len(np.unique(corpus.items))
    return CorpusRecord(
        corpus.name,
        corpus.source,
        tuple(corpus.ratings),
        len(corpus.items),
        contexts,
        corpus.data,
        corpus.seed,
    )


def _figures(corpus: ScoredCorpus, confidence: float, draws: int) -> list[tuple[ScoredColumn, Figure]]:
    x = np.stack([scored.values for scored in corpus.columns], axis=1)
    y = np.stack(list(corpus.ratings.values()), axis=1)
    clusters = Clusters.of(corpus.items, corpus.seed)
    measures: dict[str, list[list[Coefficient]]] = {}
    halves: dict[str, Floats] = {}
    for name in ("spearman", "pearson"):
        measures[name] = [[_measure(name, ours, theirs) for theirs in y.T] for ours in x.T]
        whole = np.array([[coefficient.value for coefficient in row] for row in measures[name]])
        coefficient = in_halves(name, x, y, clusters, Resamples(draws, corpus.seed))
        halves[name] = narrow_halves(name, coefficient, whole, clusters.count)
    ends = {name: halves_interval(values, confidence) for name, values in halves.items()}
    z = fisher(halves["spearman"])
    figures = []
    for index, scored in enumerate(corpus.columns):
        for other, (aspect, people) in enumerate(corpus.ratings.items()):
            both = np.isfinite(scored.values) & np.isfinite(people)
            contexts = len(np.unique(corpus.items[both]))
            spearman, pearson = (
                Estimate.of(
                    measures[name][index][other], ends[name][:, index, other], contexts, confidence, LOST
                )
                for name in ("spearman", "pearson")
            )
            is_known = math.isfinite(spearman.low)
            figure = Figure(
                corpus=corpus.name,
                aspect=aspect,
                n=spearman.n,
                contexts=contexts,
                spearman=spearman.value,
                low=spearman.low,
                high=spearman.high,
                error=float(np.nanstd(z[:, index, other])) if is_known else math.nan,
                pearson=pearson.value,
                pearson_low=pearson.low,
                pearson_high=pearson.high,
                why=spearman.why,
            )
            figures.append((scored, figure))
    return figures


def _measure(name: str, values: Floats, people: Floats) -> Coefficient:
    words = Wording("all values are", "all ratings are", "all values and all ratings are")
    coefficient = measure(name, values, people, words=words)
    return coefficient if coefficient.n else coefficient._replace(why="no rated reply has a value")


def _title(result: Result) -> str:
    """The names of the file and its folder, without the ending."""
    paths = (result.provenance.source or {}).get("paths") or ["run"]
    path = Path(paths[0]).resolve()
    return f"{path.parent.name}/{path.name.partition('.')[0]}"


def _check_aspect(aspect: str, rated: Sequence[Sequence[str]]) -> None:
    """Refuse an aspect that is not rated before anything is computed."""
    if not any(standing(names, aspect) for names in rated):
        names_rated = ", ".join(dict.fromkeys(name for names in rated for name in names))
        raise DialoscopeError(
            f"No corpus has ratings of {printable(aspect)}; people rated: {printable(names_rated)}."
        )


def _check_distinct(corpora: Sequence[ScoredCorpus]) -> None:
    """Refuse two runs of the same data, which would count as two corpora."""
    seen: dict[str, str] = {}
    for corpus in corpora:
        if corpus.data in seen:
            raise DialoscopeError(
                f"{printable(corpus.name)} and {printable(seen[corpus.data])} are runs of the same "
                "data, which can count once only; leave one of them out."
            )
        seen[corpus.data] = corpus.name


def _mark_fitted(table: Trust, data: set[str]) -> Trust:
    """Mark the metrics that were trained on ratings of this data."""
    learned = load_shipped().signatures_fitted_to(data)
    families = tuple(
        replace(family, how=FITTED) if family.signature in learned else family for family in table.families
    )
    return replace(table, families=families)
