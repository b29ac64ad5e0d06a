"""Tables 3, 4 and 9 of Pang et al. (2020), agreement of raters, and section 5.5, correlations of aspects.

    DIALOSCOPE_CORPORA=FOLDER python benchmarks/papers/raters.py [-o TABLES.md] [--draws 1000] [--quick]

Agreement of raters with one another on the released replies beside the paper's; the same for the other rated
corpora; outliers among the raters; and correlations of the rated aspects. With --quick there are few
resamples. docs/papers/raters.md has the results.
"""

import json
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

import dialoscope as ds
from benchmarks._shared import benchmark_parser, corpora_folder, skip_without_corpora
from benchmarks.papers.tables import ok_or_short, print_sections, rated_path, titled
from dialoscope.analysis.estimate import Estimate
from dialoscope.analysis.raters.rater_report import AspectReliability
from dialoscope.core.render.markdown import markdown_table
from dialoscope.core.render.sections import Grid, Quantity
from dialoscope.runs.rating_columns import Ratings

TOLERANCE = 0.006
"""The largest difference from the paper: its two digits, and a little for its rounding."""
TOLERANCE_BEFORE = 0.002
"""The largest difference from what was computed from the same files before."""


class Raters(NamedTuple):
    """Agreement of each rater with the mean of the others: the mean and the maximum over raters."""

    pearson_mean: float
    pearson_max: float
    spearman_mean: float
    spearman_max: float


SETS = ("none", "WS", "CTG")
"""Dialogues as they are, with synonyms from WordNet, and with queries from a generator."""
PAPER = {
    "coherence": Raters(0.61, 0.91, 0.57, 0.87),
    "fluency": Raters(0.70, 0.88, 0.70, 0.85),
    "none": Raters(0.61, 0.75, 0.62, 0.74),
    "WS": Raters(0.64, 0.80, 0.64, 0.79),
    "CTG": Raters(0.65, 0.75, 0.66, 0.76),
}
BEFORE = {
    "coherence": (0.607, 0.909),
    "fluency": (0.697, 0.877),
    "none": (0.612, 0.754),
    "WS": (0.641, 0.796),
    "CTG": (0.654, 0.752),
}
"""Pearson's mean and maximum in the notes beside the files."""
SECTION_5_5 = 0.42
"""The correlation of fluency with coherence on 50 dialogues and five raters; other pairs are below .1."""
DIALOGUES, PEOPLE = 50, 5
OTHERS = {
    "grade, DailyDialog": "grade/grade_dailydialog.jsonl",
    "grade, EmpatheticDialogues": "grade/grade_empathetic.jsonl",
    "grade, ConvAI2": "grade/grade_convai2.jsonl",
    "usr": "usr_personachat/data.jsonl",
    "zhao, DailyDialog": "zhao2020/zhao_dailydialog.jsonl",
}


class Study(NamedTuple):
    """All results."""

    pang: dict[str, AspectReliability]
    """Keys are aspects, or the sets that self-consistency was rated on."""
    both: ds.Raters
    """Coherence and fluency of the same replies."""
    small: dict[str, np.ndarray]
    """Their correlation in random samples of the size of section 5.5, by the replies that are sampled."""
    others: dict[str, ds.Raters]


def main() -> None:
    """Print the tables, and each bar on a line."""
    parser = benchmark_parser(__doc__)
    parser.add_argument("-o", metavar="FILE", help="file to which the tables are written too")
    parser.add_argument("--draws", type=int, default=1000, help="number of resamples of the replies")
    options = parser.parse_args()
    if options.quick:
        skip_without_corpora()
    corpora_folder()
    study = make_study(40 if options.quick else options.draws)
    print_sections(sections(study), options.o)
    print_conclusion(study)


def make_study(draws: int) -> Study:
    """Read each file and analyse its ratings."""
    coherence, fluency = (evaluate(pang_path(name)) for name in ("coherence", "fluency"))
    consistency = evaluate(pang_path("self_consistency"), columns={"system": "augmentation"})
    ratings = [*ds.read_ratings(pang_path("coherence")), *fluency_of_coherence_replies()]
    joined = Ratings.of(coherence.replies, ratings)
    return Study(
        {
            "coherence": ds.raters(coherence)["coherence"],
            "fluency": ds.raters(fluency)["fluency"],
            **{name: ds.raters(consistency, system=name)["self_consistency"] for name in SETS},
        },
        ds.raters(coherence, joined, draws=draws, normalise="scale"),
        {
            "all replies": sample_small(joined, np.arange(len(coherence.replies)), draws),
            "machine replies": sample_small(joined, coherence.rows("machine (unlabelled)"), draws),
        },
        {name: ds.raters(evaluate(rated_path(file)), draws=draws) for name, file in OTHERS.items()},
    )


