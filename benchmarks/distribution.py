"""The arithmetic of FBD against the textbook's, in one run, on the same points.

    python benchmarks/distribution.py [--rounds 5] [--quick]

Both sides start from points of 768 dimensions, 150 and 5,000 of them for people and for the system, and end
with a distance. The textbook's way is the covariances, and scipy's sqrtm of their product.

Before that, FBD, PRD and BERTScore of several systems in one run (a rated corpus where DIALOSCOPE_CORPORA
is set, else the sample): every different pair and text must reach the encoder once, whichever metrics and
systems have it.
"""

import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from scipy.linalg import sqrtm

import dialoscope as ds
from benchmarks._shared import benchmark_parser
from dialoscope.metrics.shared.frechet import Moments, debiased, frechet
from dialoscope.models.encoder import TransformerEncoder
from dialoscope.models.protocols import Pair, TokenVectors

ROOT = Path(__file__).resolve().parents[1]
DIMS = 768
BARS = {150: 20.0, 5000: 2.5}
EQUAL = 1e-6


def main() -> None:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="of which the fastest counts, for both sides")
    chosen = parser.parse_args()
    once = encoded_once(24 if chosen.quick else None)
    if chosen.quick:
        sys.exit(not (once and compare(150, 1)))
    results = [compare(points, chosen.rounds) for points in BARS]
    times = " and ".join(f"{result:.1f}" for result in results)
    bars = " and ".join(f"{bar:g}" for bar in BARS.values())
    print(f"{times} times as fast as sqrtm at {' and '.join(map(str, BARS))} points; bars {bars}")
    sys.exit(not once or any(result < bar for result, bar in zip(results, BARS.values(), strict=True)))


@dataclass(frozen=True)
class Counted:
    """An encoder that notes what it is asked for."""

    name: ClassVar[str] = "counted"
    version: ClassVar[int] = 1
    fingerprint: ClassVar[str] = "counted"
    asked: ClassVar[list[str | Pair]] = []

    inner: TransformerEncoder = TransformerEncoder(pooling="first")

    def encode(self, texts: Sequence[str | Pair]) -> np.ndarray:
        """Vectors of pairs."""
        self.asked.extend(texts)
        return self.inner.encode(texts)

    def encode_tokens(self, texts: Sequence[str | Pair]) -> list[TokenVectors]:
        """Vectors of tokens."""
        self.asked.extend(texts)
        return self.inner.encode_tokens(texts)


def encoded_once(count: int | None) -> bool:
    """Whether nothing was encoded twice, of so many replies or of all."""
    folder = os.environ.get("DIALOSCOPE_CORPORA")
    path = Path(folder, "rated/fbd/fbd_dailyh.jsonl") if folder else ROOT / "examples" / "sample.jsonl"
    replies = list(ds.read(path))[:count]
    metrics = [ds.Fbd(encoder=Counted()), ds.Prd(encoder=Counted()), ds.Bertscore(encoder=Counted())]
    os.environ["DIALOSCOPE_SCORES"] = "off"
    clock = time.perf_counter()
    ds.evaluate(replies, metrics)
    seconds = time.perf_counter() - clock
    each = sum(2 + len(one.references) for one in replies) * 2 + sum(
        1 + len(one.references) for one in replies
    )
    asked, different = len(Counted.asked), len(set(Counted.asked))
    print(
        f"{len(replies)} replies of {len({one.system for one in replies})} systems by FBD, PRD, BERTScore: "
        f"{asked} texts encoded, {different} different, {each} if each metric and reply had its own; "
        f"{seconds:.1f} s"
    )
    return asked == different


def compare(points: int, rounds: int) -> float:
    """How many times as fast we are; nothing, where the distances are not equal."""
    real, generated = draw(points, 0), draw(points, 1)
    items = np.arange(points)
    theirs, their_seconds = fastest(lambda: textbook(real, generated), rounds)
    ours, our_seconds = fastest(lambda: frechet(Moments.of(real), Moments.of(generated)), rounds)
    _, debiased_seconds = fastest(lambda: debiased(real, generated, items, items), 1)
    apart = abs(ours - theirs)
    print(
        f"{points:5} points: sqrtm {their_seconds:.4f} s, ours {our_seconds:.4f} s, apart {apart:.1e} "
        f"(must be below {EQUAL:g}); debiased {debiased_seconds:.3f} s"
    )
    return their_seconds / our_seconds if apart < EQUAL else 0.0


def draw(points: int, seed: int) -> np.ndarray:
    """Points with the falling spectrum of an encoder's; single precision, as encoders give them."""
    spread = np.sqrt(1 / (np.arange(DIMS) + 10))
    drawn = np.random.default_rng(seed).standard_normal((points, DIMS)) * spread
    return drawn.astype(np.float32)


def textbook(real: np.ndarray, generated: np.ndarray) -> float:
    covariances = np.cov(real.T), np.cov(generated.T)
    apart = real.mean(axis=0, dtype=float) - generated.mean(axis=0, dtype=float)
    shared = np.trace(sqrtm(covariances[0] @ covariances[1]).real)
    return float(apart @ apart + np.trace(covariances[0]) + np.trace(covariances[1]) - 2 * shared)


def fastest(work: Callable[[], float], rounds: int) -> tuple[float, float]:
    """What the work returns, and the seconds of its fastest round."""
    seconds = []
    for _ in range(rounds):
        clock = time.perf_counter()
        found = work()
        seconds.append(time.perf_counter() - clock)
    return found, min(seconds)


if __name__ == "__main__":
    main()
