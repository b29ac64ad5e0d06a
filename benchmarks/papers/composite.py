"""How well the composite agrees with people on corpora that it was not fitted to.

    DIALOSCOPE_CORPORA=FOLDER python benchmarks/papers/composite.py [-o TABLES.md] [--draws 1000] [--quick]

Weights and scales for each rated corpus are fitted to the other corpora. Beside the composite are its parts,
and the metrics that Yeh et al. (2021, https://arxiv.org/abs/2106.03706) measured on the same replies.
docs/papers/composite.md has the results and what falls short. With --quick, models are fakes.
"""

import json
import math
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from benchmarks._shared import benchmark_parser, corpora_folder, quick_corpora
from benchmarks.papers.tables import interval, log, markdown, number, ok_or_short, print_sections, titled
from dialoscope.core.arrays import Floats
from dialoscope.metrics.shared.combination import Combination
from dialoscope.training.composite_fit import (
    CompositeRecipe,
    RatedCorpus,
    fit_weights,
    has_ratings,
    others_than,
)
from dialoscope.training.rating_correlation import correlations
from dialoscope.training.train_composite import score_corpora

# What is evaluated, named before anything is computed


class Corpus(NamedTuple):
    """Rated replies, and the rating that is compared with the composite."""

    label: str
    file: str
    aspect: str
    """The rating, and the composite of that name."""
    dataset: str = ""
    """The name that Yeh et al. have for it."""
    goal: float = math.nan


CORPORA = (
    Corpus("pang2020", "pang2020/coherence.jsonl", "coherence", "HolisticEval-DailyDialog", 0.76),
    Corpus("pang2020, fluency", "pang2020/fluency.jsonl", "fluency"),
    Corpus("grade convai2", "grade/grade_convai2.jsonl", "coherence", "GRADE-ConvAI2", 0.50),
    Corpus("grade dailydialog", "grade/grade_dailydialog.jsonl", "coherence", "GRADE-DailyDialog", 0.36),
    Corpus("grade empathetic", "grade/grade_empathetic.jsonl", "coherence", "GRADE-EmpatheticDialogue", 0.39),
    Corpus("usr personachat", "usr_personachat/data.jsonl", "overall", "USR-Pearsonachat", 0.52),
    Corpus("zhao dailydialog", "zhao2020/zhao_dailydialog.jsonl", "overall"),
    Corpus("zhao personachat", "zhao2020/zhao_personachat.jsonl", "overall"),
)
GROUPS = {
    "pang2020": "pang2020",
    "pang2020, fluency": "pang2020",
    **dict.fromkeys(("grade convai2", "grade dailydialog", "grade empathetic"), "grade"),
    "usr personachat": "usr",
    **dict.fromkeys(("zhao dailydialog", "zhao personachat"), "zhao2020"),
}
"""Who collected the ratings: the stricter way leaves out all corpora of the same group."""
PUBLISHED = "gold/dialevalmetrics_published_correlations.json"


class Correlation(NamedTuple):
    """Correlations of scores with ratings."""

    pearson: float
    spearman: float
    resampled: np.ndarray
    """Spearman's correlation in bootstrap samples of the contexts."""


QUICK_CONTEXTS = 8
FAKED = {
    "pmi": "lm",
    "coherence": "lm",
    "fluency": "lm",
    "relatedness": "encoder",
    "self-consistency": "nli",
    "ruber-unreferenced": "model",
}
"""Metrics with a model, and the setting that names it; a quick run has fake models."""

# From the start to the end


def main() -> None:
    parser = benchmark_parser(__doc__)
    parser.add_argument("-o", metavar="TABLES.md", help="file to which the tables are written too")
    parser.add_argument("--draws", type=int, default=1000, help="number of resamples of the contexts")
    options = parser.parse_args()
    root = quick_corpora(QUICK_CONTEXTS) if options.quick else corpora_folder()
    recipe = CompositeRecipe()
    score = partial(score_parts, root, fake=options.quick)
    corpora = score(recipe)
    print_sections(sections(root, recipe, corpora, score, 5 if options.quick else options.draws), options.o)
    print_conclusion(recipe, corpora, quick=options.quick)


