"""Tables 3, 4 and 5 of "Assessing Dialogue Systems with Distribution Distances" (Xiang et al., 2021), again.

    DIALOSCOPE_CORPORA=FOLDER python benchmarks/papers/fbd.py [-o TABLES.md] [--quick]
    ... [--corpora dailyz personaz] [--encoders minilm mpnet FOLDER] [--without-layers] [--draws 200]

How well the order of dialogue systems by each metric agrees with people's, on the six corpora as their
authors released them and on corrected ones, beside what the paper has. A correlation is positive where the
metric agrees with people, whichever of its ends is better; the paper has absolute values, which stand in
columns of their own. BERT and RoBERTa are used where the hub or a folder has them. docs/papers/fbd.md says
what comes out and what differs.
"""

import math
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import dialoscope as ds
from benchmarks._shared import benchmark_parser, corpora_folder, quick_corpora
from benchmarks.papers import published
from benchmarks.papers.layers import POOLINGS, LayerEncoder, layers_of
from benchmarks.papers.published import CONVAI2, EMPATHETIC, Agreement
from benchmarks.papers.tables import (
    MIN_POINTS,
    agreement,
    interval,
    log,
    markdown,
    mean_ratings,
    number,
    ok_or_short,
    print_sections,
    rated_path,
    titled,
)
from dialoscope.models.encoder import TransformerEncoder
from dialoscope.models.protocols import Encoder

BAR = 0.91
"""The mean of the paper's FBD with RoBERTa over its six corpora, to two digits."""
EMBEDDED = ("minilm", "mpnet")
PAPERS = {"bert-base-uncased": "B", "roberta-base": "R"}
"""The encoders of the paper, and what it calls them."""
SEEDS = 5
QUICK_CONTEXTS = 5
QUICK_CORPORA = ["dailyz", "personaz", "grade-convai2"]
EQUAL = 1e-4
"""The largest relative difference of an FBD from a pass over all layers and one from the public encoder."""


class Corpus(NamedTuple):
    """Replies that people rated."""

    key: str
    column: str
    """Of the paper."""
    file: str
    aspect: str
    """The rating that the paper takes for how good a reply is."""
    origin: str
    """Where the replies are from: two of the released files hold the same ones."""


RELEASED = (
    Corpus("personam", published.PERSONA_M, "fbd/fbd_personam.jsonl", "Overall", "USR"),
    Corpus("dailyh", published.DAILY_H, "fbd/fbd_dailyh.jsonl", "coherence", "GRADE DailyDialog"),
    Corpus("convai2", CONVAI2, "fbd/fbd_convai2.jsonl", "coherence", "GRADE ConvAI2"),
    Corpus("empathetic", EMPATHETIC, "fbd/fbd_empathetic.jsonl", "coherence", "GRADE DailyDialog"),
    Corpus("dailyz", published.DAILY_Z, "fbd/fbd_dailyz.jsonl", "overall", "Zhao DailyDialog"),
    Corpus("personaz", published.PERSONA_Z, "fbd/fbd_personaz.jsonl", "overall", "Zhao PersonaChat"),
)
REPAIRED = {
    CONVAI2: Corpus("grade-convai2", CONVAI2, "grade/grade_convai2.jsonl", "coherence", "GRADE ConvAI2"),
    EMPATHETIC: Corpus(
        "grade-empathetic",
        EMPATHETIC,
        "grade/grade_empathetic.jsonl",
        "coherence",
        "GRADE EmpatheticDialogues",
    ),
}
CORRECTED = tuple(REPAIRED.get(corpus.column, corpus) for corpus in RELEASED)
SOUND = tuple(corpus for corpus in RELEASED if corpus.column != CONVAI2)
"""Released files in which every reply stands after its own context."""
EVERY = tuple(dict.fromkeys((*RELEASED, *CORRECTED)))
SETS = {"released": RELEASED, "sound": SOUND, "corrected": CORRECTED}


class Line(NamedTuple):
    """A metric in a table."""

    label: str
    metric: ds.Metric[Any]
    papers: tuple[str, ...] = ()
    """Its rows in the paper."""
    by_reply: bool = False
    """Whether a system's number is the mean over its replies, where the metric has another."""


