"""Scales that are fitted to the replies of a run, or taken from another run."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dialoscope.core.arrays import Ints
from dialoscope.core.errors import MetricError
from dialoscope.core.tally import Tally
from dialoscope.metrics import Metric
from dialoscope.metrics.shared.base import Fit
from dialoscope.runs.result import ReplyIndex, Result


class Fits(NamedTuple):
    """Metrics with their scales."""

    metrics: tuple[Metric[Any], ...]
    fitted: tuple[str, ...]
    """The names of the metrics that were fitted to these replies."""
    warnings: tuple[str, ...]


def fit_scales(metrics: Sequence[Metric[Any]], tallies: Mapping[Hashable, Tally], rows: Ints) -> Fits:
    """The metrics, each with its scale fitted to its statistics of these replies if it has a scale to fit."""
    fits = [
        metric.fit_scale(tallies[metric.statistics].take(rows)) if metric.to_fit else Fit(metric)
        for metric in metrics
    ]
    return Fits(
        metrics=tuple(dict.fromkeys(fit.metric for fit in fits)),
        fitted=tuple(
            str(fit.metric) for metric, fit in zip(metrics, fits, strict=True) if fit.metric != metric
        ),
        warnings=tuple(fit.warning for fit in fits if fit.warning),
    )


def rows_of(systems: Sequence[str], index: ReplyIndex) -> Ints:
    """The rows of the replies of these systems; of all if none is named."""
    for system in systems:
        if system not in index.systems:
            raise MetricError(
                f"There is no system '{system}' to fit to; there are: {', '.join(index.systems)}."
            )
    chosen = [number for number, system in enumerate(index.systems) if system in (systems or index.systems)]
    return np.flatnonzero(np.isin(index.system, chosen))


def take_scales(run: Result | None, metrics: Sequence[Metric[Any]]) -> tuple[Metric[Any], ...]:
    """The metrics with the scales that a run has for them; as they are if there is no run."""
    return tuple(metrics) if run is None else tuple(_with_scale_of(run, metric) for metric in metrics)


def _with_scale_of(run: Result, metric: Metric[Any]) -> Metric[Any]:
    if not metric.to_fit:
        return metric
    matches = [other for other in run.metrics if other.unfitted == metric and not other.to_fit]
    if len(matches) != 1:
        raise MetricError(
            f"The scale of {metric} cannot be taken from that run, which has {len(matches) or 'none'} of it; "
            f"its metrics are: {', '.join(map(str, run.metrics))}. Name one of these, or fit the scale anew."
        )
    return matches[0]


def warn_of_changed_models(run: Result | None, models: Mapping[str, str]) -> Iterator[str]:
    """A warning for each model that has changed since scales were fitted in a run."""
    for model, fingerprint in models.items():
        if run and run.provenance.models.get(model, fingerprint) != fingerprint:
            yield (
                f"The model {model} has changed since the run whose scales are used; "
                "numbers of the two cannot be compared."
            )