Corpora = dict[Corpus, RatedCorpus]
Score = Callable[[CompositeRecipe], Corpora]


def score_parts(root: Path, recipe: CompositeRecipe, *, fake: bool) -> Corpora:
    """Return the values of all parts on all corpora, mostly from the score cache."""
    files = [str(root / "rated" / corpus.file) for corpus in CORPORA]
    metrics = [with_fake_model(part.metric) if fake else part.metric for part in recipe.parts]
    return dict(zip(CORPORA, score_corpora(files, metrics).corpora, strict=True))


def with_fake_model(metric: str) -> str:
    """Return the name of a metric with a fake in the place of its model, if it has one."""
    name, _, settings = metric.partition(":")
    model = FAKED.get(name)
    if model is None:
        return metric
    rest = [setting for setting in settings.split(",") if setting and not setting.startswith(f"{model}=")]
    return f"{name}:{','.join([*rest, f'{model}=fake'])}"


def sections(
    root: Path, recipe: CompositeRecipe, corpora: Corpora, score: Score, draws: int
) -> Iterator[str]:
    """Yield the tables, each with its title."""
    yield titled("Against the published", published_table(root, recipe, corpora, draws))
    yield titled("All four aspects, Spearman", aspects_table(recipe, corpora))
    yield titled("Each part by itself, Spearman", parts_table(recipe, corpora))
    yield titled("Without a part, Spearman", without_table(recipe, corpora))
    yield titled("How even the weights are, Spearman", evenness_table(recipe, corpora))
    yield titled("What else was tried, Spearman", alternatives_table(recipe, corpora, score))
    yield titled("Weights, fitted to all", weights_table(recipe, corpora))


# Agreement


def predict_ratings(
    recipe: CompositeRecipe, corpora: Corpora, corpus: Corpus, aspect: str = "", *, strictly: bool = False
) -> Floats:
    """Return the composite of each reply of a corpus, fitted to the other corpora."""
    aspect = aspect or corpus.aspect
    others = others_than(corpora[corpus], list(corpora.values()))
    if strictly:
        others = [rated for other, rated in corpora.items() if GROUPS[other.label] != GROUPS[corpus.label]]
    if not any(has_ratings(other, aspect) for other in others):
        return np.full(len(corpora[corpus].values), math.nan)
    combination: Combination = fit_weights(recipe, others, (aspect,))
    return combination.scores(corpora[corpus].values, aspect)


def correlate(rated: RatedCorpus, aspect: str, scores: Floats, draws: int = 0) -> Correlation:
    """Correlate scores with ratings; undefined scores are neutral, so that all replies count."""
    is_rated = np.isfinite(rated.ratings[aspect])
    scores = np.where(np.isnan(scores), np.nanmean(scores), scores)[is_rated]
    ratings = rated.ratings[aspect][is_rated]
    pearson, spearman = correlations(scores, ratings)
    return Correlation(pearson, spearman, resample(scores, ratings, rated.items[is_rated], draws))


def resample(scores: Floats, ratings: Floats, items: Sequence[int], draws: int) -> np.ndarray:
    """Return Spearman's correlation in bootstrap samples of the contexts."""
    rng = np.random.default_rng(0)
    _, context = np.unique(items, return_inverse=True)
    groups = np.split(np.argsort(context, kind="stable"), np.cumsum(np.bincount(context))[:-1])
    samples = []
    for _ in range(draws):
        rows = np.concatenate([groups[group] for group in rng.integers(len(groups), size=len(groups))])
        samples.append(np.corrcoef(rankdata(scores[rows]), rankdata(ratings[rows]))[0, 1])
    return np.array(samples)


def correlate_corpus(
    recipe: CompositeRecipe, corpora: Corpora, corpus: Corpus, draws: int = 0
) -> Correlation:
    return correlate(corpora[corpus], corpus.aspect, predict_ratings(recipe, corpora, corpus), draws)


# Tables


