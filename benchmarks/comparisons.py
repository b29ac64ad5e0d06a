"""Are comparisons right as often as they say?

    python benchmarks/comparisons.py [--trials 400] [--quick]

Two systems reply to the same contexts, with words from the source of benchmarks/intervals.py, and are rated.
Where both have the same source, no difference should be found more often than 5 times in 100, by any one
metric, nor by any of all of them after Holm's correction. Where the second keeps more to its topic, has more
words and better ratings, the true difference is known as the mean over many draws: 95 % intervals should hold
it, a gate whose margin is the true difference should stop a release in at most 5 of 100 trials, and with
--strict let it pass in at most 5. Last, the second system is made better by just what is said to be
detectable: 80 of 100 tests should find it.
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
LEAST_COVERAGE, MOST_ALARMS, POWER = 0.90, 0.09, (0.70, 0.90)


class Gain(NamedTuple):
    """How much better the second system is."""

    topic: float = 0.0
    words: float = 0.0
    rating: float = 0.0


def main() -> None:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--trials", type=int, default=400)
    chosen = parser.parse_args()
    trials, draws = (2, 10) if chosen.quick else (chosen.trials, 1000)
    rng = np.random.default_rng(0)
    alarms, limits = false_alarms(rng, trials)
    found = at_the_margin(rng, trials, draws, Gain(0.1, 1.0, 0.3))
    power = at_the_limit(rng, trials, limits)
    print(f"{trials} trials of {CONTEXTS} contexts; shares of trials")
    print(f"{'':16}{'false alarm':>12}{'95 % holds':>12}{'gate stops':>12}{'strict lets':>12}{'power':>8}")
    for name in ALL:
        shares = [alarms[name], *(found[name, what] for what in ("holds", "failed", "passed"))]
        told = f"{power[name] / trials:8.3f}" if name in power else ""
        print(f"{name:16}" + "".join(f"{share / trials:12.3f}" for share in shares) + told)
    print(f"{'any, after Holm':16}{alarms['any'] / trials:12.3f}")
    coverage = min(found[name, "holds"] for name in ALL) / trials
    errors = [*alarms.values(), *(found[name, what] for name in ALL for what in ("failed", "passed"))]
    powers = [many / trials for many in power.values()]
    print(
        f"worst coverage {coverage:.3f}, bar {LEAST_COVERAGE}; most errors {max(errors) / trials:.3f}, bar "
        f"{MOST_ALARMS}; power {min(powers):.3f} to {max(powers):.3f}, bar {POWER[0]} to {POWER[1]}"
    )
    fine = coverage >= LEAST_COVERAGE and max(errors) / trials <= MOST_ALARMS
    fine = fine and POWER[0] <= min(powers) and max(powers) <= POWER[1]
    sys.exit(not fine and not chosen.quick)


def false_alarms(rng: np.random.Generator, trials: int) -> tuple[Counter[str], dict[str, float]]:
    """How often a difference is found where there is none, and how large one must be to be detected."""
    alarms: Counter[str] = Counter()
    limits: dict[str, list[float]] = {name: [] for name in ALL}
    for _ in range(trials):
        found = ds.compare(draw(rng, Gain()), "a", "b")
        alarms.update(one.metric for one in found.contrasts if one.p < 0.05)
        alarms["any"] += any(one.sure for one in found.contrasts)
        for one in found.contrasts:
            limits[one.metric].append(one.detectable)
    return alarms, {name: float(np.mean(values)) for name, values in limits.items()}


def at_the_margin(rng: np.random.Generator, trials: int, draws: int, gain: Gain) -> Counter[tuple[str, str]]:
    """How often intervals hold the true difference, and gates with that margin fail or pass."""
    truth = true_differences(rng, gain, draws)
    gates = [f"{name}>={truth[name]:.17g}" for name in ALL]
    found: Counter[tuple[str, str]] = Counter()
    for _ in range(trials):
        compared = ds.compare(draw(rng, gain), "a", "b", gates=gates)
        for name, one, gate in zip(ALL, compared.contrasts, compared.verdicts, strict=True):
            assert one.low <= one.high
            found[name, "holds"] += one.low <= truth[name] <= one.high
            found[name, gate.verdict] += 1
    return found


def at_the_limit(rng: np.random.Generator, trials: int, limits: dict[str, float]) -> Counter[str]:
    """How often what is said to be detectable is detected."""
    gain = Gain(words=limits["words"], rating=limits["rated:overall"])
    found: Counter[str] = Counter()
    for _ in range(trials):
        contrasts = ds.compare(draw(rng, gain), "a", "b", metrics=["words", "rated:overall"]).contrasts
        found.update(one.metric for one in contrasts if one.p < 0.05)
    return found


def true_differences(rng: np.random.Generator, gain: Gain, draws: int) -> dict[str, float]:
    """Between systems with so many replies; that of the ratings is what was put in."""
    apart = []
    for _ in range(draws):
        result = draw(rng, gain)
        apart.append([result.score(name, "b") - result.score(name, "a") for name in METRICS])
    return dict(zip(ALL, [*np.mean(apart, axis=0).tolist(), gain.rating], strict=True))


def draw(rng: np.random.Generator, gain: Gain) -> ds.Result:
    """A run of two systems; contexts are easy or hard for both of them."""
    examples, ratings = [], []
    for place in range(CONTEXTS):
        topic, ease = int(rng.integers(60)), rng.normal()
        reference = (text(rng, topic, Gain()),)
        for system, more in (("a", Gain()), ("b", gain)):
            said = text(rng, topic, more)
            examples.append(ds.Example(str(place), system, said, (f"c{place}",), reference))
            rating = float(3 + ease + more.rating + rng.normal())
            ratings.append(ds.Rating(str(place), system, "overall", "r", rating))
    return ds.evaluate(ds.Replies.of(examples, ratings), METRICS, seed=int(rng.integers(1 << 30)))


def text(rng: np.random.Generator, topic: int, more: Gain) -> str:
    extra = math.floor(more.words) + (rng.random() < more.words % 1)
    words = np.searchsorted(SHARES, rng.random(rng.integers(3, 16) + extra) * SHARES[-1])
    words = np.where(rng.random(len(words)) < 0.5 + more.topic, topic * 7 + words % 7, words)
    return " ".join(f"w{word}" for word in words)


if __name__ == "__main__":
    main()