class Cell(NamedTuple):
    """An FBD of the grid."""

    encoder: str
    layer: int
    pooling: str

    @property
    def metric(self) -> ds.Metric[Any]:
        """The distance itself."""
        return ds.Fbd(encoder=LayerEncoder(*self))


class Plan(NamedTuple):
    """What is to be computed."""

    encoders: Sequence[str]
    poolings: Sequence[str]
    lines: Sequence[Line]
    """The rows of the paper's tables."""
    pooled: Sequence[Line]
    """Every form and pooling, of the last layer."""
    cells: Sequence[Cell]
    """Every layer and pooling; none where they are not asked for."""
    seeds: int
    """Of PRD."""
    draws: int

    @property
    def metrics(self) -> list[ds.Metric[Any]]:
        """All of them, each once."""
        wanted = [line.metric for line in (*self.lines, *self.pooled)]
        wanted += [cell.metric for cell in self.cells]
        wanted += [one for name in self.encoders for one in prds(name, self.seeds)]
        wanted += [
            normality(name, pooling, of)
            for name in self.encoders
            for pooling in self.poolings
            for of in WHOSE
        ]
        return list(dict.fromkeys(wanted))


def main() -> None:
    options = read_options()
    encoders, notes = find_available(options.encoders)
    if not encoders:
        sys.exit("\n".join(notes))
    plan = make_plan(options, encoders)
    corpora = [corpus for corpus in EVERY if corpus.key in options.corpora]
    study = Study({corpus: evaluate(corpus, plan.metrics) for corpus in corpora})
    print_sections([*notes, *sections(study, plan)], options.o)
    print_conclusion(study, plan, quick=options.quick)


def read_options() -> Namespace:
    parser = benchmark_parser(__doc__)
    keys = [corpus.key for corpus in EVERY]
    parser.add_argument("--corpora", nargs="+", choices=keys, default=keys, metavar="NAME", help=str(keys))
    parser.add_argument("--encoders", nargs="+", default=[*EMBEDDED, *PAPERS], metavar="MODEL")
    parser.add_argument("--first-token", action="store_true", help="the last layer's first token only")
    parser.add_argument("--without-layers", action="store_true", help="the last layer only")
    parser.add_argument("--draws", type=int, default=200, help="number of resamples of the contexts")
    parser.add_argument("-o", metavar="FILE", help="file to which the tables are written too")
    options = parser.parse_args()
    if options.quick:
        quick_corpora(QUICK_CONTEXTS)
        options.corpora, options.encoders, options.draws = QUICK_CORPORA, EMBEDDED[:1], 5
    corpora_folder()
    return options


def make_plan(options: Namespace, encoders: Sequence[str]) -> Plan:
    poolings = POOLINGS[:1] if options.first_token or options.quick else POOLINGS
    cells = [] if options.first_token or options.without_layers else grid(encoders)
    words = word_lines()
    if options.quick:  # the last two layers, and no WordNet or word vectors
        words = [line for line in words if line.metric.name in ("bleu", "rouge")]
        cells = [cell for cell in cells if cell.pooling in poolings][:2]
    return Plan(
        encoders,
        poolings,
        lines=[*words, *encoder_lines(encoders)],
        pooled=pooling_lines(encoders, poolings),
        cells=cells,
        seeds=0 if options.first_token else 2 if options.quick else SEEDS,
        draws=options.draws,
    )


