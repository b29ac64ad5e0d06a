"""The arithmetic of FBD against the textbook's, in one run, on the same points.

    python benchmarks/distribution.py [--rounds 5] [--quick]

Both sides start from points of 768 dimensions, 150 and 5,000 of them for people and for the system, and end
with a distance. The textbook computes covariances and scipy's sqrtm of their product.

Before that, FBD, PRD and BERTScore of several systems in one run (a rated corpus where DIALOSCOPE_CORPORA
is set, else the sample): every different pair and text must reach the encoder once, whichever metrics and
systems have it.
"""

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from scipy.linalg import sqrtm

import dialoscope as ds
from benchmarks._shared import SAMPLE, benchmark_parser, fastest
from dialoscope.metrics.shared.frechet import Moments, estimate_frechet, frechet
from dialoscope.models.encoder import TransformerEncoder
from dialoscope.models.protocols import Pair, TokenVectors

DIMS = 768
QUICK_DIMS, QUICK_POINTS = 96, 150
BARS = {150: 20.0, 5000: 2.5}
EQUAL = 1e-6


def main() -> None:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="number of rounds; the fastest counts")
    options = parser.parse_args()
    encoded_once = count_encoded(24 if options.quick else None)
    bars = {QUICK_POINTS: 0.0} if options.quick else BARS
    dims, rounds = (QUICK_DIMS, 1) if options.quick else (DIMS, options.rounds)
    ratios = [compare(points, dims, rounds) for points in bars]
    print(
        f"{' and '.join(f'{ratio:.1f}' for ratio in ratios)} times as fast as sqrtm at "
        f"{' and '.join(map(str, bars))} points; bars {' and '.join(f'{bar:g}' for bar in bars.values())}"
    )
    reached = all(ratio > 0 and ratio >= bar for ratio, bar in zip(ratios, bars.values(), strict=True))
    sys.exit(not (encoded_once and reached))


@dataclass(frozen=True)
class Counted:
    """An encoder that counts the texts it encodes."""

    name: ClassVar[str] = "counted"
    version: ClassVar[int] = 1
    fingerprint: ClassVar[str] = "counted"
    encoded: ClassVar[list[str | Pair]] = []

    inner: TransformerEncoder = TransformerEncoder(pooling="first")

    def encode(self, texts: Sequence[str | Pair]) -> np.ndarray:
        """Vectors of pairs."""
        self.encoded.extend(texts)
        return self.inner.encode(texts)

    def encode_tokens(self, texts: Sequence[str | Pair]) -> list[TokenVectors]:
        """Vectors of tokens."""
        self.encoded.extend(texts)
        return self.inner.encode_tokens(texts)


def count_encoded(count: int | None) -> bool:
    """Return whether no text was encoded twice, for so many replies or for all."""
    folder = os.environ.get("DIALOSCOPE_CORPORA")
    path = Path(folder, "rated/fbd/fbd_dailyh.jsonl") if folder else SAMPLE
    replies = list(ds.read(path))[:count]
    metrics = [ds.Fbd(encoder=Counted()), ds.Prd(encoder=Counted()), ds.Bertscore(encoder=Counted())]
    os.environ["DIALOSCOPE_SCORES"] = "off"
    clock = time.perf_counter()
    ds.evaluate(replies, metrics)
    seconds = time.perf_counter() - clock
    separate = sum(5 + 3 * len(reply.references) for reply in replies)
    encoded, different = len(Counted.encoded), len(set(Counted.encoded))
    print(
        f"{len(replies)} replies of "
        f"{len({reply.system for reply in replies})} systems by FBD, PRD, BERTScore: "
        f"{encoded} texts encoded, {different} different, {separate} if each metric and reply had its own; "
        f"{seconds:.1f} s"
    )
    return encoded == different


def compare(points: int, dims: int, rounds: int) -> float:
    """Return the ratio of the times, 0 where the distances are not equal."""
    real, generated = sample(points, dims, 0), sample(points, dims, 1)
    items = np.arange(points)
    theirs, their_seconds = fastest(lambda: textbook(real, generated), rounds)
    ours, our_seconds = fastest(lambda: frechet(Moments.of(real), Moments.of(generated)), rounds)
    _, debiased_seconds = fastest(lambda: estimate_frechet(real, generated, items, items), 1)
    difference = abs(ours - theirs)
    print(
        f"{points:5} points: sqrtm {their_seconds:.4f} s, ours {our_seconds:.4f} s, difference "
        f"{difference:.1e} (must be below {EQUAL:g}); debiased {debiased_seconds:.3f} s"
    )
    return their_seconds / our_seconds if difference < EQUAL else 0.0


def sample(points: int, dims: int, seed: int) -> np.ndarray:
    """Return random points with the falling spectrum of an encoder's vectors, in single precision."""
    spread = np.sqrt(1 / (np.arange(dims) + 10))
    return (np.random.default_rng(seed).standard_normal((points, dims)) * spread).astype(np.float32)


def textbook(real: np.ndarray, generated: np.ndarray) -> float:
    covariances = np.cov(real.T), np.cov(generated.T)
    shift = real.mean(axis=0, dtype=float) - generated.mean(axis=0, dtype=float)
    shared = np.trace(sqrtm(covariances[0] @ covariances[1]).real)
    return float(shift @ shift + np.trace(covariances[0]) + np.trace(covariances[1]) - 2 * shared)


if __name__ == "__main__":
    main()
