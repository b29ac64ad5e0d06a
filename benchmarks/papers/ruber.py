"""Tables 3 and 4 of Ghazarian et al. (2019), BERT-RUBER, again.

    DIALOSCOPE_CORPORA=FOLDER python benchmarks/papers/ruber.py [-o TABLES.md] [--heads FOLDER]
    ... [--pairs 22000] [--read 8000] [--epochs 5] [--quick]

Correlations of RUBER with ratings: its unreferenced part with every embedding, representation and objective
of the paper, and its blends with the referenced part, on replies that others have rated; the paper's own
replies were never released. Heads are trained on the second part of DailyDialog's training dialogues and
saved for the next run. docs/papers/ruber.md has the results and what falls short. With --quick, two heads
without word2vec are trained on a few exchanges.
"""

import json
import math
import sys
from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import pearsonr, spearmanr

import dialoscope as ds
from benchmarks._shared import benchmark_parser, corpora_folder, quick_corpora
from benchmarks.papers.tables import log, markdown, mean_ratings, number, print_sections, rated_path, titled
from dialoscope.models.classifier import TransformerClassifier
from dialoscope.models.protocols import Classifier
from dialoscope.models.registry import cache_folder

# What is compared

WORD2VEC, BERT = "word2vec", "BERT"
EMBEDDINGS = {WORD2VEC: "word2vec-300d", BERT: "minilm"}
"""What stands in for the paper's: word2vec cut to the commonest words, and a smaller encoder than BERT."""
REPRESENTATIONS = {"bi-gru": "Bi-RNN", "max": "Max Pooling", "mean": "Mean Pooling"}
OBJECTIVES = {"ranking": "Ranking", "cross-entropy": "Cross-Entropy"}
TUNED = "ruber-unreferenced"
"""The default of the metric, which the paper does not have."""
QUICK_CONTEXTS = 3
BLENDS = ("min", "max", "arithmetic", "geometric")


class Head(NamedTuple):
    """A row of table 3."""

    embedding: str
    representation: str
    objective: str

    @property
    def cells(self) -> list[str]:
        """As the paper has them."""
        return [self.embedding, REPRESENTATIONS[self.representation], OBJECTIVES[self.objective]]


HEADS = tuple(Head(*row) for row in product(EMBEDDINGS, REPRESENTATIONS, OBJECTIVES))


class Agreement(NamedTuple):
    """Of a metric with people, over the replies that both have judged."""

    pearson: float
    pearson_p: float
    spearman: float
    spearman_p: float
    cosine: float
    count: int = 0


PAPER_3 = dict(
    zip(
        HEADS,
        (
            Agreement(0.28, 6e-7, 0.30, 8e-8, 0.56),
            Agreement(0.22, 9e-5, 0.25, 9e-6, 0.53),
            Agreement(0.19, 8e-4, 0.18, 1e-3, 0.50),
            Agreement(0.25, 2e-5, 0.25, 2e-5, 0.53),
            Agreement(0.16, 5e-3, 0.18, 2e-3, 0.50),
            Agreement(0.04, 5e-1, 0.06, 3e-1, 0.47),
            Agreement(0.38, 1e-2, 0.31, 4e-8, 0.60),
            Agreement(0.29, 2e-7, 0.24, 3e-5, 0.55),
            Agreement(0.41, 1e-2, 0.36, 7e-9, 0.65),
            Agreement(0.55, 1e-2, 0.45, 1e-2, 0.70),
            Agreement(0.34, 2e-9, 0.27, 2e-6, 0.57),
            Agreement(0.32, 2e-8, 0.29, 5e-7, 0.55),
        ),
        strict=True,
    )
)
"""Its p-values are bounds."""


class Blended(NamedTuple):
    """A model of table 4: which head, and how the referenced part is made."""

    name: str
    head: Head
    settings: Mapping[str, str]


RUBER = Blended(
    "RUBER",
    Head(WORD2VEC, "bi-gru", "ranking"),
    {"vectors": EMBEDDINGS[WORD2VEC], "pooling": "max-min"},  # as Tao et al. pool
)
OURS = Blended("Ours", Head(BERT, "max", "cross-entropy"), {"encoder": EMBEDDINGS[BERT], "pooling": "max"})
PAPER_4 = {
    ("RUBER", "min"): Agreement(0.08, 0.16, 0.06, 0.28, 0.51),
    ("RUBER", "max"): Agreement(0.19, 1e-3, 0.23, 4e-5, 0.60),
    ("RUBER", "arithmetic"): Agreement(0.22, 9e-5, 0.21, 3e-4, 0.63),
    ("Ours", "min"): Agreement(0.05, 0.43, 0.09, 0.13, 0.52),
    ("Ours", "max"): Agreement(0.49, 1e-2, 0.44, 1e-2, 0.69),
    ("Ours", "arithmetic"): Agreement(0.45, 1e-2, 0.34, 1e-2, 0.70),
}


