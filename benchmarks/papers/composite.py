"""How well the composite agrees with people on corpora that it was not fitted to.

    DIALOSCOPE_CORPORA=FOLDER python benchmarks/papers/composite.py [-o TABLES.md] [--draws 1000]

Each rated corpus is judged by weights and scales that were fitted to the others alone, beside every part by
itself and the metrics that Yeh et al. (2021, https://arxiv.org/abs/2106.03706) measured on the same replies.
docs/papers/composite.md says what comes out and what falls short.
"""

import argparse
import json
import math
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from fbd import interval, markdown, number, tell, titled
from scipy.stats import rankdata

from benchmarks._shared import corpora_folder
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

# What is judged, named before anything is computed


class Corpus(NamedTuple):
    """RatedCorpus replies, and how they are judged."""

    label: str
    file: str
    aspect: str
    """Which rating, and which composite, counts."""
    dataset: str = ""
    """What Yeh et al. call it."""
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
KIN = {
    "pang2020": "pang2020",
    "pang2020, fluency": "pang2020",
    **dict.fromkeys(("grade convai2", "grade dailydialog", "grade empathetic"), "grade"),
    "usr personachat": "usr",
    **dict.fromkeys(("zhao dailydialog", "zhao personachat"), "zhao2020"),
}
"""Who had them rated: the stricter way leaves out all that the same people made."""
PUBLISHED = "gold/dialevalmetrics_published_correlations.json"


class Found(NamedTuple):
    """How well something agrees with people: two correlations, and the second over contexts drawn anew."""

    pearson: float
    spearman: float
    drawn: np.ndarray


# From the start to the end


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("-o", metavar="TABLES.md")
    parser.add_argument("--draws", type=int, default=1000)
    chosen = parser.parse_args()
    root = corpora_folder()
    recipe = CompositeRecipe()
    corpora = rescored(root, recipe)
    text = "\n\n".join(sections(root, recipe, corpora, chosen.draws))
    print(text)
    if chosen.o:
        Path(chosen.o).write_text(text + "\n", encoding="utf-8")
    finish(recipe, corpora)


Corpora = dict[Corpus, RatedCorpus]


def sections(root: Path, recipe: CompositeRecipe, corpora: Corpora, draws: int) -> Iterator[str]:
    """The whole text, part by part."""
    yield titled("Against the published", published_table(root, recipe, corpora, draws))
    yield titled("All four aspects, Spearman", aspects_table(recipe, corpora))
    yield titled("Each part by itself, Spearman", parts_table(recipe, corpora))
    yield titled("Without a part, Spearman", without_table(recipe, corpora))
    yield titled("How even the weights are, Spearman", evenness_table(recipe, corpora))
    yield titled("What else was tried, Spearman", tried_table(root, recipe, corpora))
    yield titled("Weights, fitted to all", weights_table(recipe, corpora))


# Agreement


def judged(
    recipe: CompositeRecipe, corpora: Corpora, one: Corpus, aspect: str = "", *, strictly: bool = False
) -> Floats:
    """The composite of each reply of a corpus, by what is fitted to the others."""
    aspect = aspect or one.aspect
    others = others_than(corpora[one], list(corpora.values()))
    if strictly:
        others = [rated for other, rated in corpora.items() if KIN[other.label] != KIN[one.label]]
    known = [other for other in others if has_ratings(other, aspect)]
    if not known:
        return np.full(len(corpora[one].values), math.nan)
    found: Combination = fit_weights(recipe, others, (aspect,))
    return found.scores(corpora[one].values, aspect)


def agreeing(rated: RatedCorpus, aspect: str, scores: Floats, draws: int = 0) -> Found:
    """An undefined score counts as neutral, so that all numbers are of the same replies."""
    known = np.isfinite(rated.ratings[aspect])
    scores = np.where(np.isnan(scores), np.nanmean(scores), scores)[known]
    people = rated.ratings[aspect][known]
    pearson, spearman = correlations(scores, people)
    return Found(pearson, spearman, drawn_anew(scores, people, rated.items[known], draws))


