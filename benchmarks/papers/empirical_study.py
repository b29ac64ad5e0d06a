"""The clusters of metrics that Feng et al. found, looked for among rated replies of seven sets.

    DIALOSCOPE_CORPORA=FOLDER python benchmarks/papers/empirical_study.py [-o TABLES.md] [--quick]

"Automatic Evaluation of Generative Dialogue Systems: An Empirical Study". Each set is scored with the paper's
metrics, ADEM with a model that was trained on the other sets, and the tree of `dialoscope agree` is asked for
the paper's clusters; so is that of each system alone, which is what the paper calls a model instance.
docs/papers/empirical_study.md says what comes out and what falls short.
"""

import json
import sys
import tempfile
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

import dialoscope as ds
from benchmarks._shared import benchmark_parser, corpora_folder, quick_corpora
from benchmarks.papers.tables import log, markdown, number, ok_or_short, print_sections, rated_path, titled
from dialoscope.analysis.agreement.clustered import Branch, View

# What is looked for, named before anything is computed

SETS = {
    "usr personachat": "usr_personachat/data.jsonl",
    "grade convai2": "grade/grade_convai2.jsonl",
    "grade dailydialog": "grade/grade_dailydialog.jsonl",
    "grade empathetic": "grade/grade_empathetic.jsonl",
    "zhao dailydialog": "zhao2020/zhao_dailydialog.jsonl",
    "zhao personachat": "zhao2020/zhao_personachat.jsonl",
    "pang2020": "pang2020/coherence.jsonl",
}
PEOPLE = "New Human Generated"
"""What people wrote is left out, as the paper looks at models; so are replies without a reference."""
BLEU, ROUGE = [f"bleu-{n}" for n in range(1, 5)], [f"rouge-{n}" for n in (1, 2, 3, 4, "l", "w")]
VECTORS = ["average", "extrema", "greedy"]
DISTINCT_1, DISTINCT_2 = "distinct-1:level=reply", "distinct-2:level=reply,over=words"
"""Table 4 of the paper has 3/4, 6/7 and 8/9 for replies of 4, 7 and 9 words: pairs of words, over words."""
OF_PAIRS = "distinct-2:level=reply"
"""Over pairs of words, as nearly everybody has it."""
METRICS = [*BLEU, "meteor", *ROUGE, *VECTORS, DISTINCT_1, DISTINCT_2, "perplexity", "words"]
CLUSTERS = {
    "word overlap": (*BLEU, "meteor", *ROUGE),
    "word embedding": VECTORS,
    "Distinct-2 and #words": (DISTINCT_2, "words"),
}
FOUND = 0.75
"""A branch so like a cluster (Jaccard index) counts as the cluster, but for one or two metrics."""
QUICK_CONTEXTS, QUICK_SETS = 15, ["zhao dailydialog", "grade convai2"]
BAR = 5
"""Of seven sets, for word overlap and for word embedding each."""


class Study(NamedTuple):
    """A set, or the replies of one of its systems."""

    result: ds.Result
    agreement: ds.Agreement

    @property
    def adem(self) -> str:
        """The column of ADEM."""
        return self.column("adem")

    def column(self, metric: str) -> str:
        """Return the column of a metric, whose name says its settings."""
        return next(name for name in self.agreement.plain.names if name.startswith(metric))


def main() -> None:
    options = read_options()
    studies, instances = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for name in options.sets:
            log(name)
            checkpoint = train_on_others(name, Path(folder) / name, options.recipe)
            result = ds.evaluate(
                read_system_replies(name), [*options.metrics, ds.Adem(checkpoint=str(checkpoint))]
            )
            studies[name] = Study(result, ds.agree(result, draws=options.draws))
            for system in () if options.quick else result.systems:
                agreement = ds.agree(result, system=system, draws=options.draws)
                instances[f"{name}, {system}"] = Study(result, agreement)
        print_sections(sections(studies, instances), options.output)
    print_conclusion(studies, quick=options.quick)


def read_options() -> Namespace:
    parser = benchmark_parser(__doc__)
    parser.add_argument("-o", "--output", type=Path, help="file to which the tables are written too")
    parser.add_argument("--draws", type=int, default=1000, help="number of random halves")
    options = parser.parse_args()
    options.sets, options.recipe, options.metrics = list(SETS), ds.AdemRecipe(seeds=1), METRICS
    if options.quick:
        quick_corpora(QUICK_CONTEXTS)
        options.sets, options.recipe, options.draws = QUICK_SETS, ds.AdemRecipe(seeds=1, dims=5), 100
        options.metrics = ["perplexity:lm=fake" if name == "perplexity" else name for name in METRICS]
    corpora_folder()
    return options


