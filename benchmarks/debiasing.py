"""Errors of plain and debiased FBD as estimates of a known distance.

    python benchmarks/debiasing.py [--points 150] [--rounds 4] [--trials 30] [--quick]

Points are sampled from pairs of Gaussians whose distance is known, with spectra like those of encoded pairs
of context and reply (knots of measured spectra, below). Pairs of Gaussians differ in means, in scale, in
orientation, in the shape of the spectrum, by lost and by added directions. The two samples are independent,
or correlated like those of people and a system that answered the same contexts. With --quick, few cases are
tried.

With DIALOSCOPE_CORPORA set, the order of real systems is compared with that by ratings too.
"""

import json
import os
import sys
from argparse import Namespace
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.linalg import expm
from scipy.stats import spearmanr
from scipy.stats import t as student

from benchmarks._shared import benchmark_parser
from dialoscope.metrics.shared import frechet as frechet_module
from dialoscope.metrics.shared.frechet import Moments, each_left_out, estimate_frechet, frechet
from dialoscope.models.encoder import TransformerEncoder
from dialoscope.models.protocols import Pair

BAR = 5.0
CORRELATION = 0.85
"""Between pairs with the same context, people's and a system's; measured values are .79 to .91."""
BLOCKS, DEBIASED_BLOCKS = 20, 10
QUICK_CASES = 5
TRACE = 15.0


class Spectrum(NamedTuple):
    """Shares of the trace of the eigenvalues of some ranks; between these, powers of the rank."""

    ranks: tuple[int, ...]
    shares: tuple[float, ...]


SPECTRA = {
    "minilm, first token": Spectrum(
        (1, 2, 5, 10, 20, 50, 100, 200, 300, 380, 384),
        (0.0324, 0.0265, 0.0198, 0.014, 0.0103, 0.00575, 0.00316, 0.001, 1.46e-4, 1.7e-5, 1e-9),
    ),
    "minilm, mean": Spectrum(
        (1, 2, 5, 10, 20, 50, 100, 200, 300, 380, 384),
        (0.038, 0.0307, 0.0219, 0.0153, 0.0101, 0.00495, 0.00275, 0.00118, 3.56e-4, 5.5e-5, 1e-9),
    ),
    "mpnet, first token": Spectrum(
        (1, 2, 5, 10, 20, 50, 100, 200, 300, 400, 600, 700, 760, 768),
        (
            0.0326,
            0.0305,
            0.0179,
            0.013,
            0.0088,
            0.0048,
            0.0027,
            0.0012,
            5.4e-4,
            2.4e-4,
            7e-5,
            3.4e-5,
            5e-6,
            1e-9,
        ),
    ),
}
"""Of 6,000 (mpnet 2,500) pairs of context and reply."""


class Case(NamedTuple):
    """Two Gaussians: roots of their covariances, and the difference of their means."""

    real: np.ndarray
    generated: np.ndarray
    shift: np.ndarray


class Errors(NamedTuple):
    """Root mean square errors over samples, and the mean error of the debiased value."""

    plain: float
    debiased: float
    bias: float


def main() -> None:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--points", type=int, default=150, help="number of points of each side")
    parser.add_argument("--rounds", type=int, default=4, help="number of samples of each case")
    parser.add_argument(
        "--trials", type=int, default=30, help="number of samples for each interval; 0: no intervals"
    )
    options = parser.parse_args()
    if options.quick:
        options.points, options.rounds, options.trials = 60, 1, 0
    tables = [
        compare(name, options, correlation)
        for name in (list(SPECTRA)[:1] if options.quick else SPECTRA)
        for correlation in (0.0, CORRELATION)
    ]
    if options.trials:
        intervals(options.points, options.trials)
    if (folder := os.environ.get("DIALOSCOPE_CORPORA")) and not options.quick:
        order(Path(folder, "rated", "fbd"))
    independent, paired = (overall(tables[side::2]) for side in (0, 1))
    print(
        f"error of the plain value cut {independent:.1f}fold (samples that share contexts: {paired:.1f}fold) "
        f"at {options.points} points; bar {BAR:g}"
    )
    sys.exit(min(independent, paired) < (1 if options.quick else BAR))


def compare(name: str, options: Namespace, correlation: float) -> list[Errors]:
    points, rounds = options.points, options.rounds
    rng = np.random.default_rng(0)
    print(f"{name}, {points} points, {'correlated' if correlation else 'independent'} samples")
    print(f"{'':34}{'true':>8}{'plain':>8}{'debiased':>10}{'its bias':>10}{'cut':>8}")
    rows = []
    for title, case in islice(cases(spectrum(name), rng), QUICK_CASES if options.quick else None):
        rows.append(errors(case, points, correlation, rounds, rng))
        plain, ours, bias = rows[-1]
        print(f"  {title:32}{distance(case):8.2f}{plain:8.2f}{ours:10.2f}{bias:10.2f}{plain / ours:8.1f}")
    print(f"  {'all':32}{'':8}{rms(r.plain for r in rows):8.2f}{rms(r.debiased for r in rows):10.2f}")
    return rows


