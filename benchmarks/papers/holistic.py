"""Tables 3, 4, 5, 8 and 9 of Pang et al. (2020), holistic evaluation of dialogue, again.

    DIALOSCOPE_CORPORA=FOLDER python benchmarks/papers/holistic.py [-o TABLES.md] [--draws 1000] [--quick]
    ... [--at smollm2-dialog=FOLDER nli=FOLDER] [--without-others]

Correlations of coherence, fluency and self-consistency with ratings of the replies that the authors released,
with the embedded models, without and with tuning, beside the paper's; the entropies of its groups of replies,
whose ratings were never released; agreement of the raters; and the same language models on other rated
replies. docs/papers/holistic.md has the results and what falls short. With --quick, models are fakes, and
only the agreement of the raters is compared with its bar.
"""

import json
import math
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from scipy.stats import rankdata

import dialoscope as ds
from benchmarks._shared import benchmark_parser, corpora_folder, skip_without_corpora
from benchmarks.papers.published import Agreement
from benchmarks.papers.raters import PAPER as PAPER_RATERS
from benchmarks.papers.raters import SETS, Raters, agreement_of_raters, label_of, pang_path
from benchmarks.papers.tables import (
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
from dialoscope.models.classifier import TransformerClassifier
from dialoscope.models.fakes import FakeClassifier, FakeLanguageModel
from dialoscope.models.language_model import TransformerLanguageModel
from dialoscope.models.protocols import Backend, Classifier, Continuation, LanguageModel, Pair

# Which models

FAKE = FakeLanguageModel()
"""The language model of a quick run."""
UNTUNED, DIALOG, CHAT = LANGUAGE_MODELS = ("smollm2", "smollm2-dialog", "smollm2-chat")
"""Not tuned; tuned on DailyDialog, from which the rated replies are; tuned on chit-chat and films."""
NLI = "nli"

# What is evaluated, named before anything is computed

JUDGED = DIALOG
"""The paper tuned its language model on DailyDialog."""
JUDGED_COHERENCE = "coherence"
"""As the paper defines it: the mean over the reply's tokens, normalised."""
JUDGED_FLUENCY = "fluency, sum"
"""The sum: of an untuned model the mean was known not to follow people on these replies. Both are shown."""
JUDGED_OVER = "last"
"""As the authors' code does it; the paper's text says the mean, which is shown."""

TOLERANCE = 0.01
"""The largest difference of the raters' agreement from the paper's."""
DEFAULT_WITHIN = 0.03
"""The largest difference at which the model with the freer licence is the default."""


class Bar(NamedTuple):
    """A value that must be reached, and a better one that is hoped for."""

    least: float
    goal: float = math.nan


BARS = {
    ("coherence", "pearson"): Bar(0.70, 0.75),
    ("coherence", "spearman"): Bar(0.75, 0.80),
    ("fluency", "pearson"): Bar(0.80, 0.85),
    ("fluency", "spearman"): Bar(0.82, 0.85),
    ("self-consistency, WS", "spearman"): Bar(0.55),
    ("self-consistency, CTG", "spearman"): Bar(0.64),
}

# What the paper has


RUBER = Agreement(spearman=0.51, pearson=0.47)
PAPER_COHERENCE = {UNTUNED: Agreement(0.65, 0.59), DIALOG: Agreement(0.76, 0.67)}
PAPER_FLUENCY = {UNTUNED: Agreement(0.32, 0.43), DIALOG: Agreement(0.81, 0.82)}
PAPER_CONSISTENCY = {"none": Agreement(0.27, 0.26), "WS": Agreement(0.64, 0.59), "CTG": Agreement(0.66, 0.65)}
PAPER_DIVERSITY = {
    "WS": (Agreement(0.69, 0.77), Agreement(0.67, 0.76), Agreement(0.61, 0.71)),
    "CTG": (Agreement(0.72, 0.72), Agreement(0.72, 0.72), Agreement(0.66, 0.66)),
    "baseline": (Agreement(0.32, 0.46), Agreement(0.33, 0.45), Agreement(0.33, 0.43)),
}
"""For n = 1, 2, 3, with ratings of diversity that were never released."""


class Rated(NamedTuple):
    """Other replies that people rated."""

    name: str
    file: str
    aspects: tuple[str, ...]
    """The first is the one that the mean over corpora counts."""


OTHERS = (
    Rated("zhao dailydialog", "zhao2020/zhao_dailydialog.jsonl", ("overall", "relevance")),
    Rated("zhao personachat", "zhao2020/zhao_personachat.jsonl", ("overall",)),
    Rated("grade convai2", "grade/grade_convai2.jsonl", ("coherence",)),
    Rated("grade dailydialog", "grade/grade_dailydialog.jsonl", ("coherence",)),
    Rated("grade empathetic", "grade/grade_empathetic.jsonl", ("coherence",)),
    Rated("usr personachat", "usr_personachat/data.jsonl", ("Overall", "Maintains Context")),
)

# Which metrics


class Line(NamedTuple):
    """A metric with a setting, for any language model."""

    label: str
    made: Callable[[LanguageModel], ds.Metric[Any]]


def as_the_authors(metric: str, lm: LanguageModel) -> ds.Metric[Any]:
    """The variant of their code, with another model."""
    settings: dict[str, Any] = {"lm": replace(lm, start="none") if lm is not FAKE else lm}
    return replace(ds.metric(f"{metric}:variant=pang-code"), **settings)


COHERENCE = (
    Line("coherence", lambda lm: ds.Coherence(lm=lm)),
    Line("coherence, raw", lambda lm: ds.Coherence(lm=lm, scale="raw")),
    Line("coherence, sum", lambda lm: ds.Coherence(lm=lm, length="sum")),
    Line("coherence, join=space", lambda lm: ds.Coherence(lm=lm, join="space")),
    Line("coherence, pang-code", partial(as_the_authors, "coherence")),
    Line("pmi", lambda lm: ds.Pmi(lm=lm)),
    Line("pmi, sum", lambda lm: ds.Pmi(lm=lm, length="sum")),
    Line("pmi, normalised", lambda lm: ds.Pmi(lm=lm, scale="normalised")),
)
FLUENCY = (
    Line("fluency, sum", lambda lm: ds.Fluency(lm=lm, length="sum")),
    Line("fluency", lambda lm: ds.Fluency(lm=lm)),
    Line("fluency, raw", lambda lm: ds.Fluency(lm=lm, scale="raw")),
    Line("fluency, pang-code", partial(as_the_authors, "fluency")),
)
ELSEWHERE = tuple(line for line in COHERENCE if line.label in ("coherence", "pmi", "pmi, normalised"))
WORDS = ds.metric("words")
OVER: tuple[Literal["last", "mean", "max"], ...] = ("last", "mean", "max")
GRAMS = (1, 2, 3)


@dataclass(frozen=True)
class Stored:
    """What roberta-large-mnli said to the authors, as they stored it."""

    name: ClassVar[str] = "stored"
    version: ClassVar[int] = 1
    labels: ClassVar[tuple[str, ...]] = ("contradiction", "other")

    told: Mapping[Pair, float] = field(compare=False)

    @property
    def fingerprint(self) -> str:
        """Of nothing that could change."""
        return "stored"

    def classify(self, pairs: Sequence[Pair]) -> np.ndarray:
        """How probable each class was for each pair."""
        against = np.array([self.told[pair] for pair in pairs])
        return np.stack([against, 1 - against], axis=1)


def consistency(nli: Classifier) -> dict[str, ds.Metric[Any]]:
    return {over: ds.SelfConsistency(nli=nli, over=over) for over in OVER}


def diversity(n: int) -> list[ds.Metric[Any]]:
    """As it is defined, and as the authors compute it."""
    return [ds.metric(f"diversity-{n}"), ds.metric(f"diversity-{n}:variant=pang-code")]


# From the start to the end


class Models(NamedTuple):
    """The available models."""

    lms: dict[str, LanguageModel]
    nlis: dict[str, Classifier]
    notes: list[str]
    """A line on each missing model."""


FAKES = Models({DIALOG: FAKE}, {NLI: FakeClassifier()}, ["All models are fakes."])


class Study(NamedTuple):
    """What was found on each file."""

    coherence: ds.Result
    fluency: ds.Result
    consistency: ds.Result
    stored: ds.Result
    diversity: ds.Result
    unrelated: ds.Result
    """The groups of both kinds together, for the baseline."""
    others: dict[Rated, ds.Result]


def main() -> None:
    options = read_options()
    models = FAKES if options.quick else find_available(options.at)
    if JUDGED not in models.lms or NLI not in models.nlis:
        sys.exit("\n".join([*models.notes, "Without these models nothing can be compared with the bars."]))
    study = make_study(models, () if options.without_others or options.quick else OTHERS)
    print_sections([*models.notes, *sections(study, models, options.draws)], options.o)
    print_conclusion(study, models, quick=options.quick)


def read_options() -> Namespace:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--at", nargs="+", default=[], metavar="NAME=FOLDER", help="folders of models")
    parser.add_argument("--without-others", action="store_true", help="the authors' replies only")
    parser.add_argument("--draws", type=int, default=1000, help="number of resamples of the replies")
    parser.add_argument("-o", metavar="FILE", help="file to which the tables are written too")
    options = parser.parse_args()
    options.at = dict(text.split("=", 1) for text in options.at if "=" in text)
    if options.quick:
        skip_without_corpora()
        options.draws = 5
    corpora_folder()
    if unknown := set(options.at) - {*LANGUAGE_MODELS, NLI}:
        parser.error(f"there is no model {', '.join(sorted(unknown))}: {', '.join((*LANGUAGE_MODELS, NLI))}")
    return options


def find_available(folders: Mapping[str, str]) -> Models:
    """Return the models that are here or can be fetched, each tried with a word."""
    models = Models({}, {}, [])
    for name in LANGUAGE_MODELS:
        lm = TransformerLanguageModel(folders.get(name, name))
        if responds(name, models.notes, partial(lm.log_probabilities, [Continuation("", "hello")])):
            models.lms[name] = lm
    nli = TransformerClassifier(folders.get(NLI, NLI))
    if responds(NLI, models.notes, partial(nli.classify, [Pair("hello", "hello")])):
        models.nlis[NLI] = nli
    return models


def responds(name: str, notes: list[str], ask: Callable[[], Any]) -> bool:
    """Return whether a model can be used; if not, add a line to the notes."""
    try:
        ask()
    except ds.DialoscopeError as problem:
        notes.append(f"Left out: {name}. {str(problem).splitlines()[0]}")
        return False
    return True


def make_study(models: Models, others: Sequence[Rated]) -> Study:
    """Score each file once with all metrics."""
    lms, nli = models.lms.values(), consistency(models.nlis[NLI]).values()
    groups = [metric for n in GRAMS for metric in diversity(n)]
    by_set = partial(ds.read, columns={"system": "augmentation"})
    consistency_file, groups_file = pang_path("self_consistency"), pang_path("diversity_groups")
    return Study(
        evaluate(ds.read(pang_path("coherence")), [line.made(lm) for line in COHERENCE for lm in lms]),
        evaluate(ds.read(pang_path("fluency")), [line.made(lm) for line in FLUENCY for lm in lms]),
        evaluate(by_set(consistency_file), list(nli)),
        evaluate_stored(consistency_file),
        evaluate(by_set(groups_file), groups),
        evaluate(ds.read(groups_file), groups),
        {
            rated: evaluate(
                ds.read(rated_path(rated.file)), [line.made(lm) for line in ELSEWHERE for lm in lms]
            )
            for rated in others
        },
    )


def evaluate(replies: ds.Replies, metrics: Sequence[ds.Metric[Any]]) -> ds.Result:
    result = ds.evaluate(replies, [*metrics, WORDS])
    log(f"{len(result.replies)} replies, {len(metrics)} metrics, {result.provenance.seconds:.0f} s")
    return result


def evaluate_stored(file: Path) -> ds.Result:
    """The one set whose stored judgements are of the replies."""
    with file.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    judged = [one for row in rows if not row["gold"]["gold_is_corrupt"] for one in row["gold"]["author_nli"]]
    told = {Pair(one["premise"], one["hypothesis"]): one["p_contradiction"] for one in judged}
    examples = [one for one in ds.read(file, columns={"system": "augmentation"}) if one.system == "WS"]
    return ds.evaluate(examples, list(consistency(Stored(told)).values()))


# Agreement


class Agreeing(NamedTuple):
    """Scores of replies beside people's ratings of them."""

    people: np.ndarray
    scores: np.ndarray

    def some(self, places: np.ndarray) -> "Agreeing":
        """Only these replies."""
        return Agreeing(self.people[places], self.scores[places])

    @property
    def defined(self) -> "Agreeing":
        """Where there is a score and a rating."""
        return self.some(np.flatnonzero(~np.isnan(self.people + self.scores)))

    @property
    def agreement(self) -> Agreement:
        """Over the replies that have both."""
        return agreement(*self.defined)


def agreeing(result: ds.Result, metric: ds.Metric[Any], aspect: str) -> Agreeing:
    """More words count as less."""
    sign = -1 if metric == WORDS else 1
    return Agreeing(mean_ratings(result, aspect), sign * result.values(metric))


def drawn(found: Agreeing, draws: int) -> list[Agreement]:
    """With other replies of the same kind."""
    rng = np.random.default_rng(0)
    size = len(found.people)
    return [found.some(rng.integers(size, size=size)).agreement for _ in range(draws)]


def apart_from_length(result: ds.Result, found: Agreeing, aspect: str) -> float:
    """Spearman's correlation with what the number of words says taken out of both: partial, of ranks."""
    words = agreeing(result, WORDS, aspect).scores
    ranks = rankdata([*found, words], axis=1)
    (_, both, one), (_, _, other), _ = np.corrcoef(ranks)
    rest = (1 - one**2) * (1 - other**2)
    return float((both - one * other) / math.sqrt(rest)) if rest > 1e-9 else math.nan


def all_raters(study: Study) -> dict[str, Raters]:
    """By the file, or by the set of it."""
    files = {"coherence": study.coherence, "fluency": study.fluency}
    reports = {name: ds.raters(result)[name] for name, result in files.items()}
    for name in SETS:
        reports[name] = ds.raters(study.consistency, system=name)["self_consistency"]
    return {name: agreement_of_raters(aspect) for name, aspect in reports.items()}


def in_set(result: ds.Result, metric: ds.Metric[Any], name: str) -> Agreeing:
    """Self-consistency on one of its sets."""
    return agreeing(result, metric, "self_consistency").some(result.rows(name))


def elsewhere(study: Study, line: Line, lm: LanguageModel) -> float:
    """The mean Spearman over other corpora, by the first aspect of each."""
    found = [
        agreeing(result, line.made(lm), one.aspects[0]).agreement.spearman
        for one, result in study.others.items()
    ]
    return float(np.mean(found)) if found else math.nan


# Tables


def sections(study: Study, models: Models, draws: int) -> Iterable[str]:
    """The whole text, part by part."""
    yield titled("Models", table_of_models(models))
    judged = JUDGED_COHERENCE, PAPER_COHERENCE
    rows = [["RUBER with BERT", "–", *[""] * 5, *both_of_paper(RUBER)]]
    rows += quality(study.coherence, "coherence", COHERENCE, models, judged, draws)
    yield titled("Table 3: coherence", markdown(QUALITY, rows))
    judged = JUDGED_FLUENCY, PAPER_FLUENCY
    rows = quality(study.fluency, "fluency", FLUENCY, models, judged, draws)
    yield titled("Table 4: fluency", markdown(QUALITY, rows))
    yield titled("Table 5: diversity, entropies", table_5(study))
    yield titled("Table 8: self-consistency", table_8(study, models, draws))
    yield titled("Tables 3, 4 and 9: people among themselves", table_9(study))
    if study.others:
        yield titled("Other rated replies, Spearman", table_of_others(study, models))
    if CHAT in models.lms:
        yield titled("Which tuned model is the default", table_of_default(study, models))


QUALITY = (
    "metric",
    "model",
    "Pr.",
    "Spr.",
    "machine replies, Pr.",
    "Spr.",
    "Spr. apart from length",
    "paper, Pr.",
    "Spr.",
)


def quality(
    result: ds.Result,
    aspect: str,
    lines: Sequence[Line],
    models: Models,
    judged: tuple[str, Mapping[str, Agreement]],
    draws: int,
) -> list[list[str]]:
    """A row for each setting and model; intervals and the paper's numbers where the setting is judged."""
    setting, paper = judged
    machine = result.rows("machine (unlabelled)")
    rows = []
    for label, name, metric in [
        *((line.label, name, line.made(lm)) for line in lines for name, lm in models.lms.items()),
        ("fewer words", "–", WORDS),
    ]:
        found = agreeing(result, metric, aspect)
        counts = label == setting
        of = with_intervals(found, draws) if counts else both(found.agreement)
        beside = both_of_paper(paper[name]) if counts and name in paper else ["", ""]
        apart = number(apart_from_length(result, found, aspect))
        shown = f"**{label}**" if counts and name == JUDGED else label
        rows.append([shown, name, *of, *both(found.some(machine).agreement), apart, *beside])
    return rows


def both(found: Agreement) -> list[str]:
    return [number(found.pearson), number(found.spearman)]


def of_paper(*values: float) -> list[str]:
    """The two digits that the paper has."""
    return [f"{value:.2f}".removeprefix("0") for value in values]


def both_of_paper(found: Agreement) -> list[str]:
    return of_paper(found.pearson, found.spearman)


def with_intervals(found: Agreeing, draws: int) -> list[str]:
    others = np.array(drawn(found, draws)).T
    around = dict(zip(Agreement._fields, map(interval, others), strict=True))
    return [f"{number(getattr(found.agreement, kind))} {around[kind]}" for kind in ("pearson", "spearman")]


def table_of_models(models: Models) -> str:
    """Which weights these numbers are from."""
    every: dict[str, Backend] = {**models.lms, **models.nlis}
    return markdown(
        ["model", "fingerprint begins"], [[name, one.fingerprint[:12]] for name, one in every.items()]
    )


def table_5(study: Study) -> str:
    parts = ("bits", "unrelated", "within", "between")
    head = ["queries", "n", *parts, *(f"pang-code, {part.replace('bits', 'nats')}" for part in parts)]
    body = []
    for name, paper in PAPER_DIVERSITY.items():
        for n, people in zip(GRAMS, paper, strict=True):
            cells = [cell for metric in diversity(n) for cell in entropies(study, metric, name)]
            body.append([name, str(n), *cells, *both_of_paper(people)])
    return markdown([*head, "paper, Pr. with people", "Spr."], body)


def entropies(study: Study, metric: ds.Metric[Any], name: str) -> list[str]:
    """Of a set; the baseline has nothing but the entropy of replies to unrelated queries."""
    if name not in study.diversity.systems:
        result = study.unrelated
        return [digits(beside(result, metric, result.systems[0])["unrelated"]), "", "", ""]
    found, around = study.diversity, study.diversity.interval(metric, name)
    value = f"{found.score(metric, name):.2f} [{around.low:.2f}, {around.high:.2f}]"
    parts = beside(found, metric, name)
    return [value, *(digits(parts[part]) for part in ("unrelated", "within", "between"))]


def beside(result: ds.Result, metric: ds.Metric[Any], system: str) -> Mapping[str, float]:
    return metric.notes(result.tallies[metric.statistics].take(result.rows(system))).numbers


def digits(value: float) -> str:
    return f"{value:.2f}"


def table_8(study: Study, models: Models, draws: int) -> str:
    head = ["model", "over", *(f"{name}, {kind}" for name in SETS for kind in ("Pr.", "Spr."))]
    body = []
    for over, metric in consistency(models.nlis[NLI]).items():
        cells = [with_intervals(in_set(study.consistency, metric, name), draws) for name in SETS]
        shown = f"**{over}**" if over == JUDGED_OVER else over
        body.append([NLI, shown, *(cell for pair in cells for cell in pair)])
    words = [both(in_set(study.consistency, WORDS, name).agreement) for name in SETS]
    body.append(["fewer words", "–", *(cell for pair in words for cell in pair)])
    body += [
        ["roberta-large-mnli, as stored", over, "–", "–", *both(stored(study, over)), "–", "–"]
        for over in OVER
    ]
    papers = [cell for name in SETS for cell in both_of_paper(PAPER_CONSISTENCY[name])]
    return markdown(head, [*body, ["roberta-large-mnli (paper)", "last", *papers]])


def stored(study: Study, over: str) -> Agreement:
    metric = consistency(Stored({}))[over]
    people = mean_ratings(study.consistency, "self_consistency")[study.consistency.rows("WS")]
    return Agreeing(people, study.stored.values(metric)).agreement


def table_9(study: Study) -> str:
    head = ["replies"]
    for kind in ("Pr. mean", "Pr. max", "Spr. mean", "Spr. max"):
        head += [kind, "paper"]
    body = []
    for name, found in all_raters(study).items():
        pairs = zip(map(number, found), of_paper(*PAPER_RATERS[name]), strict=True)
        body.append([label_of(name), *(cell for pair in pairs for cell in pair)])
    return markdown(head, body)


def table_of_others(study: Study, models: Models) -> str:
    head = ["metric", "model"]
    head += [f"{one.name}, {aspect}" for one in study.others for aspect in one.aspects]
    body = []
    for line in ELSEWHERE:
        for name, lm in models.lms.items():
            cells = [
                number(agreeing(result, line.made(lm), aspect).agreement.spearman)
                for one, result in study.others.items()
                for aspect in one.aspects
            ]
            body.append([line.label, name, *cells, number(elsewhere(study, line, lm))])
    cells = [
        number(agreeing(result, WORDS, aspect).agreement.spearman)
        for one, result in study.others.items()
        for aspect in one.aspects
    ]
    return markdown([*head, "mean of six"], [*body, ["fewer words", "–", *cells, ""]])


def table_of_default(study: Study, models: Models) -> str:
    """How far the model with the freer licence is behind."""
    body = []
    for label, value in compared(study).items():
        dialog, chat = value(models.lms[DIALOG]), value(models.lms[CHAT])
        near = "yes" if dialog - chat <= DEFAULT_WITHIN else "no"
        body.append([label, number(dialog), number(chat), number(chat - dialog), near])
    return markdown(["where", DIALOG, CHAT, "difference", f"within {number(DEFAULT_WITHIN)}"], body)


def compared(study: Study) -> dict[str, Callable[[LanguageModel], float]]:
    """What the two are compared by."""
    every: dict[str, Callable[[LanguageModel], float]] = {}
    for aspect, result, lines in (
        ("coherence", study.coherence, (COHERENCE[0], *ELSEWHERE[1:])),
        ("fluency", study.fluency, FLUENCY[:1]),
    ):
        for line in lines:
            for kind in ("pearson", "spearman"):
                every[f"pang2020, {line.label}, {kind.capitalize()}"] = partial(
                    found_by, result, line, aspect, kind
                )
    if study.others:
        every |= {
            f"mean of six others, {line.label}, Spearman": partial(elsewhere, study, line)
            for line in ELSEWHERE
        }
    return every


def found_by(result: ds.Result, line: Line, aspect: str, kind: str, lm: LanguageModel) -> float:
    return float(getattr(agreeing(result, line.made(lm), aspect).agreement, kind))


# Against the bars


def print_conclusion(study: Study, models: Models, *, quick: bool) -> None:
    """Print each bar on a line and the number of reached ones on the last, and end the program."""
    short = []
    for (aspect, kind), bar in BARS.items():
        value = float(getattr(judged_agreement(study, models, aspect), kind))
        reached = value >= bar.least
        goal = "" if math.isnan(bar.goal) else f", goal {bar.goal:.2f}: {ok_or_short(value >= bar.goal)}"
        print(
            f"{aspect}, {kind.capitalize()}: {value:.3f}; bar {bar.least:.2f}: {ok_or_short(reached)}{goal}"
        )
        short += [] if reached else [f"{aspect} {kind.capitalize()} {value:.3f} ({bar.least:.2f})"]
    off = max(
        float(np.max(np.abs(np.subtract(raters, PAPER_RATERS[name]))))
        for name, raters in all_raters(study).items()
    )
    is_near = off <= TOLERANCE
    print(f"agreement of raters: at most {off:.4f} from the paper; bar {TOLERANCE}: {ok_or_short(is_near)}")
    short += [] if is_near else [f"agreement of raters {off:.4f} ({TOLERANCE})"]
    count = len(BARS) + 1
    ending = f"; short: {'; '.join(short)}" if short else ": ok"
    print(f"{count - len(short)} of {count} bars reached{ending}")
    sys.exit(not is_near if quick else bool(short))


def judged_agreement(study: Study, models: Models, what: str) -> Agreement:
    """By what was named before anything was computed."""
    lm = models.lms[JUDGED]
    if what == "coherence":
        return judged_line(COHERENCE, JUDGED_COHERENCE, study.coherence, what, lm)
    if what == "fluency":
        return judged_line(FLUENCY, JUDGED_FLUENCY, study.fluency, what, lm)
    metric = consistency(models.nlis[NLI])[JUDGED_OVER]
    return in_set(study.consistency, metric, what.removeprefix("self-consistency, ")).agreement


def judged_line(
    lines: Sequence[Line], label: str, result: ds.Result, aspect: str, lm: LanguageModel
) -> Agreement:
    (line,) = [line for line in lines if line.label == label]
    return agreeing(result, line.made(lm), aspect).agreement


if __name__ == "__main__":
    main()