class Corpus(NamedTuple):
    """Replies that people rated from 1 to 5."""

    name: str
    file: str
    aspect: str


QUICK_HEADS = (OURS.head, OURS.head._replace(representation="mean"))

CORPORA = (
    Corpus("pang2020", "pang2020/coherence.jsonl", "coherence"),
    Corpus("zhao dailydialog", "zhao2020/zhao_dailydialog.jsonl", "overall"),
    Corpus("zhao personachat", "zhao2020/zhao_personachat.jsonl", "overall"),
    Corpus("grade convai2", "grade/grade_convai2.jsonl", "coherence"),
    Corpus("grade dailydialog", "grade/grade_dailydialog.jsonl", "coherence"),
    Corpus("grade empathetic", "grade/grade_empathetic.jsonl", "coherence"),
    Corpus("usr personachat", "usr_personachat/data.jsonl", "Overall"),
)

# Heads


@dataclass(frozen=True)
class Budget:
    """How long heads may learn; the sizes are the paper's."""

    pairs: int
    """From so many exchanges, as in the paper, where vectors are pooled."""
    read: int
    """And where texts are read word by word, which takes a hundred times as long on a processor."""
    epochs: int
    """At most so often, where texts are read."""

    def recipe(self, head: Head, pairs: int = 0) -> ds.RuberRecipe:
        """As in the paper, save that it stops sooner."""
        recurrent = head.representation == "bi-gru"
        pace = {"epochs": self.epochs, "batch": 64} if recurrent else {"epochs": 60}
        return ds.RuberRecipe(
            embedding=EMBEDDINGS[head.embedding],
            representation=head.representation,
            objective=head.objective,
            pairs=pairs or (self.read if recurrent else self.pairs),
            patience=5,
            **pace,
        )  # type: ignore[arg-type]


def head_path(head: Head, recipe: ds.RuberRecipe, folder: Path) -> Path:
    """Return the folder of a head."""
    return folder / f"{'-'.join(head)}-{recipe.pairs}x{recipe.epochs}"


def load_or_train(head: Head, recipe: ds.RuberRecipe, folder: Path) -> Classifier:
    """Return the head, trained unless its folder exists."""
    path = head_path(head, recipe, folder)
    dialogues = corpora_folder() / "dialogues/dailydialog"
    if not (path / "spec.json").exists():
        log(f"training {path.name}")
        ds.train_ruber(
            [dialogues / "dailydialog_train.jsonl"],
            path,
            recipe,
            validation=dialogues / "dailydialog_valid.jsonl",
            tests=[dialogues / "dailydialog_test.jsonl"],
            licence="CC BY-NC-SA 4.0",
        )
    return ds.RuberUnreferenced(model=str(path)).model


def learned(model: Classifier) -> dict[str, Any]:
    """What a head's training noted."""
    found: dict[str, Any] = json.loads(Path(str(model), "spec.json").read_text(encoding="utf-8"))
    return found


# From the start to the end


class Study(NamedTuple):
    """What was found on each corpus, and which heads found it."""

    heads: dict[Head, Classifier]
    level: dict[Head, Classifier]
    """Pooled ones that learned from as few exchanges as those that read."""
    tuned: Classifier | None
    results: dict[Corpus, ds.Result]


def main() -> None:
    options = read_options()
    study = make_study(options)
    print_sections(sections(study), options.o)
    best = max(mean(study, unreferenced(model)) for _, model, _ in judges(study))
    print(f"\nbest mean Spearman of an unreferenced part over {len(CORPORA)} corpora: {best:.3f}; no bar")
    if study.tuned is None and not options.quick:
        sys.exit(f"The default model '{TUNED}' is not here; its rows are left out.")


def read_options() -> Namespace:
    parser = benchmark_parser(__doc__)
    parser.add_argument(
        "--pairs", type=int, default=22000, help="number of training exchanges of pooled heads"
    )
    parser.add_argument(
        "--read", type=int, default=8000, help="the same of recurrent heads; 0: no such heads"
    )
    parser.add_argument("--epochs", type=int, default=5, help="maximum number of epochs of recurrent heads")
    parser.add_argument("--heads", metavar="FOLDER", help="folder of trained heads; in the cache by default")
    parser.add_argument("--kept", action="store_true", help="train no heads, use those in the folder")
    parser.add_argument("--tuned", default=TUNED, metavar="FOLDER", help="folder of the default model")
    parser.add_argument("-o", metavar="FILE", help="file to which the tables are written too")
    options = parser.parse_args()
    if options.quick:
        quick_corpora(QUICK_CONTEXTS)
        options.pairs, options.read, options.epochs = 40, 0, 1
    corpora_folder()
    return options