# Scores


def path_of(name: str) -> Path:
    return rated_path(SETS[name])


def read_system_replies(name: str) -> list[ds.Example]:
    """Return the replies of systems that have a reference."""
    return [reply for reply in ds.read(path_of(name)) if reply.references and reply.system != PEOPLE]


def train_on_others(name: str, folder: Path, recipe: ds.AdemRecipe) -> Path:
    """Return a model trained on all other sets, without their replies to contexts of this set."""
    contexts = {tuple(reply.context) for reply in ds.read(path_of(name))}
    rows = [
        row
        for other in SETS
        if other != name
        for row in map(json.loads, path_of(other).read_text(encoding="utf-8").splitlines())
        if tuple(row["context"]) not in contexts
    ]
    training = folder.with_suffix(".jsonl")
    training.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    ds.train_adem(training, folder, recipe, aspects=("overall", "coherence"))
    return folder


# Tables


def sections(studies: Mapping[str, Study], instances: Mapping[str, Study]) -> Iterator[str]:
    yield titled("Clusters, by set", by_set(studies))
    yield titled("Clusters, by system", by_system(instances))
    yield titled("ADEM and Distinct-1", alone(studies))
    yield titled("Families, mean r", families(studies))
    yield titled("Distinct-2 and length", distinct(studies))
    yield titled("Systems", systems(studies))


def there(view: View, metrics: Sequence[str]) -> list[str]:
    """Those that vary: a metric that is the same for every reply is in no tree."""
    return [name for name in metrics if name in view.names]


def by_set(studies: Mapping[str, Study]) -> str:
    """The branch that is most like each cluster, how many draws have it, and its likeness without length."""
    heads = ["set", "n", *(text for name in CLUSTERS for text in (name, "halves", "no length"))]
    body = []
    for name, study in studies.items():
        plain, rest = study.agreement.plain, study.agreement.without_length
        assert rest is not None
        cells = [name, str(len(study.result.replies))]
        for metrics in CLUSTERS.values():
            branch = plain.branch(there(plain, metrics))
            cells += [like(branch, there(plain, metrics)), f"{100 * branch.found:.0f} %"]
            left = there(rest, metrics)
            cells.append(number(rest.branch(left).jaccard) if len(left) > 1 else "–")
        body.append(cells)
    return markdown(heads[:-1], (cells[:-1] for cells in body))  # #words is what is held constant


def like(branch: Branch, wanted: Sequence[str]) -> str:
    """How like a set a branch is, and what it lacks or has more."""
    lacks = (f"−{short_name(one)}" for one in wanted if one not in branch.metrics)
    more = (f"+{short_name(one)}" for one in branch.metrics if one not in wanted)
    return " ".join([number(branch.jaccard), *lacks, *more])


def by_system(instances: Mapping[str, Study]) -> str:
    """Of all systems: how many have the cluster just so, and how many nearly."""
    body = []
    for name, metrics in CLUSTERS.items():
        views = [study.agreement.plain for study in instances.values()]
        likeness = [view.branch(there(view, metrics)).jaccard for view in views]
        just_so, nearly = (sum(one >= least for one in likeness) for least in (1, FOUND))
        body.append([name, str(just_so), str(nearly), str(len(views)), number(float(np.median(likeness)))])
    return markdown(("cluster", "just so", f"at least {FOUND:g} like it", "systems", "median likeness"), body)


def alone(studies: Mapping[str, Study]) -> str:
    """Which cluster ADEM and Distinct-1 are in at the default cut, and what they go with most."""
    body = []
    for name, study in studies.items():
        view = study.agreement.plain
        cells = [name]
        for metric in (study.adem, DISTINCT_1):
            group = next(one for one in view.groups if metric in one.metrics)
            others = [short_name(one) for one in group.metrics if one != metric]
            i = view.names.index(metric)
            nearest = int(np.nanargmax(np.where(np.arange(len(view.names)) == i, np.nan, view.r[i])))
            cells += [
                ", ".join(others) or "alone",
                f"{short_name(view.names[nearest])} {number(view.r[i, nearest])}",
            ]
        body.append(cells)
    return markdown(("set", "ADEM with", "nearest", "Distinct-1 with", "nearest"), body)


