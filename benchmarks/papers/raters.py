"""Tables 3, 4 and 9 of Pang et al. (2020), people among themselves, and section 5.5, how aspects go together.

    DIALOSCOPE_CORPORA=FOLDER python benchmarks/papers/raters.py [-o TABLES.md] [--draws 1000]

How far raters agree with one another on the replies that were released, beside what the paper has; the same
for the other rated corpora; who of the raters stands out; and how the rated aspects go together.
docs/papers/raters.md says what comes out.
"""

import argparse
import json
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

import dialoscope as ds
from benchmarks._shared import corpora_folder
from dialoscope.analysis.estimate import Estimate
from dialoscope.analysis.raters.rater_report import AspectReliability
from dialoscope.core.render.markdown import markdown_table
from dialoscope.core.render.sections import Grid, Quantity
from dialoscope.runs.rating_columns import Ratings

NEAR = 0.006
"""How near to the paper: its two digits, and a little for its rounding."""
NEARER = 0.002
"""How near to what was worked out from the same files before."""


class Raters(NamedTuple):
    """How well each rater agrees with the mean of the others: over raters the mean, and the most."""

    pearson_mean: float
    pearson_max: float
    spearman_mean: float
    spearman_max: float


SETS = ("none", "WS", "CTG")
"""Dialogues as they are, with words exchanged through WordNet, and with queries from a generator."""
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
"""Pearson's mean and maximum, as the notes beside the files have them."""
SECTION_5_5 = 0.42
"""Of fluency with coherence, on 50 dialogues rated by five people; all other pairs are below .1."""
DIALOGUES, PEOPLE = 50, 5
OTHERS = {
    "grade, DailyDialog": "grade/grade_dailydialog.jsonl",
    "grade, EmpatheticDialogues": "grade/grade_empathetic.jsonl",
    "grade, ConvAI2": "grade/grade_convai2.jsonl",
    "usr": "usr_personachat/data.jsonl",
    "zhao, DailyDialog": "zhao2020/zhao_dailydialog.jsonl",
}


class Study(NamedTuple):
    """What was found."""

    pang: dict[str, AspectReliability]
    """By aspect, or by the set that self-consistency was rated on."""
    both: ds.Raters
    """Coherence and fluency of the same replies."""
    small: dict[str, np.ndarray]
    """Their correlation with as few replies and raters as in section 5.5, in many draws, by what was kept."""
    others: dict[str, ds.Raters]


def main() -> None:
    """Print the tables, and each bar on a line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", metavar="FILE", help="write the tables there, too")
    parser.add_argument("--draws", type=int, default=1000, help="for the intervals over replies")
    chosen = parser.parse_args()
    corpora_folder()
    study = studied(chosen.draws)
    text = "\n\n".join(sections(study))
    print(text)
    if chosen.o:
        Path(chosen.o).write_text(text + "\n", encoding="utf-8")
    finish(study)


def studied(draws: int) -> Study:
    """Each file once."""
    coherence, fluency = (scored(pang(name)) for name in ("coherence", "fluency"))
    consistency = scored(pang("self_consistency"), columns={"system": "augmentation"})
    joined = Ratings.of(coherence.replies, [*ds.read_ratings(pang("coherence")), *fluency_of_the_same()])
    return Study(
        {
            "coherence": ds.raters(coherence)["coherence"],
            "fluency": ds.raters(fluency)["fluency"],
            **{name: ds.raters(consistency, system=name)["self_consistency"] for name in SETS},
        },
        ds.raters(coherence, joined, draws=draws, normalise="scale"),
        {
            "all replies": in_small(joined, np.arange(len(coherence.replies)), draws),
            "machine replies": in_small(joined, coherence.rows("machine (unlabelled)"), draws),
        },
        {name: ds.raters(scored(rated(file)), draws=draws) for name, file in OTHERS.items()},
    )


def fluency_of_the_same() -> list[ds.Rating]:
    """What was said of the fluency of the replies whose coherence was rated, under their ids there."""
    with pang("fluency").open(encoding="utf-8") as lines:
        ids = {row["id"]: row["meta"]["coherence_id"] for row in map(json.loads, lines)}
    return [replace(one, id=ids[one.id]) for one in ds.read_ratings(pang("fluency"))]


def in_small(ratings: Ratings, rows: np.ndarray, draws: int) -> np.ndarray:
    """Coherence with fluency, from as few replies and as few raters as the paper had for section 5.5."""
    grids = []
    for aspect in ("coherence", "fluency"):
        said = ratings.of_aspect(aspect)
        grid = np.full((1 + said.reply.max(), len(said.raters)), np.nan)
        grid[said.reply, said.rater] = said.value
        grids.append(grid)
    rng, found = np.random.default_rng(0), []
    for _ in range(draws):
        some = np.ix_(
            rng.choice(rows, DIALOGUES, replace=False), rng.choice(grids[0].shape[1], PEOPLE, replace=False)
        )
        found.append(np.corrcoef(*(grid[some].mean(axis=1) for grid in grids))[0, 1])
    return np.array(found)


def rated(file: str) -> Path:
    """A file of rated replies."""
    return corpora_folder() / "rated" / file


def pang(name: str) -> Path:
    """A file of the paper's authors."""
    return rated(f"pang2020/{name}.jsonl")