def fluency_of_coherence_replies() -> list[ds.Rating]:
    """Return ratings of fluency with the ids that the replies have in the file of coherence."""
    with pang_path("fluency").open(encoding="utf-8") as lines:
        ids = {row["id"]: row["meta"]["coherence_id"] for row in map(json.loads, lines)}
    return [replace(rating, id=ids[rating.id]) for rating in ds.read_ratings(pang_path("fluency"))]


def sample_small(ratings: Ratings, rows: np.ndarray, draws: int) -> np.ndarray:
    """Correlate coherence with fluency in samples of as many replies and raters as section 5.5 has."""
    grids = []
    for aspect in ("coherence", "fluency"):
        judgements = ratings.of_aspect(aspect)
        grid = np.full((1 + judgements.reply.max(), len(judgements.raters)), np.nan)
        grid[judgements.reply, judgements.rater] = judgements.value
        grids.append(grid)
    rng, coefficients = np.random.default_rng(0), []
    for _ in range(draws):
        sample = np.ix_(
            rng.choice(rows, DIALOGUES, replace=False), rng.choice(grids[0].shape[1], PEOPLE, replace=False)
        )
        coefficients.append(np.corrcoef(*(grid[sample].mean(axis=1) for grid in grids))[0, 1])
    return np.array(coefficients)


def pang_path(name: str) -> Path:
    """Return the path of a file of the paper's authors."""
    return rated_path(f"pang2020/{name}.jsonl")


def evaluate(file: Path, **options: dict[str, str]) -> ds.Result:
    """Return a result with the cheapest of metrics, since only the ratings are used."""
    return ds.evaluate(ds.read(file, **options), ["words"])


def agreement_of_raters(aspect: AspectReliability) -> Raters:
    """Return the four numbers of the paper's tables."""
    kinds = [f"{kind} {which}" for kind in ("pearson", "spearman") for which in ("mean", "max")]
    return Raters(*(aspect.numbers[kind].value for kind in kinds))


def sections(study: Study) -> Iterable[str]:
    """Yield the tables, each with its title."""
    yield titled("Tables 3, 4 and 9: agreement of raters", inter_rater_table(study))
    yield titled("Outliers", outlier_table(study))
    yield titled("Reliability", reliability_table(study))
    yield titled("Section 5.5: correlations of aspects", aspect_table(study))
    yield titled(f"Coherence with fluency, from {DIALOGUES} replies and {PEOPLE} raters", sample_table(study))
    yield titled("Ratings on 0 to 1", scale_table(study))


def format_coefficient(value: float) -> str:
    """Return three digits without the zero before the point."""
    return "–" if np.isnan(value) else f"{value:.3f}".replace("0.", ".", 1)


def inter_rater_table(study: Study) -> str:
    """Return our numbers beside the paper's."""
    head = ["replies"]
    for kind in ("Pr. mean", "Pr. max", "Spr. mean", "Spr. max"):
        head += [kind, "paper"]
    body = []
    for name, aspect in study.pang.items():
        paper = (f"{value:.2f}"[1:] for value in PAPER[name])
        pairs = zip(map(format_coefficient, agreement_of_raters(aspect)), paper, strict=True)
        body.append([label_of(name), *(cell for pair in pairs for cell in pair)])
    return markdown_table(Grid(head, body))


def label_of(name: str) -> str:
    """Return the label of an aspect, or of a set of self-consistency."""
    return f"self-consistency, {name}" if name in SETS else name


def outlier_table(study: Study) -> str:
    """Return the raters that are flagged, and the numbers without them."""
    head = ["replies", "raters, and their correlation with the others", "Pr. mean without them", "ICC(1,k)"]
    head += ["without them", "ceiling", "without them", "means with and without, Pr."]
    body = []
    for name, aspect in study.pang.items():
        if aspect.without is None:
            body.append([label_of(name), "nobody", *["–"] * (len(head) - 2)])
            continue
        rest = aspect.without.numbers
        cells = [
            rest["pearson mean"],
            *(
                numbers[key]
                for key in ("ICC(1,k)", "ceiling of replies")
                for numbers in (aspect.numbers, rest)
            ),
        ]
        raters = ", ".join(
            f"{outlier.rater} ({format_coefficient(outlier.number)})" for outlier in aspect.outliers
        )
        values = (format_coefficient(cell.value) for cell in cells)
        body.append([label_of(name), raters, *values, format_coefficient(aspect.without.means.value)])
    return markdown_table(Grid(head, body))