def published_table(root: Path, recipe: CompositeRecipe, corpora: Corpora, draws: int) -> str:
    """Return the composite beside the best and the median of the metrics measured by others."""
    head = (
        "corpus", "rated", "n", "Pearson", "Spearman", "95 %", "without kin", "goal", "",
        "best published", "median published",
    )  # fmt: skip
    body = []
    for corpus, rated in corpora.items():
        log(corpus.label)
        ours = correlate_corpus(recipe, corpora, corpus, draws)
        strict = predict_ratings(recipe, corpora, corpus, strictly=True)
        body.append(
            [
                corpus.label,
                corpus.aspect,
                str(int(np.isfinite(rated.ratings[corpus.aspect]).sum())),
                number(ours.pearson),
                number(ours.spearman),
                interval(ours.resampled),
                number(correlate_defined(rated, corpus.aspect, strict)),
                number(corpus.goal),
                "" if math.isnan(corpus.goal) else ok_or_short(ours.spearman >= corpus.goal),
                *published_cells(root, corpus),
            ]
        )
    return markdown(head, body)


def published_cells(root: Path, corpus: Corpus) -> list[str]:
    """Return the best of the published metrics by name, and the median, both by Spearman's correlation."""
    rows = json.loads((root / PUBLISHED).read_text(encoding="utf-8"))
    values = {
        row["metric"]: row["spearman"]
        for row in rows
        if row["dataset"] == corpus.dataset and row["level"] == "Turn-Level" and row["spearman"] is not None
    }
    if not values:
        return ["–", "–"]
    best = max(values, key=lambda name: values[name])
    median = number(statistics.median(values.values()))
    return [f"{number(values[best])} ({best})", f"{median} of {len(values)}"]


def aspects_table(recipe: CompositeRecipe, corpora: Corpora) -> str:
    """Return the correlation of every aspect on every corpus that has ratings of it."""
    aspects = ("overall", "coherence", "fluency", "engagement")
    body = []
    for corpus, rated in corpora.items():
        values = (
            correlate_defined(rated, aspect, predict_ratings(recipe, corpora, corpus, aspect))
            if has_ratings(rated, aspect)
            else math.nan
            for aspect in aspects
        )
        body.append([corpus.label, *map(number, values)])
    return markdown(("corpus", *aspects), body)


def parts_table(recipe: CompositeRecipe, corpora: Corpora) -> str:
    """Return the correlation of each part, without fitting; where less is better the sign is turned."""
    body = []
    for column, part in enumerate(recipe.parts):
        sign = 1 if part.better == "more" else -1
        values = [
            correlate_defined(rated, corpus.aspect, sign * rated.values[:, column])
            for corpus, rated in corpora.items()
        ]
        body.append([f"{part.name} (`{part.metric}`)", *map(number, values)])
    composite = ["**composite**", *map(number, correlate_all(recipe, corpora))]
    return markdown(("part", *(corpus.label for corpus in corpora)), [*body, composite])


def correlate_defined(rated: RatedCorpus, aspect: str, values: Floats) -> float:
    """Return Spearman's correlation, NaN where all values are undefined."""
    return math.nan if np.isnan(values).all() else correlate(rated, aspect, values).spearman


def correlate_all(recipe: CompositeRecipe, corpora: Corpora) -> list[float]:
    """Return Spearman's correlation of the composite on each corpus."""
    return [correlate_corpus(recipe, corpora, corpus).spearman for corpus in corpora]


def with_mean(label: str, values: Sequence[float]) -> list[str]:
    """Return a row with the mean in the last column."""
    return [label, *map(number, values), number(statistics.mean(values))]


def without_table(recipe: CompositeRecipe, corpora: Corpora) -> str:
    body = []
    for column, part in enumerate(recipe.parts):
        fewer = recipe.replace(parts=tuple(other for other in recipe.parts if other != part))
        remaining = {
            corpus: rated._replace(values=np.delete(rated.values, column, axis=1))
            for corpus, rated in corpora.items()
        }
        body.append(with_mean(part.name, correlate_all(fewer, remaining)))
    return markdown(("without", *(corpus.label for corpus in corpora), "mean"), body)