def scored(file: Path, **how: dict[str, str]) -> ds.Result:
    """A run, by the cheapest of metrics: the ratings are what is wanted of it."""
    return ds.evaluate(ds.read(file, **how), ["words"])


def among(found: AspectReliability) -> Raters:
    """What the paper's tables have."""
    kinds = [f"{kind} {which}" for kind in ("pearson", "spearman") for which in ("mean", "max")]
    return Raters(*(found.numbers[kind].value for kind in kinds))


def sections(study: Study) -> Iterable[str]:
    """The whole text, part by part."""
    yield titled("Tables 3, 4 and 9: people among themselves", inter_rater(study))
    yield titled("Who stands out", standing_out(study))
    yield titled("How far people agree", reliability(study))
    yield titled("Section 5.5: how aspects go together", relations(study))
    yield titled(f"Coherence with fluency, from {DIALOGUES} replies and {PEOPLE} raters", in_draws(study))
    yield titled("Ratings on 0 to 1", scaled(study))


def titled(title: str, table: str) -> str:
    """A part of the text."""
    return f"### {title}\n\n{table}"


def short(value: float) -> str:
    """Three digits, as papers have them."""
    return "–" if np.isnan(value) else f"{value:.3f}".replace("0.", ".", 1)


def inter_rater(study: Study) -> str:
    """Ours beside the paper's."""
    head = ["replies"]
    for kind in ("Pr. mean", "Pr. max", "Spr. mean", "Spr. max"):
        head += [kind, "paper"]
    body = []
    for name, found in study.pang.items():
        pairs = zip(map(short, among(found)), (f"{one:.2f}"[1:] for one in PAPER[name]), strict=True)
        body.append([shown(name), *(cell for pair in pairs for cell in pair)])
    return markdown_table(Grid(head, body))


def shown(name: str) -> str:
    """What a set is called."""
    return f"self-consistency, {name}" if name in SETS else name


def standing_out(study: Study) -> str:
    """The raters that are flagged, and what becomes of the numbers without them."""
    head = ["replies", "raters, and their correlation with the others", "Pr. mean without them", "ICC(1,k)"]
    head += ["without them", "ceiling", "without them", "means with and without, Pr."]
    body = []
    for name, one in study.pang.items():
        if one.without is None:
            body.append([shown(name), "nobody", *["–"] * (len(head) - 2)])
            continue
        rest = one.without.numbers
        cells = [
            rest["pearson mean"],
            *(side[what] for what in ("ICC(1,k)", "ceiling of replies") for side in (one.numbers, rest)),
        ]
        who = ", ".join(f"{odd.rater} ({short(odd.number)})" for odd in one.outliers)
        body.append(
            [shown(name), who, *(short(cell.value) for cell in cells), short(one.without.means.value)]
        )
    return markdown_table(Grid(head, body))