def drawn_anew(scores: Floats, people: Floats, items: Sequence[int], draws: int) -> np.ndarray:
    """Spearman's correlation with contexts drawn anew."""
    rng = np.random.default_rng(0)
    _, place = np.unique(items, return_inverse=True)
    groups = np.split(np.argsort(place, kind="stable"), np.cumsum(np.bincount(place))[:-1])
    found = []
    for _ in range(draws):
        rows = np.concatenate([groups[each] for each in rng.integers(len(groups), size=len(groups))])
        found.append(np.corrcoef(rankdata(scores[rows]), rankdata(people[rows]))[0, 1])
    return np.array(found)


def of_corpus(recipe: CompositeRecipe, corpora: Corpora, one: Corpus, draws: int = 0) -> Found:
    return agreeing(corpora[one], one.aspect, judged(recipe, corpora, one), draws)


# Tables


def published_table(root: Path, recipe: CompositeRecipe, corpora: Corpora, draws: int) -> str:
    """The composite beside the best, and the median, of those measured by others."""
    head = (
        "corpus", "rated", "n", "Pearson", "Spearman", "95 %", "without kin", "goal", "",
        "best published", "median published",
    )  # fmt: skip
    body = []
    for one, rated in corpora.items():
        tell(one.label)
        found = of_corpus(recipe, corpora, one, draws)
        strict = agreeing(rated, one.aspect, judged(recipe, corpora, one, strictly=True)).spearman
        count = int(np.isfinite(rated.ratings[one.aspect]).sum())
        body.append(
            [
                one.label, one.aspect, str(count), number(found.pearson), number(found.spearman),
                interval(found.drawn), number(strict), number(one.goal),
                "" if math.isnan(one.goal) else word(found.spearman >= one.goal), *published(root, one),
            ]
        )  # fmt: skip
    return markdown(head, body)


def published(root: Path, one: Corpus) -> list[str]:
    """The best of the published metrics by name, and the median, both by Spearman's correlation."""
    rows = json.loads((root / PUBLISHED).read_text(encoding="utf-8"))
    found = {
        row["metric"]: row["spearman"]
        for row in rows
        if row["dataset"] == one.dataset and row["level"] == "Turn-Level" and row["spearman"] is not None
    }
    if not found:
        return ["–", "–"]
    best = max(found, key=lambda name: found[name])
    return [f"{number(found[best])} ({best})", f"{number(statistics.median(found.values()))} of {len(found)}"]


def aspects_table(recipe: CompositeRecipe, corpora: Corpora) -> str:
    """Every aspect on every corpus that has ratings of it."""
    aspects = ("overall", "coherence", "fluency", "engagement")
    body = []
    for one, rated in corpora.items():
        cells = []
        for aspect in aspects:
            rates = has_ratings(rated, aspect)
            scores = judged(recipe, corpora, one, aspect) if rates else np.array([math.nan])
            some = rates and not np.isnan(scores).all()
            cells.append(number(agreeing(rated, aspect, scores).spearman if some else math.nan))
        body.append([one.label, *cells])
    return markdown(("corpus", *aspects), body)


def parts_table(recipe: CompositeRecipe, corpora: Corpora) -> str:
    """A part needs no fitting; those that are better the less there is of them have the other sign."""
    body = []
    for place, part in enumerate(recipe.parts):
        sign = 1 if part.better == "more" else -1
        found = [alone(rated, one.aspect, sign * rated.values[:, place]) for one, rated in corpora.items()]
        body.append([f"{part.name} (`{part.metric}`)", *map(number, found)])
    found = [of_corpus(recipe, corpora, one).spearman for one in corpora]
    return markdown(
        ("part", *(one.label for one in corpora)), [*body, ["**composite**", *map(number, found)]]
    )


def alone(rated: RatedCorpus, aspect: str, values: Floats) -> float:
    return math.nan if np.isnan(values).all() else agreeing(rated, aspect, values).spearman