def make_study(options: Namespace) -> Study:
    budget = Budget(options.pairs, options.read, options.epochs)
    folder = Path(options.heads) if options.heads else cache_folder() / "papers" / "ruber"
    pooled = [head for head in HEADS if head.representation != "bi-gru"]
    wanted = {head: budget.recipe(head) for head in (HEADS if budget.read else pooled)}
    fewer = {head: budget.recipe(head, budget.read) for head in pooled if 0 < budget.read < budget.pairs}
    if options.quick:
        wanted = {head: recipe for head, recipe in wanted.items() if head in QUICK_HEADS}
    heads, level = (
        {
            head: load_or_train(head, recipe, folder)
            for head, recipe in recipes.items()
            if not options.kept or (head_path(head, recipe, folder) / "spec.json").exists()
        }
        for recipes in (wanted, fewer)
    )
    tuned = None if options.quick else find_available(options.tuned)
    all_metrics = metrics(heads, level, tuned)
    return Study(heads, level, tuned, {corpus: evaluate(corpus, all_metrics) for corpus in CORPORA})


def find_available(name: str) -> Classifier | None:
    model = TransformerClassifier(name)
    try:
        model.labels  # noqa: B018 - whether it is there
    except ds.DialoscopeError as problem:
        log(str(problem).splitlines()[0])
        return None
    return model


def metrics(
    heads: Mapping[Head, Classifier], level: Mapping[Head, Classifier], tuned: Classifier | None
) -> list[ds.Metric[Any]]:
    """All that is wanted of each corpus."""
    judges = [*heads.values(), *level.values(), *([tuned] if tuned else [])]
    mixes = [(heads[one.head], one.settings) for one in (RUBER, OURS) if one.head in heads]
    mixes += [(tuned, OURS.settings)] if tuned else []
    return [
        *map(unreferenced, judges),
        *(metric for _, settings in referenced_settings(heads) for metric in referenced(settings)),
        *(blend(model, settings, how) for model, settings in mixes for how in BLENDS),
    ]


def unreferenced(model: Classifier) -> ds.Metric[Any]:
    return ds.RuberUnreferenced(model=model)


def referenced_settings(heads: Iterable[Head]) -> list[tuple[str, Mapping[str, str]]]:
    """Return the settings of the referenced part for each embedding that a head has."""
    embeddings = {head.embedding for head in heads}
    pairs = ((WORD2VEC, RUBER.settings), (BERT, OURS.settings))
    return [(label, settings) for label, settings in pairs if label in embeddings]


def referenced(settings: Mapping[str, str]) -> list[ds.Metric[Any]]:
    """The referenced part alone, in every way of pooling."""
    return [ds.RuberReferenced(**{**settings, "pooling": one}) for one in ("max", "min", "mean", "max-min")]  # type: ignore[arg-type]


def blend(model: Classifier, settings: Mapping[str, str], how: str) -> ds.Metric[Any]:
    return ds.Ruber(model=model, blend=how, **settings)  # type: ignore[arg-type]


def evaluate(corpus: Corpus, metrics: Sequence[ds.Metric[Any]]) -> ds.Result:
    result = ds.evaluate(ds.read(rated_path(corpus.file)), metrics, missing="undefined")
    log(f"{corpus.name}: {len(result.replies)} replies, {result.provenance.seconds:.0f} s")
    return result


# Agreement


def agreement(people: np.ndarray, scores: np.ndarray) -> Agreement:
    """Over the replies that have both; the cosine is that of ratings and scores from 0 to 1."""
    both = ~np.isnan(people + scores)
    rated, found = people[both], scores[both]
    if both.sum() < 3 or not (np.ptp(rated) and np.ptp(found)):
        return Agreement(*[math.nan] * 5, int(both.sum()))
    unit = (rated - 1) / 4
    cosine = float(unit @ found / np.sqrt((unit @ unit) * (found @ found)))
    pearson, spearman = pearsonr(rated, found), spearmanr(rated, found)
    values = [float(value) for value in (*pearson, *spearman)]
    return Agreement(*values, cosine, int(both.sum()))