def reliability(study: Study) -> str:
    """Everything that is said of each aspect."""
    names = ("alpha nominal", "alpha ordinal", "alpha interval", "ICC(1,1)", "ICC(1,k)", "ICC(2,k)")
    names += ("ceiling of replies", "ceiling of systems")
    every = {f"pang, {shown(name)}": one for name, one in study.pang.items()}
    every |= {f"{name}, {one.aspect}": one for name, found in study.others.items() for one in found.aspects}
    body = [
        [name, str(one.replies), per_reply(one), *(written(one.numbers[what]) for what in names)]
        for name, one in every.items()
    ]
    return markdown_table(Grid(["ratings", "replies", "of each", *names], body))


def written(one: Estimate) -> str:
    """A number with its interval."""
    return str(Quantity(one.value, one.low, one.high))


def per_reply(one: AspectReliability) -> str:
    """How many ratings a reply has."""
    return str(one.most) if one.most == one.fewest else f"{one.fewest}–{one.most}"


def relations(study: Study) -> str:
    """Each aspect with each other one."""
    body = [
        [name, pair.first, pair.second, str(pair.pearson.n), written(pair.pearson), written(pair.spearman)]
        for name, found in {"pang": study.both, **study.others}.items()
        for pair in found.pairs
    ]
    return markdown_table(Grid(["ratings", "aspect", "with", "replies", "Pr.", "Spr."], body))


def in_draws(study: Study) -> str:
    """Where the paper's number lies among draws of as many replies and raters as it is from."""
    body = [
        [
            name,
            *map(short, np.quantile(drawn, [0.025, 0.5, 0.975])),
            short(float(np.mean(drawn <= SECTION_5_5))),
        ]
        for name, drawn in study.small.items()
    ]
    return markdown_table(
        Grid(["drawn from", "2.5 %", "median", "97.5 %", f"share at or below {SECTION_5_5}"], body)
    )


def scaled(study: Study) -> str:
    """Means and variances as the paper has its ratings."""
    body = [
        [
            one.aspect,
            *(short(one.numbers[what].value) for what in ("mean", "variance", "variance within replies")),
        ]
        for one in study.both.aspects
    ]
    return markdown_table(Grid(["aspect", "mean", "variance", "within replies"], body))


def finish(study: Study) -> None:
    """Each bar on a line, and whether all are met on the last."""
    off = max(
        float(np.max(np.abs(np.subtract(among(found), PAPER[name])))) for name, found in study.pang.items()
    )
    nearer = max(
        float(np.max(np.abs(np.subtract(among(found)[:2], BEFORE[name]))))
        for name, found in study.pang.items()
    )
    (pair,) = study.both.pairs
    holds = pair.pearson.low <= SECTION_5_5 <= pair.pearson.high
    people = {one.rater for one in study.pang["coherence"].outliers}
    met = {
        f"20 values of tables 3, 4 and 9: at most {off:.4f} from the paper; bar {NEAR}": off <= NEAR,
        f"10 values worked out before: at most {nearer:.4f} away; bar {NEARER}": nearer <= NEARER,
        f"outliers of coherence: {', '.join(sorted(people, key=int))}; bar: 1 and 7 among them": {"1", "7"}
        <= people,
    }
    print(
        f"coherence with fluency: {written(pair.pearson)}; the paper's {SECTION_5_5} on other dialogues is "
        f"{'within' if holds else 'outside'}"
    )
    for line, reached in met.items():
        print(f"{line}: {'ok' if reached else 'short'}")
    print(f"{sum(met.values())} of {len(met)} bars reached{': ok' if all(met.values()) else ''}")
    sys.exit(not all(met.values()))


if __name__ == "__main__":
    main()