def overall(tables: list[list[Errors]]) -> float:
    rows = [row for table in tables for row in table]
    return rms(row.plain for row in rows) / rms(row.debiased for row in rows)


def rms(values: Iterator[float]) -> float:
    return float(np.sqrt(np.mean(np.square(list(values)))))


def spectrum(name: str) -> np.ndarray:
    ranks, shares = SPECTRA[name]
    values = np.exp(np.interp(np.log(np.arange(1, ranks[-1] + 1)), np.log(ranks), np.log(shares)))
    return values * TRACE / values.sum()


def cases(values: np.ndarray, rng: np.random.Generator) -> Iterator[tuple[str, Case]]:
    dims, same, still = len(values), np.diag(np.sqrt(values)), np.zeros(len(values))
    shift = rng.standard_normal(dims)
    shift *= np.sqrt(TRACE) / np.linalg.norm(shift)
    ranks = np.arange(1, dims + 1)
    yield "no distance", Case(same, same, still)
    yield "means apart", Case(same, same, shift / 3)
    yield "means far apart", Case(same, same, shift * 2)
    yield "twice the scale", Case(same, same * np.sqrt(2), still)
    yield "half the scale", Case(same, same * np.sqrt(0.5), still)
    for angle in (0.2, 0.5, 1.0):
        turned = expm(angle * skew(dims, rng))
        yield f"turned by {angle:g}", Case(same, root(turned * values @ turned.T), still)
    random_axes = np.linalg.qr(rng.standard_normal((dims, dims)))[0]
    yield "random orientation", Case(same, root(random_axes * values @ random_axes.T), still)
    yield (
        "a fifth of its own",
        Case(same, root(0.8 * same**2 + 0.2 * (random_axes * values) @ random_axes.T), still),
    )
    for power in (0.6, 1.4):
        other = values**power
        yield (
            f"spectrum to the power of {power:g}",
            Case(same, np.diag(np.sqrt(other * TRACE / other.sum())), still),
        )
    for count in (10, 30, 100):
        lost = np.diag(np.sqrt(np.where(ranks > count, 0.05, 1.0) * values))
        yield f"little beside {count} directions", Case(same, lost, still)
    yield "40 directions and no other", Case(same, np.diag(np.sqrt(np.where(ranks > 40, 0, values))), still)
    yield "variety lost gradually", Case(same, np.diag(np.sqrt(values * np.exp(-ranks / 80))), shift / 4)
    yield "noise in all directions", Case(same, np.diag(np.sqrt(0.7 * values + 0.3 * TRACE / dims)), still)
    yield "one reply to much", Case(same, root(0.8 * same**2 + 0.2 * np.outer(shift, shift)), shift / 4)


def skew(dims: int, rng: np.random.Generator) -> np.ndarray:
    matrix = rng.standard_normal((dims, dims))
    return (matrix - matrix.T) / np.sqrt(2 * dims)