def short_name(name: str) -> str:
    return "adem" if name.startswith("adem") else name.partition(":")[0]


def families(studies: Mapping[str, Study]) -> str:
    """How well metrics of a kind agree, and how well they agree with others."""
    body = []
    for name, study in studies.items():
        view = study.agreement.plain
        overlap, vectors = (there(view, CLUSTERS[kind]) for kind in ("word overlap", "word embedding"))
        pairs = [
            combinations(overlap, 2),
            combinations(vectors, 2),
            product(overlap, vectors),
            product([study.adem], overlap),
            product([study.adem], vectors),
            product([study.column("perplexity")], [*overlap, *vectors, study.adem]),
        ]
        body.append([name, *(number(mean_r(view, list(some))) for some in pairs)])
    heads = (
        "within overlap",
        "within embedding",
        "between",
        "ADEM, overlap",
        "ADEM, embedding",
        "PPL, others",
    )
    return markdown(("set", *heads), body)


def mean_r(view: View, pairs: Sequence[tuple[str, str]]) -> float:
    return float(np.mean([view.r[view.names.index(a), view.names.index(b)] for a, b in pairs]))


def distinct(studies: Mapping[str, Study]) -> str:
    """Distinct-2 over words, as the paper has it, and over pairs of words, beside length."""
    body = []
    for name in studies:
        both = ds.evaluate(read_system_replies(name), [DISTINCT_2, OF_PAIRS, "words", DISTINCT_1])
        view = ds.agree(both, draws=100).plain
        perfect = float(np.mean(both.values(OF_PAIRS)[~np.isnan(both.values(OF_PAIRS))] == 1))
        values = [
            mean_r(view, [pair])
            for pair in ((DISTINCT_2, "words"), (OF_PAIRS, "words"), (OF_PAIRS, DISTINCT_1))
        ]
        body.append([name, *map(number, values), f"{100 * perfect:.0f} %"])
    heads = (
        "over words, with #words",
        "over pairs, with #words",
        "over pairs, with Distinct-1",
        "over pairs = 1",
    )
    return markdown(("set", *heads), body)


def systems(studies: Mapping[str, Study]) -> str:
    """Section 4.1: whether metrics name the same best system, and agree on the order of systems."""
    body = []
    for name, study in studies.items():
        result = study.result
        judging = [one for one in result.metrics if one.higher_is_better is not None]
        scores = np.array(
            [
                [result.score(one, system) * (1 if one.higher_is_better else -1) for system in result.systems]
                for one in judging
            ]
        )
        if len(result.systems) > 2:
            most = Counter(scores.argmax(axis=1).tolist()).most_common(1)[0][1]
            orders = np.corrcoef(np.array([rankdata(row) for row in scores if np.ptp(row) > 0]))
            between = orders[np.triu_indices(len(orders), 1)]
            view = study.agreement.plain
            turned = (1 - view.distances)[np.triu_indices(len(view.names), 1)]
            body.append(
                [
                    name,
                    str(len(result.systems)),
                    f"{most} of {len(judging)}",
                    number(float(between.mean())),
                    f"{100 * float((between < 0).mean()):.0f} %",
                    number(float(np.nanmean(turned))),
                ]
            )
    heads = (
        "set",
        "systems",
        "name the same best",
        "mean ρ of systems' order",
        "below 0",
        "mean r of replies",
    )
    return markdown(heads, body)


def print_conclusion(studies: Mapping[str, Study], *, quick: bool) -> None:
    """Print the number of sets with each cluster, and the bar, on the last line, and end the program."""
    views = [study.agreement.plain for study in studies.values()]
    counts = {
        name: sum(view.branch(there(view, metrics)).jaccard >= FOUND for view in views)
        for name, metrics in CLUSTERS.items()
    }
    alone = sum(
        (study.adem,) in [group.metrics for group in study.agreement.plain.groups]
        for study in studies.values()
    )
    reached = all(counts[name] >= BAR for name in ("word overlap", "word embedding"))
    shown = ", ".join(f"{name} {count}" for name, count in counts.items())
    print(
        f"Found on {len(studies)} sets: {shown}, ADEM alone {alone}; bar: word overlap and word embedding on "
        f"{BAR} each: {ok_or_short(reached)}"
    )
    sys.exit(not reached and not quick)


if __name__ == "__main__":
    main()
