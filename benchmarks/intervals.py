"""Coverage of the 95 % intervals of a system's values.

    python benchmarks/intervals.py [--trials 300] [--quick]

Replies are sampled from a known source (words by Zipf's law, habits that differ between replies), so that the
true value of a system with so many replies is the mean over many samples. The peer is the plain percentile
bootstrap of the pooled metrics: resampling repeats replies, which lowers Distinct and entropy in every
resample, so that its intervals miss the truth. That is why pooled metrics have jackknife intervals
(docs/design/intervals.md).
"""

import sys

import numpy as np

import dialoscope as ds
from benchmarks._shared import benchmark_parser
from dialoscope.runs.resampling import percentile_interval
from dialoscope.text.batch import Batch

METRICS = ["bleu-2", "rouge-l", "words", "distinct-1", "distinct-2", "entropy-2", "self-bleu-2"]
POOLED = METRICS[3:]
REPLIES = 150
BAR = 0.90


def main() -> None:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--trials", type=int, default=300, help="number of data sets")
    options = parser.parse_args()
    trials, samples = (2, 10) if options.quick else (options.trials, 400)
    rng = np.random.default_rng(0)
    truth = true_values(rng, samples)
    ours = dict.fromkeys(METRICS, 0)
    plain = dict.fromkeys(POOLED, 0)
    for _ in range(trials):
        examples = sample(rng)
        result = ds.evaluate(examples, METRICS)
        for name in METRICS:
            low, high = result.interval(name, "system")
            assert low <= high
            ours[name] += low <= truth[name] <= high
        for name in POOLED:
            low, high = plain_bootstrap(ds.metric(name), examples, rng)
            plain[name] += low <= truth[name] <= high
    print(f"{trials} trials of {REPLIES} replies; coverage of a 95 % interval")
    print(f"{'metric':14}{'ours':>8}{'plain bootstrap':>18}")
    for name in METRICS:
        other = f"{plain[name] / trials:.3f}" if name in plain else "(the same)"
        print(f"{name:14}{ours[name] / trials:8.3f}{other:>18}")
    worst = min(ours.values()) / trials
    print(f"worst coverage of a 95 % interval {worst:.3f}; bar {BAR}")
    sys.exit(worst < BAR and not options.quick)


def sample(rng: np.random.Generator, vocabulary: int = 2000) -> list[ds.Example]:
    """Return random replies with references, each with a topic that half of its words belong to."""
    share = np.cumsum(1 / np.arange(1, vocabulary + 1))

    def text(topic: int) -> str:
        words = np.searchsorted(share, rng.random(rng.integers(3, 16)) * share[-1])
        words = np.where(rng.random(len(words)) < 0.5, topic * 7 + words % 7, words)
        return " ".join(f"w{word}" for word in words)

    topics = rng.integers(0, 60, REPLIES)
    return [ds.Example(str(i), "system", text(t), (f"c{i}",), (text(t),)) for i, t in enumerate(topics)]


def true_values(rng: np.random.Generator, samples: int) -> dict[str, float]:
    metrics = [ds.metric(name) for name in METRICS]
    scores = []
    for _ in range(samples):
        batch = Batch(sample(rng))
        scores.append([metric.score(metric.measure(batch)) for metric in metrics])
    return dict(zip(METRICS, np.mean(scores, axis=0).tolist(), strict=True))


def plain_bootstrap(
    metric: ds.Metric, examples: list[ds.Example], rng: np.random.Generator
) -> tuple[float, float]:
    tally = metric.measure(Batch(examples))
    resampled = [metric.score(tally.take(rng.integers(REPLIES, size=REPLIES))) for _ in range(200)]
    return percentile_interval(np.array(resampled), 0.95, REPLIES)


if __name__ == "__main__":
    main()