def agreeing(study: Study, corpus: Corpus, metric: ds.Metric[Any], *, compared: bool = False) -> Agreement:
    """Of a metric on a corpus; `compared`: on the replies that have a reference alone."""
    result = study.results[corpus]
    people, scores = mean_ratings(result, corpus.aspect), result.values(metric)
    if compared:
        near = result.values(ds.RuberReferenced(**OURS.settings))  # type: ignore[arg-type]
        scores = np.where(np.isnan(near), math.nan, scores)
    return agreement(people, scores)


def stored(study: Study, corpus: Corpus) -> Agreement:
    """RUBER as others have trained it on DailyDialog, whose scores are kept with the corpora."""
    path = corpora_folder() / "gold/ruber_scores.jsonl"
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    told = {row["id"]: row["score"] for row in rows}
    result = study.results[corpus]
    scores = np.array([told.get(one, math.nan) for one in result.replies.ids], float)
    return agreement(mean_ratings(result, corpus.aspect), scores)


def mean(study: Study, metric: ds.Metric[Any], *, compared: bool = False) -> float:
    """Spearman's correlation, over all corpora."""
    return float(np.mean([agreeing(study, one, metric, compared=compared).spearman for one in CORPORA]))


# Tables


def sections(study: Study) -> Iterable[str]:
    """The whole text, part by part."""
    yield titled("Heads", table_of_heads(study))
    yield titled("Mean over corpora, Spearman", table_of_means(study))
    yield titled("Is max pooling best? Spearman", table_of_pooling(study))
    yield titled("Does the referenced part help? Spearman on replies with a reference", table_of_gain(study))
    for corpus in CORPORA:
        count = len(study.results[corpus].replies)
        title = f"Table 3 on {corpus.name} ({corpus.aspect}, {count} replies)"
        yield titled(title, table_3(study, corpus))
    for corpus in CORPORA:
        count = agreeing(study, corpus, unreferenced(study.heads[OURS.head]), compared=True).count
        title = f"Table 4 on {corpus.name} ({corpus.aspect}, {count} replies with a reference)"
        yield titled(title, table_4(study, corpus))


AGREEMENT = ("Pr. (p)", "Spr. (p)", "cos.", "paper, Pr. (p)", "Spr. (p)", "cos.")


def shown(found: Agreement, paper: Agreement | None = None) -> list[str]:
    """The cells of a row; nothing where the paper has no such row."""
    own = [
        f"{number(found.pearson)} ({chance(found.pearson_p)})",
        f"{number(found.spearman)} ({chance(found.spearman_p)})",
        number(found.cosine),
    ]
    if paper is None:
        return [*own, "", "", ""]
    printed = [f"{value:.2f}".removeprefix("0") for value in (paper.pearson, paper.spearman, paper.cosine)]
    bounds = [f"(<{value:g})" for value in (paper.pearson_p, paper.spearman_p)]
    return [*own, f"{printed[0]} {bounds[0]}", f"{printed[1]} {bounds[1]}", printed[2]]


def chance(p: float) -> str:
    """A p-value."""
    return "–" if math.isnan(p) else f"{p:.2f}".removeprefix("0") if p >= 0.01 else f"{p:.0e}"


def table_of_heads(study: Study) -> str:
    """What each learned from, and how well it finds the right reply among ten."""
    rows = []
    for head, model in [*study.heads.items(), *study.level.items()]:
        spec = learned(model)
        settings, after = spec["settings"], spec["after"]
        rank = next(value for name, value in after.items() if "rank" in name and "dailydialog_test" in name)
        right = next(
            value for name, value in after.items() if "accuracy" in name and "dailydialog_test" in name
        )
        rows.append([*head.cells, f"{settings['pairs']:,}", number(right), number(rank)])
    head = [
        "embedding",
        "representation",
        "objective",
        "exchanges",
        "accuracy, test",
        "reciprocal rank among 10",
    ]
    return markdown(head, rows)


def table_of_means(study: Study) -> str:
    """Every row of table 3, on every corpus, beside the paper's one."""
    head = ["metric", *(one.name for one in CORPORA), "mean", "paper"]
    rows = []
    for label, model, paper in judges(study):
        metric = unreferenced(model)
        cells = [number(agreeing(study, corpus, metric).spearman) for corpus in CORPORA]
        rows.append([label, *cells, number(mean(study, metric)), paper])
    for label, settings in referenced_settings(study.heads):
        for metric in referenced(settings):
            cells = [number(agreeing(study, corpus, metric).spearman) for corpus in CORPORA]
            rows.append([f"referenced, {label}, {metric.pooling}", *cells, number(mean(study, metric)), ""])  # type: ignore[attr-defined]
    rows.append(["RUBER, stored", *(number(stored(study, one).spearman) for one in CORPORA), "–", ""])
    return markdown(head, rows)