def reliability_table(study: Study) -> str:
    """Return all coefficients of each aspect."""
    names = ("alpha nominal", "alpha ordinal", "alpha interval", "ICC(1,1)", "ICC(1,k)", "ICC(2,k)")
    names += ("ceiling of replies", "ceiling of systems")
    aspects = {f"pang, {label_of(name)}": aspect for name, aspect in study.pang.items()}
    for name, report in study.others.items():
        aspects |= {f"{name}, {aspect.aspect}": aspect for aspect in report.aspects}
    body = [
        [
            name,
            str(aspect.replies),
            per_reply(aspect),
            *(format_estimate(aspect.numbers[key]) for key in names),
        ]
        for name, aspect in aspects.items()
    ]
    return markdown_table(Grid(["ratings", "replies", "of each", *names], body))


def format_estimate(estimate: Estimate) -> str:
    """Return a statistic with its interval."""
    return str(Quantity(estimate.value, estimate.low, estimate.high))


def per_reply(aspect: AspectReliability) -> str:
    """Return the number of ratings of each reply."""
    return str(aspect.most) if aspect.most == aspect.fewest else f"{aspect.fewest}–{aspect.most}"


def aspect_table(study: Study) -> str:
    """Return the correlations of each aspect with each other one."""
    body = [
        [
            name,
            pair.first,
            pair.second,
            str(pair.pearson.n),
            format_estimate(pair.pearson),
            format_estimate(pair.spearman),
        ]
        for name, report in {"pang": study.both, **study.others}.items()
        for pair in report.pairs
    ]
    return markdown_table(Grid(["ratings", "aspect", "with", "replies", "Pr.", "Spr."], body))


def sample_table(study: Study) -> str:
    """Return the position of the paper's number among samples of as many replies and raters."""
    body = [
        [
            name,
            *map(format_coefficient, np.quantile(coefficients, [0.025, 0.5, 0.975])),
            format_coefficient(float(np.mean(coefficients <= SECTION_5_5))),
        ]
        for name, coefficients in study.small.items()
    ]
    head = ["sampled from", "2.5 %", "median", "97.5 %", f"share at or below {SECTION_5_5}"]
    return markdown_table(Grid(head, body))


def scale_table(study: Study) -> str:
    """Return means and variances of ratings from 0 to 1, the paper's scale."""
    names = ("mean", "variance", "variance within replies")
    body = [
        [aspect.aspect, *(format_coefficient(aspect.numbers[name].value) for name in names)]
        for aspect in study.both.aspects
    ]
    return markdown_table(Grid(["aspect", "mean", "variance", "within replies"], body))


def print_conclusion(study: Study) -> None:
    """Print each bar on a line and whether all are reached on the last, and end the program."""
    ours = {name: agreement_of_raters(aspect) for name, aspect in study.pang.items()}
    paper = max(float(np.max(np.abs(np.subtract(ours[name], PAPER[name])))) for name in ours)
    before = max(float(np.max(np.abs(np.subtract(ours[name][:2], BEFORE[name])))) for name in ours)
    (pair,) = study.both.pairs
    is_within = pair.pearson.low <= SECTION_5_5 <= pair.pearson.high
    outliers = {outlier.rater for outlier in study.pang["coherence"].outliers}
    names = ", ".join(sorted(outliers, key=int))
    bars = {
        f"20 values of tables 3, 4 and 9: at most {paper:.4f} from the paper; bar {TOLERANCE}": paper
        <= TOLERANCE,
        f"10 values computed before: at most {before:.4f} away; bar {TOLERANCE_BEFORE}": before
        <= TOLERANCE_BEFORE,
        f"outliers of coherence: {names}; bar: 1 and 7 among them": {"1", "7"} <= outliers,
    }
    print(
        f"coherence with fluency: {format_estimate(pair.pearson)}; the paper's {SECTION_5_5} "
        f"on other dialogues is {'within' if is_within else 'outside'}"
    )
    for line, reached in bars.items():
        print(f"{line}: {ok_or_short(reached)}")
    print(f"{sum(bars.values())} of {len(bars)} bars reached{': ok' if all(bars.values()) else ''}")
    sys.exit(not all(bars.values()))


if __name__ == "__main__":
    main()