def without_table(recipe: CompositeRecipe, corpora: Corpora) -> str:
    body = []
    for place, part in enumerate(recipe.parts):
        parts = tuple(other for other in recipe.parts if other != part)
        fewer = recipe.replace(parts=parts)
        cut = {
            one: rated._replace(values=np.delete(rated.values, place, axis=1))
            for one, rated in corpora.items()
        }
        found = [of_corpus(fewer, cut, one).spearman for one in cut]
        body.append([part.name, *map(number, found), number(statistics.mean(found))])
    return markdown(("without", *(one.label for one in corpora), "mean"), body)


def evenness_table(recipe: CompositeRecipe, corpora: Corpora) -> str:
    body = []
    for evenness in (0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 1000.0):
        other = recipe.replace(evenness=evenness)
        found = [of_corpus(other, corpora, one).spearman for one in corpora]
        body.append([f"{evenness:g}", *map(number, found), number(statistics.mean(found))])
    return markdown(("evenness", *(one.label for one in corpora), "mean"), body)


TRIED = {
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
"""Other metrics in the places of parts; nothing for a part that is left out."""
PRICES = (0.0, 0.15, 0.5)


def tried_table(root: Path, recipe: CompositeRecipe, corpora: Corpora) -> str:
    """Other parts, and other prices on an excess of repetition and copying."""
    body = [
        ["as shipped", *map(number, every(recipe, corpora)), number(statistics.mean(every(recipe, corpora)))]
    ]
    for label, changes in TRIED.items():
        tell(label)
        other = replaced(recipe, changes)
        found = every(other, rescored(root, other))
        body.append([label, *map(number, found), number(statistics.mean(found))])
    for price in PRICES:
        parts = tuple(replace(part, excess=price if part.excess else 0.0) for part in recipe.parts)
        found = every(recipe.replace(parts=parts), corpora)
        body.append([f"excess costs {price:g}", *map(number, found), number(statistics.mean(found))])
    return markdown(("", *(one.label for one in corpora), "mean"), body)


def every(recipe: CompositeRecipe, corpora: Corpora) -> list[float]:
    return [of_corpus(recipe, corpora, one).spearman for one in corpora]


def replaced(recipe: CompositeRecipe, changes: Mapping[str, str | None]) -> CompositeRecipe:
    kept = [part for part in recipe.parts if changes.get(part.name, "") is not None]
    parts = tuple(replace(part, metric=changes.get(part.name) or part.metric) for part in kept)
    return recipe.replace(parts=parts)


def rescored(root: Path, recipe: CompositeRecipe) -> Corpora:
    """Mostly from the score cache."""
    files = [str(root / "rated" / one.file) for one in CORPORA]
    scored = score_corpora(files, [part.metric for part in recipe.parts])
    return dict(zip(CORPORA, scored.corpora, strict=True))


def weights_table(recipe: CompositeRecipe, corpora: Corpora) -> str:
    found = fit_weights(recipe, list(corpora.values()))
    body = [
        [part.name, *(number(weights[place]) for weights in found.weights.values())]
        for place, part in enumerate(recipe.parts)
    ]
    return markdown(("part", *found.weights), body)


# Against the goals


def finish(recipe: CompositeRecipe, corpora: Corpora) -> None:
    """Each goal on a line, and how many are reached on the last."""
    wanted = [one for one in corpora if not math.isnan(one.goal)]
    short = []
    for one in wanted:
        value = of_corpus(recipe, corpora, one).spearman
        reached = value >= one.goal
        print(f"{one.label}, {one.aspect}, Spearman: {value:.3f}; goal {one.goal:.2f}: {word(reached)}")
        short += [] if reached else [f"{one.label} {value:.3f} ({one.goal:.2f})"]
    ending = f"; short: {'; '.join(short)}" if short else ": ok"
    print(f"{len(wanted) - len(short)} of {len(wanted)} goals reached{ending}")
    sys.exit(bool(short))


def word(reached: bool) -> str:
    return "ok" if reached else "short"


if __name__ == "__main__":
    main()