def judges(study: Study) -> list[tuple[str, Classifier, str]]:
    """Each model with its name and the paper's number."""
    found = [
        (", ".join(head.cells), model, f"{PAPER_3[head].spearman:.2f}".removeprefix("0"))
        for head, model in study.heads.items()
    ]
    return [*found, *([("tuned encoder (default)", study.tuned, "")] if study.tuned else [])]


def table_of_pooling(study: Study) -> str:
    """The three representations side by side, the pooled ones with all exchanges and with as few."""
    head = ["embedding", "objective", "Bi-RNN", "max", "mean", "max, few exchanges", "mean, few exchanges",
            "corpora where max is above mean", "paper: Bi-RNN, max, mean"]  # fmt: skip
    rows = []
    for embedding in EMBEDDINGS:
        for objective in OBJECTIVES:
            kinds = [Head(embedding, one, objective) for one in REPRESENTATIONS]
            models = [*map(study.heads.get, kinds), *map(study.level.get, kinds[1:])]
            above = ahead(study, *models[1:3])
            paper = ", ".join(f"{PAPER_3[one].spearman:.2f}".removeprefix("0") for one in kinds)
            values = ["–" if one is None else number(mean(study, unreferenced(one))) for one in models]
            rows.append([embedding, OBJECTIVES[objective], *values, above, paper])
    return markdown(head, rows)


def ahead(study: Study, one: Classifier | None, other: Classifier | None) -> str:
    """On how many corpora the one is above the other."""
    if one is None or other is None:
        return "–"
    pairs = [[agreeing(study, corpus, unreferenced(m)).spearman for m in (one, other)] for corpus in CORPORA]
    return f"{sum(high > low for high, low in pairs)} of {len(CORPORA)}"


def table_of_gain(study: Study) -> str:
    """Each blend less the unreferenced part alone."""
    rows = []
    for name, model, settings in mixed(study):
        alone = unreferenced(model)
        cells = [number(agreeing(study, one, alone, compared=True).spearman) for one in CORPORA]
        rows.append([name, "none", *cells, number(mean(study, alone, compared=True)), "–"])
        for how in BLENDS:
            metric = blend(model, settings, how)
            pairs = [
                (agreeing(study, one, metric).spearman, agreeing(study, one, alone, compared=True).spearman)
                for one in CORPORA
            ]
            better = sum(one > other for one, other in pairs)
            cells = [number(one) for one, _ in pairs]
            rows.append([name, how, *cells, number(mean(study, metric)), f"{better} of {len(CORPORA)}"])
    return markdown(
        ["model", "blend", *(one.name for one in CORPORA), "mean", "corpora where it helps"], rows
    )


def mixed(study: Study) -> list[tuple[str, Classifier, Mapping[str, str]]]:
    """The models of table 4, and the default one."""
    here = [one for one in (RUBER, OURS) if one.head in study.heads]
    found = [(one.name, study.heads[one.head], one.settings) for one in here]
    return [*found, *([("tuned encoder", study.tuned, OURS.settings)] if study.tuned else [])]


def table_3(study: Study, corpus: Corpus) -> str:
    agree = partial(agreeing, study, corpus)
    nothing = Agreement(*[math.nan] * 5)
    rows = [
        [
            *head.cells,
            *shown(agree(unreferenced(study.heads[head])) if head in study.heads else nothing, PAPER_3[head]),
        ]
        for head in HEADS
    ]
    if study.tuned:
        rows.append(["tuned encoder (default)", "", "", *shown(agree(unreferenced(study.tuned)))])
    if (found := stored(study, corpus)).count:
        rows.append([f"RUBER, stored ({found.count} replies)", "", "", *shown(found)])
    return markdown(["embedding", "representation", "objective", *AGREEMENT], rows)


def table_4(study: Study, corpus: Corpus) -> str:
    agree = partial(agreeing, study, corpus)
    rows = []
    for name, model, settings in mixed(study):
        rows.append([name, "unreferenced alone", *shown(agree(unreferenced(model), compared=True))])
        alone = ds.RuberReferenced(**settings)  # type: ignore[arg-type]
        rows.append([name, "referenced alone", *shown(agree(alone))])
        rows += [
            [name, how, *shown(agree(blend(model, settings, how)), PAPER_4.get((name, how)))]
            for how in BLENDS
        ]
    if (found := stored(study, corpus)).count:
        rows.append([f"RUBER, stored ({found.count} replies)", "", *shown(found)])
    return markdown(["model", "blend", *AGREEMENT], rows)


if __name__ == "__main__":
    main()
