"""Error rates, coverage and power of comparisons of two systems.

    python benchmarks/comparisons.py [--trials 400] [--quick]

Two systems reply to the same contexts, with words from the source of benchmarks/intervals.py, and are rated.
Where both have the same source, at most 5 of 100 tests should find a difference, for each metric, and for any
of all metrics after Holm's correction. Where the second keeps more to its topic, has more words and better
ratings, the true difference is the mean over many samples: 95 % intervals should contain it, a gate whose
margin is the true difference should stop a release in at most 5 of 100 trials, and with --strict let it pass
in at most 5. Last, the second system is better by the detectable difference: 80 of 100 tests should find it.
"""

import math
import sys
from collections import Counter
from typing import NamedTuple

import numpy as np

import dialoscope as ds
from benchmarks._shared import benchmark_parser

METRICS = ["bleu-2", "rouge-l", "words", "distinct-2", "entropy-2"]
ALL = [*METRICS, "rated:overall"]
CONTEXTS = 100
VOCABULARY = 2000
SHARES = np.cumsum(1 / np.arange(1, VOCABULARY + 1))
MIN_COVERAGE, MAX_ALARMS, POWER = 0.90, 0.09, (0.70, 0.90)


class Gain(NamedTuple):
    """The advantage of the second system."""

    topic: float = 0.0
    words: float = 0.0
    rating: float = 0.0


def main() -> None:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--trials", type=int, default=400, help="number of data sets for each setting")
    options = parser.parse_args()
    trials, samples = (2, 10) if options.quick else (options.trials, 1000)
    rng = np.random.default_rng(0)
    alarms, limits = count_false_alarms(rng, trials)
    counts = test_margin(rng, trials, samples, Gain(0.1, 1.0, 0.3))
    power = test_detectable(rng, trials, limits)
    print(f"{trials} trials of {CONTEXTS} contexts; shares of trials")
    print(f"{'':16}{'false alarm':>12}{'95 % holds':>12}{'gate stops':>12}{'strict lets':>12}{'power':>8}")
    for name in ALL:
        shares = [alarms[name], *(counts[name, key] for key in ("holds", "failed", "passed"))]
        power_cell = f"{power[name] / trials:8.3f}" if name in power else ""
        print(f"{name:16}" + "".join(f"{share / trials:12.3f}" for share in shares) + power_cell)
    print(f"{'any, after Holm':16}{alarms['any'] / trials:12.3f}")
    coverage = min(counts[name, "holds"] for name in ALL) / trials
    errors = [*alarms.values(), *(counts[name, key] for name in ALL for key in ("failed", "passed"))]
    powers = [count / trials for count in power.values()]
    print(
        f"worst coverage {coverage:.3f}, bar {MIN_COVERAGE}; maximum error rate {max(errors) / trials:.3f}, "
        f"bar {MAX_ALARMS}; power {min(powers):.3f} to {max(powers):.3f}, bar {POWER[0]} to {POWER[1]}"
    )
    ok = coverage >= MIN_COVERAGE and max(errors) / trials <= MAX_ALARMS
    ok = ok and POWER[0] <= min(powers) and max(powers) <= POWER[1]
    sys.exit(not ok and not options.quick)


def count_false_alarms(rng: np.random.Generator, trials: int) -> tuple[Counter[str], dict[str, float]]:
    """Count differences found where there are none; return the mean detectable differences too."""
    alarms: Counter[str] = Counter()
    limits: dict[str, list[float]] = {name: [] for name in ALL}
    for _ in range(trials):
        contrasts = ds.compare(sample(rng, Gain()), "a", "b").contrasts
        alarms.update(contrast.metric for contrast in contrasts if contrast.p < 0.05)
        alarms["any"] += any(contrast.sure for contrast in contrasts)
        for contrast in contrasts:
            limits[contrast.metric].append(contrast.detectable)
    return alarms, {name: float(np.mean(values)) for name, values in limits.items()}


def test_margin(rng: np.random.Generator, trials: int, samples: int, gain: Gain) -> Counter[tuple[str, str]]:
    """Count intervals that contain the true difference, and gates with that margin that fail or pass."""
    truth = true_differences(rng, gain, samples)
    gates = [f"{name}>={truth[name]:.17g}" for name in ALL]
    counts: Counter[tuple[str, str]] = Counter()
    for _ in range(trials):
        compared = ds.compare(sample(rng, gain), "a", "b", gates=gates)
        for name, contrast, gate in zip(ALL, compared.contrasts, compared.verdicts, strict=True):
            assert contrast.low <= contrast.high
            counts[name, "holds"] += contrast.low <= truth[name] <= contrast.high
            counts[name, gate.verdict] += 1
    return counts


def test_detectable(rng: np.random.Generator, trials: int, limits: dict[str, float]) -> Counter[str]:
    """Count the tests that find a difference of the detectable size."""
    gain = Gain(words=limits["words"], rating=limits["rated:overall"])
    counts: Counter[str] = Counter()
    for _ in range(trials):
        contrasts = ds.compare(sample(rng, gain), "a", "b", metrics=["words", "rated:overall"]).contrasts
        counts.update(contrast.metric for contrast in contrasts if contrast.p < 0.05)
    return counts


def true_differences(rng: np.random.Generator, gain: Gain, samples: int) -> dict[str, float]:
    """Return the mean differences over many samples; that of the ratings is the gain itself."""
    differences = []
    for _ in range(samples):
        result = sample(rng, gain)
        differences.append([result.score(name, "b") - result.score(name, "a") for name in METRICS])
    return dict(zip(ALL, [*np.mean(differences, axis=0).tolist(), gain.rating], strict=True))


def sample(rng: np.random.Generator, gain: Gain) -> ds.Result:
    """Return a random result of two systems; contexts are easy or hard for both of them."""
    examples, ratings = [], []
    for context in range(CONTEXTS):
        topic, ease = int(rng.integers(60)), rng.normal()
        reference = (text(rng, topic, Gain()),)
        for system, advantage in (("a", Gain()), ("b", gain)):
            reply = text(rng, topic, advantage)
            examples.append(ds.Example(str(context), system, reply, (f"c{context}",), reference))
            rating = float(3 + ease + advantage.rating + rng.normal())
            ratings.append(ds.Rating(str(context), system, "overall", "r", rating))
    return ds.evaluate(ds.Replies.of(examples, ratings), METRICS, seed=int(rng.integers(1 << 30)))


def text(rng: np.random.Generator, topic: int, gain: Gain) -> str:
    """Return a reply with words by Zipf's law, more than half of which belong to the topic."""
    extra = math.floor(gain.words) + (rng.random() < gain.words % 1)
    words = np.searchsorted(SHARES, rng.random(rng.integers(3, 16) + extra) * SHARES[-1])
    words = np.where(rng.random(len(words)) < 0.5 + gain.topic, topic * 7 + words % 7, words)
    return " ".join(f"w{word}" for word in words)


if __name__ == "__main__":
    main()