def find_available(names: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the encoders that are here or can be fetched, and a line on each other one."""
    available, notes = [], []
    for name in names:
        try:
            TransformerEncoder(name).encode(["hello"])
            available.append(name)
        except ds.DialoscopeError as problem:
            notes.append(f"Left out: {name}. {str(problem).splitlines()[0]}")
    return available, notes


def evaluate(corpus: Corpus, metrics: Sequence[ds.Metric[Any]]) -> ds.Result:
    begin = time.perf_counter()
    result = ds.evaluate(ds.read(rated_path(corpus.file)), metrics)
    seconds = time.perf_counter() - begin
    log(f"{corpus.key}: {len(result.replies)} replies, {len(result.systems)} systems, {seconds:.0f} s")
    return result


# Which metrics


def word_lines() -> list[Line]:
    """Metrics of words and of word vectors, as the paper had them and by default."""
    bleu = ds.metric("bleu:variant=nltk")
    lines = [
        Line("BLEU (nltk), mean of replies", bleu, ("BLEU",), by_reply=True),
        Line("BLEU (nltk), of all replies", bleu, ("BLEU",)),
        Line("METEOR (nltk)", ds.metric("meteor:variant=nltk"), ("METEOR",)),
        Line("METEOR (nltk, split)", ds.metric("meteor:variant=nltk,tokenizer=split"), ("METEOR",)),
        Line("METEOR 1.5", ds.metric("meteor"), ("METEOR",)),
        Line("ROUGE-L", ds.metric("rouge-l"), ("ROUGE-L",)),
        Line("ROUGE-L (stems)", ds.metric("rouge-l:stem=true"), ("ROUGE-L",)),
    ]
    for name in ("Greedy", "Average", "Extrema"):
        lines += [
            Line(label, ds.metric(name.lower() + variant), (name,))
            for label, variant in (
                (name, ""),
                (f"{name} (nlg-eval)", ":variant=nlg-eval"),
                (f"{name} (fbd)", ":variant=fbd"),
            )
        ]
    return lines


def encoder_lines(encoders: Sequence[str]) -> list[Line]:
    """Metrics of the vectors of encoders, with the paper's pooling."""
    return [
        Line(f"{label} {shown(name)}", metric(TransformerEncoder(name, pooling="first")), rows(label, name))
        for label, metric in (
            ("BERTScore", lambda encoder: ds.Bertscore(encoder=TransformerEncoder(encoder.model))),
            ("FBD", lambda encoder: ds.Fbd(encoder=encoder)),
            ("PRD", lambda encoder: ds.Prd(encoder=encoder)),
        )
        for name in encoders
    ]


def rows(label: str, encoder: str) -> tuple[str, ...]:
    """Where the paper has the same metric: with both of its encoders, or with the one that is this."""
    letter = PAPERS.get(shown(encoder))
    return (f"{label}-{letter}",) if letter else (f"{label}-B", f"{label}-R")


def shown(encoder: str) -> str:
    """A folder by its own name."""
    return Path(encoder).name


def last_layer(name: str, pooling: str) -> Encoder:
    """As the metrics have it; poolings but the paper's come from the one pass over all layers."""
    if pooling == "first":
        return TransformerEncoder(name, pooling="first")
    return LayerEncoder(name, layers_of(name), pooling)


def pooling_lines(encoders: Sequence[str], poolings: Sequence[str]) -> list[Line]:
    """Every pooling of the last layer, and every form of the distance."""
    return [
        Line(f"{label} {shown(name)} {pooling}", made(last_layer(name, pooling)))
        for label, made in FORMS.items()
        for name in encoders
        for pooling in poolings
    ]


FORMS: dict[str, Callable[[Encoder], ds.Metric[Any]]] = {
    "FBD": lambda encoder: ds.Fbd(encoder=encoder),
    "FBD debiased": lambda encoder: ds.Fbd(encoder=encoder, estimator="debiased"),
    "FBD as printed": lambda encoder: ds.Fbd(encoder=encoder, mean_term="norm"),
    "PRD": lambda encoder: ds.Prd(encoder=encoder),
}


def prds(encoder: str, seeds: int) -> list[ds.Metric[Any]]:
    """PRD with other chance."""
    return [ds.Prd(encoder=TransformerEncoder(encoder, pooling="first"), seed=seed) for seed in range(seeds)]


def grid(encoders: Sequence[str]) -> list[Cell]:
    """Every layer and pooling."""
    return [
        Cell(name, layer, pooling)
        for name in encoders
        for layer in range(layers_of(name), -1, -1)
        for pooling in POOLINGS
    ]


WHOSE = ("real", "replies")


def normality(encoder: str, pooling: str, of: str) -> ds.Metric[Any]:
    return ds.Normality(encoder=last_layer(encoder, pooling), of=of)


# What was found


@dataclass
class Study:
    """Results on all corpora, and how metrics agree with people there."""

    results: dict[Corpus, ds.Result]
    _scores: dict[Any, np.ndarray] = field(default_factory=dict)

    def has(self, corpora: Sequence[Corpus]) -> list[Corpus]:
        """Those of the corpora that were asked for."""
        return [corpus for corpus in corpora if corpus in self.results]

    def counted(self, corpora: Sequence[Corpus]) -> list[Corpus]:
        """Those with enough systems for a correlation."""
        return [one for one in self.has(corpora) if len(self.results[one].systems) >= MIN_POINTS]

    def scores(self, corpus: Corpus, line: Line) -> np.ndarray:
        """The metric's number for each system, turned so that more is better."""
        key = corpus, line.metric, line.by_reply
        if key not in self._scores:
            result = self.results[corpus]
            if line.by_reply:
                values = result.values(line.metric)
                found = [np.nanmean(values[result.rows(system)]) for system in result.systems]
            else:
                found = [result.score(line.metric, system) for system in result.systems]
            self._scores[key] = np.array(found) * (1 if line.metric.higher_is_better else -1)
        return self._scores[key]

    def people(self, corpus: Corpus, aspect: str = "") -> np.ndarray:
        """People's mean rating of each system."""
        result = self.results[corpus]
        rated = mean_ratings(result, aspect or corpus.aspect)
        return np.array([np.nanmean(rated[result.rows(system)]) for system in result.systems])

    def agreement(self, corpus: Corpus, line: Line, aspect: str = "") -> Agreement:
        """Of a metric with people."""
        return agreement(self.people(corpus, aspect), self.scores(corpus, line))

    def mean(self, corpora: Sequence[Corpus], line: Line) -> Agreement:
        """Over corpora with enough systems; undefined where one of these is."""
        found = [self.agreement(corpus, line) for corpus in self.counted(corpora)]
        return Agreement(*np.mean(found, axis=0)) if found else Agreement(math.nan, math.nan)


# Tables


def sections(study: Study, plan: Plan) -> Iterable[str]:
    """The whole text, part by part."""
    for block, corpora in (("as released", RELEASED), ("corrected", CORRECTED)):
        for kind in Agreement._fields:
            title = f"Table 3, {kind.capitalize()}, corpora {block}"
            yield titled(title, table_3(study, plan.lines, corpora, kind))
    yield titled("Every form and pooling, last layer, Spearman", grid_table(study, plan.pooled))
    if plan.cells:
        cells = [of_cell(cell) for cell in plan.cells]
        yield titled("FBD after every layer, Spearman", grid_table(study, cells))
        difference = layer_difference(study, plan)
        yield f"Largest difference from the public encoder after the last layer: {difference:.1e}."
        yield titled("FBD chosen on the other corpora, Spearman", held_out_table(study, plan))
    yield titled("How far to trust it, Spearman", trust_table(study, watched(study, plan), plan.draws))
    if plan.seeds:
        yield titled(f"PRD with {plan.seeds} seeds, Spearman", seeds_table(study, plan))
    yield titled("Table 4, normality", table_4(study, plan))
    if mixed := [corpus for corpus in study.results if corpus.key in MIXED]:
        yield titled("Two systems seen as eleven", mixture_table(study, mixed))
    if any(corpus.key == "dailyz" for corpus in study.results):
        yield titled("Table 5, Daily(Z)", table_5(study, plan.lines))


def table_3(study: Study, lines: Sequence[Line], corpora: Sequence[Corpus], kind: str) -> str:
    corpora = study.has(corpora)
    head = ["metric"]
    for corpus in corpora:
        head += [corpus.column + ("*" if corpus in REPAIRED.values() else ""), "abs.", "paper"]
    body = []
    for line in lines:
        row = [line.label]
        for corpus in corpora:
            value = getattr(study.agreement(corpus, line), kind)
            paper = [getattr(published.TABLE_3[name, corpus.column], kind) for name in line.papers]
            row += [of_two(study, corpus, line) or number(value), number(abs(value)), slashed(paper)]
        body.append([*row, *means(study, line, corpora, kind)])
    return markdown([*head, "mean", "mean abs.", "paper"], body)


def means(study: Study, line: Line, corpora: Sequence[Corpus], kind: str) -> list[str]:
    """Over the corpora with enough systems: ours with the sign, without it, and the paper's over the same."""
    counted = study.counted(corpora)
    ours = [getattr(study.agreement(corpus, line), kind) for corpus in counted]
    paper = [
        np.mean([getattr(published.TABLE_3[name, corpus.column], kind) for corpus in counted])
        for name in line.papers
    ]
    return [number(float(np.mean(ours))), number(float(np.mean(np.abs(ours)))), slashed(paper)]


def of_two(study: Study, corpus: Corpus, line: Line) -> str:
    """Two systems have an order and no correlation; empty where there are more."""
    if len(study.results[corpus].systems) != 2:
        return ""
    product = float(np.diff(study.people(corpus))[0] * np.diff(study.scores(corpus, line))[0])
    return "right" if product > 0 else "wrong" if product < 0 else "–"


def slashed(values: Iterable[float]) -> str:
    return " / ".join(map(number, values)) or "–"


def of_cell(cell: Cell) -> Line:
    return Line(f"FBD {shown(cell.encoder)} {cell.layer} {cell.pooling}", cell.metric)


def grid_table(study: Study, lines: Sequence[Line]) -> str:
    """A row for each line: every corpus, and the means over each set of them."""
    corpora = study.has(EVERY)
    head = ["metric", *(corpus.key for corpus in corpora), *(f"mean {name}" for name in SETS)]
    body = []
    for line in lines:
        each = [
            of_two(study, corpus, line) or number(study.agreement(corpus, line).spearman)
            for corpus in corpora
        ]
        ends = [study.mean(some, line).spearman for some in SETS.values()]
        body.append([line.label, *each, *map(number, ends)])
    return markdown(head, body)


def layer_difference(study: Study, plan: Plan) -> float:
    """Of an FBD of first tokens from the pass over all layers, as a share of the metric's own."""
    pairs = [
        (Line("", ds.Fbd(encoder=last_layer(name, "first"))), of_cell(Cell(name, layers_of(name), "first")))
        for name in plan.encoders
    ]
    return max(
        float(np.max(np.abs(study.scores(corpus, ours) / study.scores(corpus, public) - 1)))
        for corpus in study.results
        for public, ours in pairs
    )


class HeldOut(NamedTuple):
    """What a choice on other corpora gives on the one that was held out."""

    best: tuple[Line, ...]
    """Several where they are equally good."""
    spearman: float


def held_out(study: Study, lines: Sequence[Line], corpora: Sequence[Corpus]) -> list[HeldOut]:
    """For each corpus the best on those of other origin; of equally good ones the mean counts."""
    found = np.array([[study.agreement(one, line).spearman for one in corpora] for line in lines])
    found = np.nan_to_num(found, nan=-1)
    chosen = []
    for place, corpus in enumerate(corpora):
        others = found[:, [one.origin != corpus.origin for one in corpora]].mean(axis=1)
        best = np.flatnonzero(others >= others.max() - 1e-9)
        chosen.append(HeldOut(tuple(lines[one] for one in best), float(found[best, place].mean())))
    return chosen


def held_out_table(study: Study, plan: Plan) -> str:
    body = []
    among = candidates(plan)
    for name, some in (("sound", SOUND), ("corrected", CORRECTED)):
        corpora = study.counted(some)
        for label, lines in among.items():
            found = dict(zip(corpora, held_out(study, lines, corpora), strict=True))
            each = [chosen_cell(found.get(corpus)) for corpus in study.counted(EVERY)]
            mean = float(np.mean([one.spearman for one in found.values()]))
            body.append([f"{name}, {label} ({len(lines)} cells)", *each, number(mean)])
    names = [corpus.key for corpus in study.counted(EVERY)]
    return markdown(["chosen among", *names, "mean"], body)


def candidates(plan: Plan) -> dict[str, list[Line]]:
    """Wherever the best may be looked for."""
    every = {
        "last layer": plain(plan),
        "last layer, every form": forms(plan),
        "every layer": plain(plan) + below(plan),
    }
    return every if plan.cells else {"last layer": plain(plan), "last layer, every form": forms(plan)}


def chosen_cell(found: HeldOut | None) -> str:
    if found is None:
        return ""
    return f"{number(found.spearman)} ({', '.join(line.label.removeprefix('FBD ') for line in found.best)})"


def plain(plan: Plan) -> list[Line]:
    """FBD itself after the last layer of the embedded encoders."""
    return [line for line in plan.pooled if line.label.split()[:2] in [["FBD", name] for name in EMBEDDED]]


def forms(plan: Plan) -> list[Line]:
    """The same, debiased and as printed as well."""
    return [line for line in plan.pooled if line.label[:3] == "FBD" and line.label.split()[-2] in EMBEDDED]


def below(plan: Plan) -> list[Line]:
    """FBD after the layers below the last."""
    return [
        of_cell(cell)
        for cell in plan.cells
        if shown(cell.encoder) in EMBEDDED and cell.layer < layers_of(cell.encoder)
    ]


def watched(study: Study, plan: Plan) -> list[Line]:
    """The paper's way with the embedded encoders, and the best that was found, whichever it is."""
    best = [best_of(study, lines, some) for lines in candidates(plan).values() for some in (SOUND, CORRECTED)]
    return list(dict.fromkeys([line for line in plain(plan) if line.label.endswith("first")] + best))


def best_of(study: Study, lines: Sequence[Line], corpora: Sequence[Corpus]) -> Line:
    return max(lines, key=lambda line: np.nan_to_num(study.mean(corpora, line).spearman, nan=-1))


def trust_table(study: Study, lines: Sequence[Line], draws: int) -> str:
    """Intervals over contexts, and how often an order by chance does as well."""
    body, corpora = [], study.counted(EVERY)
    chance = {
        corpus: chance_orders(len(study.results[corpus].systems), place)
        for place, corpus in enumerate(corpora)
    }
    for line in lines:
        log(f"{line.label}: {draws} draws")
        drawn = {corpus: bootstrapped(study, corpus, line, draws) for corpus in corpora}
        row = [
            trusted(study.agreement(corpus, line).spearman, drawn[corpus], chance[corpus])
            for corpus in corpora
        ]
        for some in map(study.counted, (SOUND, CORRECTED)):
            means = [np.mean([one[corpus] for corpus in some], axis=0) for one in (drawn, chance)]
            row.append(trusted(study.mean(some, line).spearman, *means))
        body.append([line.label, *row])
    names = [f"{corpus.key} ({len(study.results[corpus].systems)} systems)" for corpus in corpora]
    return markdown(["metric", *names, "mean sound", "mean corrected"], body)


def trusted(value: float, drawn: np.ndarray, chance: np.ndarray) -> str:
    return f"{number(value)} {interval(drawn)}, {luck_of(chance, value)}"


def luck_of(lucky: np.ndarray, value: float) -> str:
    share = float(np.mean(lucky >= value - 1e-9))
    return number(share) if share >= 0.0005 else "< .001"


def bootstrapped(study: Study, corpus: Corpus, line: Line, draws: int) -> np.ndarray:
    """The correlation with contexts drawn anew, the same for all systems, ratings and distances alike."""
    result, rng = study.results[corpus], np.random.default_rng(0)
    rated = mean_ratings(result, corpus.aspect)
    tally = result.tallies[line.metric.statistics]
    items = np.unique(result.replies.item)
    found = []
    for _ in range(draws):
        times = np.zeros(len(items), int)
        np.add.at(times, rng.integers(len(items), size=len(items)), 1)
        every = np.repeat(np.arange(len(result.replies)), times[np.searchsorted(items, result.replies.item)])
        own = [every[result.replies.system[every] == place] for place in range(len(result.systems))]
        people = np.array([np.nanmean(rated[one]) for one in own])
        scores = np.array([-line.metric.score(tally.take(one)) for one in own])
        found.append(agreement(people, scores).spearman)
    return np.array(found)


def chance_orders(systems: int, seed: int, draws: int = 100_000) -> np.ndarray:
    """Spearman's correlation of random orders with one order, without ties."""
    rng = np.random.default_rng(seed)
    first = np.arange(systems)
    if math.factorial(systems) <= draws:
        every = np.array(list(permutations(range(systems))))
        orders = every[rng.permutation(np.arange(draws) % len(every))]
    else:
        orders = np.argsort(rng.random((draws, systems)), axis=1)
    squares = np.square(orders - first).sum(axis=1)
    return 1 - 6 * squares / (systems * (systems**2 - 1))


def seeds_table(study: Study, plan: Plan) -> str:
    """The lowest and the highest correlation that chance in the clusters gives."""
    corpora, body = study.counted(EVERY), []
    for name in plan.encoders:
        lines = [Line("PRD", one) for one in prds(name, plan.seeds)]
        row = [f"PRD {shown(name)}"]
        for corpus in corpora:
            found = [study.agreement(corpus, line).spearman for line in lines]
            row.append(f"{number(min(found))} … {number(max(found))}")
        body.append(row)
    return markdown(["metric", *(corpus.key for corpus in corpora)], body)


def table_4(study: Study, plan: Plan) -> str:
    corpora = study.has(EVERY)
    body = [
        [f"{shown(name)} {pooling}, {of}"]
        + [normal(study.results[corpus], normality(name, pooling, of)) for corpus in corpora]
        for name in plan.encoders
        for pooling in plan.poolings
        for of in WHOSE
    ]
    body += [[f"{name} (paper)", *paper_normal(name, corpora)] for name in ("BERT", "RoBERTa")]
    return markdown(["encoder", *(corpus.key for corpus in corpora)], body)


def paper_normal(encoder: str, corpora: Sequence[Corpus]) -> list[str]:
    return [
        "–" if corpus in REPAIRED.values() else spread(*published.TABLE_4[encoder, corpus.column])
        for corpus in corpora
    ]


def normal(result: ds.Result, metric: ds.Metric[Any]) -> str:
    """Mean and standard deviation over dimensions; of replies those of the systems, averaged."""
    tally = result.tallies[metric.statistics]
    systems = result.systems if metric.of == "replies" else result.systems[:1]
    of = [tally.take(result.rows(system)) for system in systems]
    return spread(
        float(np.mean([metric.score(one) for one in of])),
        float(np.mean([metric.notes(one).numbers["sd"] for one in of])),
    )


def spread(mean: float, deviation: float) -> str:
    return f"{mean:.2f} ± {deviation:.2f}".replace("0.", ".")


def table_5(study: Study, lines: Sequence[Line]) -> str:
    corpus = next(corpus for corpus in study.results if corpus.key == "dailyz")
    head = ["metric"]
    for aspect in published.ASPECTS:
        head += [f"{aspect}, Spr.", "paper", "Pr.", "paper"]
    body = []
    for line in lines:
        row = [line.label]
        for aspect in published.ASPECTS:
            ours = study.agreement(corpus, line, aspect)
            papers = [published.TABLE_5[name, aspect] for name in line.papers]
            row += [number(ours.spearman), slashed(one.spearman for one in papers)]
            row += [number(ours.pearson), slashed(one.pearson for one in papers)]
        body.append(row)
    return markdown(head, body)


MIXED = ("dailyh", "empathetic")
"""Files whose systems but the first two are mixtures of these."""


def mixture_table(study: Study, corpora: Sequence[Corpus]) -> str:
    """How far people's ratings follow from nothing but how much of the first system a mixture holds."""
    body = []
    for corpus in corpora:
        shares = np.array(shares_of_first(corpus, study.results[corpus].systems))
        found = agreement(study.people(corpus), shares)
        body.append([corpus.key, ", ".join(f"{share:.0%}" for share in sorted(shares)), *map(number, found)])
    return markdown(["corpus", "replies that are the first system's", "Spearman", "Pearson"], body)


def shares_of_first(corpus: Corpus, systems: Sequence[str]) -> list[float]:
    """The share of each system's replies that the first system gave, of those where the first two differ."""
    replies: dict[str, list[str]] = {system: [] for system in systems}
    for example in ds.read(rated_path(corpus.file)):
        replies[example.system].append(example.response)
    said = np.array([replies[system] for system in systems])
    apart = said[0] != said[1]
    return [float(share) for share in (said == said[0])[:, apart].mean(axis=1)]


def print_conclusion(study: Study, plan: Plan, *, quick: bool) -> None:
    """Print the best of all that was tried with embedded encoders beside the bar, and end the program."""
    if not plain(plan) or not study.counted(CORRECTED):
        sys.exit("Without an embedded encoder and a corrected corpus nothing can be compared with the bar.")
    for name, lines in candidates(plan).items():
        for kind, corpora in SETS.items():
            best = best_of(study, lines, corpora)
            print(f"best of {name}, {kind}: {number(study.mean(corpora, best).spearman)} ({best.label})")
    every = list(dict.fromkeys(line for lines in candidates(plan).values() for line in lines))
    sound, corrected = (study.mean(each, best_of(study, every, each)).spearman for each in (SOUND, CORRECTED))
    print(
        f"best mean Spearman of FBD with an embedded encoder: {corrected:.3f} over the corrected corpora, "
        f"{sound:.3f} over the sound ones as released; bar {BAR}: {ok_or_short(corrected >= BAR)}"
    )
    equal = not plan.cells or layer_difference(study, plan) <= EQUAL
    sys.exit(not (equal and (quick or corrected >= BAR)))


if __name__ == "__main__":
    main()
