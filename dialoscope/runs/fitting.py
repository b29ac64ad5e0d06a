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
    """Metrics whose scales are set."""

    metrics: tuple[Metric[Any], ...]
    here: tuple[str, ...]
    """Those that were fitted to these replies."""
    warnings: tuple[str, ...]


def fitted(metrics: Sequence[Metric[Any]], tallies: Mapping[Hashable, Tally], rows: Ints) -> Fits:
    """The metrics, each fitted to its statistics of these replies where it has anything to fit."""
    found = [one.fit_scale(tallies[one.statistics].take(rows)) if one.to_fit else Fit(one) for one in metrics]
    return Fits(
        metrics=tuple(dict.fromkeys(one.metric for one in found)),
        here=tuple(str(new.metric) for old, new in zip(metrics, found, strict=True) if new.metric != old),
        warnings=tuple(one.warning for one in found if one.warning),
    )


def rows_of(systems: Sequence[str], index: ReplyIndex) -> Ints:
    """The places of the replies of these systems; of all where none is named."""
    for system in systems:
        if system not in index.systems:
            raise MetricError(
                f"There is no system '{system}' to fit to; there are: {', '.join(index.systems)}."
            )
    chosen = [place for place, system in enumerate(index.systems) if system in (systems or index.systems)]
    return np.flatnonzero(np.isin(index.system, chosen))


def fitted_as_in(run: Result | None, metrics: Sequence[Metric[Any]]) -> tuple[Metric[Any], ...]:
    """The metrics as they were fitted in a run; one that needs fitting must be there."""
    return tuple(metrics) if run is None else tuple(_as_in(run, one) for one in metrics)


def _as_in(run: Result, one: Metric[Any]) -> Metric[Any]:
    if not one.to_fit:
        return one
    found = [other for other in run.metrics if other.unfitted == one and not other.to_fit]
    if len(found) != 1:
        raise MetricError(
            f"The scale of {one} cannot be taken from that run, which has {len(found) or 'none'} of it; its "
            f"metrics are: {', '.join(map(str, run.metrics))}. Name one of these, or fit the scale anew."
        )
    return found[0]


def changed_since(run: Result | None, models: Mapping[str, str]) -> Iterator[str]:
    """What is behind a model is no longer what it was when scales were fitted."""
    for model, fingerprint in models.items():
        if run and run.provenance.models.get(model, fingerprint) != fingerprint:
            yield (
                f"What is behind {model} has changed since the run whose scales are used; "
                "numbers of the two cannot be compared."
            )