def evenness_table(recipe: CompositeRecipe, corpora: Corpora) -> str:
    body = [
        with_mean(f"{evenness:g}", correlate_all(recipe.replace(evenness=evenness), corpora))
        for evenness in (0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 1000.0)
    ]
    return markdown(("evenness", *(corpus.label for corpus in corpora), "mean"), body)


ALTERNATIVES = {
    "one language model: smollm2-chat": {"pmi-dialog": None},
    "one language model: smollm2-dialog": {"pmi": None},
    "PMI for each token, both models": {"pmi": "pmi:lm=smollm2-chat", "pmi-dialog": "pmi"},
    "PMI as a sum, both models": {"pmi": "pmi:lm=smollm2-chat,length=sum", "pmi-dialog": "pmi:length=sum"},
    "relatedness by MiniLM": {"relatedness": "relatedness:encoder=minilm"},
    "relatedness to two turns": {"relatedness": "relatedness:turns=2"},
    "self-consistency with all turns": {"self-consistency": "self-consistency"},
    "fluency as a sum in overall": {"fluency": "fluency:lm=smollm2-chat,scale=raw,length=sum"},
    "fluency by smollm2-dialog in overall": {"fluency": "fluency:scale=raw"},
    "coherence in place of PMI, smollm2-dialog": {"pmi-dialog": "coherence:scale=raw"},
    "copying of single words": {"copying": "copying-1"},
}
"""Other metrics for parts; None for a part that is left out."""
PRICES = (0.0, 0.15, 0.5)


def alternatives_table(recipe: CompositeRecipe, corpora: Corpora, score: Score) -> str:
    """Return correlations with other parts, and with other prices on an excess of repetition and copying."""
    body = [with_mean("as shipped", correlate_all(recipe, corpora))]
    for label, changes in ALTERNATIVES.items():
        log(label)
        other = replace_parts(recipe, changes)
        body.append(with_mean(label, correlate_all(other, score(other))))
    for price in PRICES:
        parts = tuple(replace(part, excess=price if part.excess else 0.0) for part in recipe.parts)
        values = correlate_all(recipe.replace(parts=parts), corpora)
        body.append(with_mean(f"excess costs {price:g}", values))
    return markdown(("", *(corpus.label for corpus in corpora), "mean"), body)


def replace_parts(recipe: CompositeRecipe, changes: Mapping[str, str | None]) -> CompositeRecipe:
    remaining = [part for part in recipe.parts if changes.get(part.name, "") is not None]
    parts = tuple(replace(part, metric=changes.get(part.name) or part.metric) for part in remaining)
    return recipe.replace(parts=parts)


def weights_table(recipe: CompositeRecipe, corpora: Corpora) -> str:
    weights = fit_weights(recipe, list(corpora.values())).weights
    body = [
        [part.name, *(number(by_part[row]) for by_part in weights.values())]
        for row, part in enumerate(recipe.parts)
    ]
    return markdown(("part", *weights), body)


# Against the goals


def print_conclusion(recipe: CompositeRecipe, corpora: Corpora, *, quick: bool) -> None:
    """Print each goal on a line and the number of reached ones on the last, and end the program."""
    with_goals = [corpus for corpus in corpora if not math.isnan(corpus.goal)]
    short = []
    for corpus in with_goals:
        value = correlate_corpus(recipe, corpora, corpus).spearman
        reached = value >= corpus.goal
        print(
            f"{corpus.label}, {corpus.aspect}, Spearman: {value:.3f}; goal {corpus.goal:.2f}: "
            f"{ok_or_short(reached)}"
        )
        short += [] if reached else [f"{corpus.label} {value:.3f} ({corpus.goal:.2f})"]
    ending = f"; short: {'; '.join(short)}" if short else ": ok"
    print(f"{len(with_goals) - len(short)} of {len(with_goals)} goals reached, bar: all of them{ending}")
    sys.exit(bool(short) and not quick)


if __name__ == "__main__":
    main()