def root(covariance: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(covariance)
    return vectors * np.sqrt(np.maximum(values, 0)) @ vectors.T


def distance(case: Case) -> float:
    within = np.square(case.real).sum() + np.square(case.generated).sum()
    shared = np.linalg.svd(case.real @ case.generated, compute_uv=False).sum()
    return float(case.shift @ case.shift + within - 2 * shared)


def sample(
    case: Case, points: int, correlation: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    real, generated = rng.standard_normal((2, points, len(case.shift)))
    generated = correlation * real + np.sqrt(1 - correlation**2) * generated
    return real @ case.real, generated @ case.generated + case.shift


def errors(case: Case, points: int, correlation: float, rounds: int, rng: np.random.Generator) -> Errors:
    truth, items = distance(case), np.arange(points)
    plain, ours = [], []
    for _ in range(rounds):
        real, generated = sample(case, points, correlation, rng)
        plain.append(frechet(Moments.of(real), Moments.of(generated)) - truth)
        ours.append(estimate_frechet(real, generated, items, items) - truth)
    return Errors(rms(iter(plain)), rms(iter(ours)), float(np.mean(ours)))


def intervals(points: int, trials: int) -> None:
    """Print the coverage of value ± t · jackknife error."""
    rng = np.random.default_rng(1)
    chosen = ("no distance", "turned by 0.5", "random orientation", "little beside 30 directions")
    print(
        f"95 % intervals of the debiased value, {trials} trials: error from {BLOCKS} plain values (as in the "
        f"metric), from {DEBIASED_BLOCKS} debiased ones"
    )
    for title, case in cases(spectrum("minilm, first token"), rng):
        for correlation in (0.0, CORRELATION) if title in chosen else ():
            rows = np.array([trial(case, points, correlation, rng) for _ in range(trials)])
            error, widths = rows[:, 0], rows[:, 1:]
            coverage = (np.abs(error)[:, None] <= widths).mean(axis=0)
            print(
                f"  {title:30}{'correlated' if correlation else 'independent':12}"
                + "".join(f" coverage {share:.2f} (± {width:.2f}),"
                          for share, width in zip(coverage, widths.mean(axis=0), strict=True))
                + f" bias {error.mean():.2f}, standard deviation {error.std():.2f}"
            )  # fmt: skip


def trial(
    case: Case, points: int, correlation: float, rng: np.random.Generator
) -> tuple[float, float, float]:
    """Return the error of the debiased value and half the widths of its intervals."""
    real, generated = sample(case, points, correlation, rng)
    items, blocks = np.arange(points), rng.permutation(points)
    parts = [
        [Moments.of(side[blocks % BLOCKS == block]) for block in range(BLOCKS)] for side in (real, generated)
    ]
    plain = np.array([frechet(*sides) for sides in zip(*map(each_left_out, parts), strict=True)])
    ours = debiased_without(real, generated, items, items, blocks % DEBIASED_BLOCKS, blocks % DEBIASED_BLOCKS)
    value = estimate_frechet(real, generated, items, items)
    return value - distance(case), half_width(plain), half_width(ours)


def debiased_without(
    real: np.ndarray,
    generated: np.ndarray,
    real_items: np.ndarray,
    generated_items: np.ndarray,
    real_blocks: np.ndarray,
    generated_blocks: np.ndarray,
    *,
    squared: bool = True,
    seed: int = 0,
) -> np.ndarray:
    """The estimate with the points of each block left out in turn; blocks are numbered from 0.

    All are made from the same halvings. The smallest directions that a half shows depend on each of its
    points, so that many small blocks overestimate the error; about ten are best.
    """
    sides = frechet_module.PointSet(real, real_items), frechet_module.PointSet(generated, generated_items)
    halvings = frechet_module._halvings(*sides, seed, frechet_module._enough(len(real) + len(generated)))
    values = []
    for block in range(1 + max(int(side.max(initial=-1)) for side in (real_blocks, generated_blocks))):
        kept = real_blocks != block, generated_blocks != block
        rest = (
            frechet_module.PointSet(real[kept[0]], real_items[kept[0]]),
            frechet_module.PointSet(generated[kept[1]], generated_items[kept[1]]),
        )
        some = [(first[kept[0]], second[kept[1]]) for first, second in halvings]
        values.append(frechet_module._estimate_from_halvings(*rest, some, squared=squared))
    return np.array(values)


def half_width(left_out: np.ndarray) -> float:
    blocks = len(left_out)
    return float(student.ppf(0.975, blocks - 1) * np.sqrt((blocks - 1) * np.var(left_out)))


def order(folder: Path) -> None:
    """Print Spearman's correlation of distances with mean ratings of systems; 1 is best."""
    encoder = TransformerEncoder("minilm", pooling="first")
    print("order of systems against ratings, minilm, first token: plain, debiased, 1 − correlation")
    for corpus in ("dailyh", "personam", "dailyz", "personaz"):
        text = (folder / f"fbd_{corpus}.jsonl").read_text(encoding="utf-8")
        rows = [json.loads(line) for line in text.splitlines()]
        names = sorted({row["system"] for row in rows})
        table = np.array([figures([row for row in rows if row["system"] == name], encoder) for name in names])
        correlations = [-spearmanr(table[:, column], table[:, 3]).statistic for column in range(3)]
        print(f"  {corpus:10}{len(names):3} systems" + "".join(f"{value:8.2f}" for value in correlations))


def figures(rows: list[dict], encoder: TransformerEncoder) -> tuple[float, float, float, float]:
    contexts = [" ".join(row["context"]) for row in rows]
    replies = [row["response"] for row in rows], [row["references"][0] for row in rows]
    generated, real = (
        encoder.encode([Pair(*pair) for pair in zip(contexts, side, strict=True)]).astype(float)
        for side in replies
    )
    items = np.unique(contexts, return_inverse=True)[1]
    one_minus_r = 1 - np.vdot(real - real.mean(0), generated - generated.mean(0)) / np.sqrt(
        np.square(real - real.mean(0)).sum() * np.square(generated - generated.mean(0)).sum()
    )
    ratings = [np.mean(list(row["ratings"].values())[-1]) for row in rows]
    plain = frechet(Moments.of(real), Moments.of(generated))
    return plain, estimate_frechet(real, generated, items, items), float(one_minus_r), float(np.mean(ratings))


if __name__ == "__main__":
    main()
