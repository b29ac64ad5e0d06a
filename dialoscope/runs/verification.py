"""Scoring the data of a run again, and comparing all numbers."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dialoscope.core.arrays import Floats
from dialoscope.core.errors import RunError
from dialoscope.core.safe_text import printable
from dialoscope.data.perturb.perturbed import Perturbed
from dialoscope.data.perturb.plan import PerturbationPlan
from dialoscope.data.replies import RowSource, read
from dialoscope.metrics import Metric
from dialoscope.models.cache import bypass_cache
from dialoscope.models.corpus import read_corpora_from
from dialoscope.runs import store
from dialoscope.runs.evaluate import evaluate
from dialoscope.runs.result import Result


@dataclass(frozen=True)
class Verification:
    """The number of values, scores and ratings that were compared, and those that differ."""

    checked: int
    """The number of values, scores and ratings."""
    differences: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether every number is the same."""
        return not self.differences


def verify(
    run: str | Path,
    data: Sequence[str | Path] = (),
    *,
    replies: Mapping[str, str | Path] | None = None,
    real: str | Path | None = None,
    licence: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> Verification:
    """Score the data of a run again and compare every value, score and rating.

    Args:
        run: The folder of the run; that it is whole and unchanged is checked first.
        data: Where the data is now, if not where it was.
        replies: Where the systems' replies are now, if they were in files of their own.
        real: Where the corpus is now that the run was compared with, if not where it was.
        licence: `permissive` refuses a run whose numbers were made with other models; as for `evaluate`.
        progress: Called with the number of bytes that were read since the last call.
    """
    old = Result.load(run)
    with bypass_cache(), read_corpora_from(real):
        new = evaluate(
            _source(old, run, data, replies or {}),
            old.metrics,
            missing=old.provenance.missing,
            licence=licence,
            seed=old.provenance.seed,
            progress=progress,
        )
    if new.provenance.data != old.provenance.data:
        return Verification(0, (_other_data(old, new),))
    before, after = _Numbers.of(old), _Numbers.of(new)
    differences = [
        *_compare_inputs(old, new),
        *_compare_numbers(old, before, after),
        *_compare_records(store.read_recorded_numbers(Path(run)), new, after),
    ]
    return Verification(before.size + len(old.ratings), tuple(differences))


class _Numbers(NamedTuple):
    """All numbers of a run, each made once."""

    values: Mapping[Metric[Any], Floats]
    scores: Mapping[tuple[Metric[Any], str], float]

    @classmethod
    def of(cls, result: Result) -> "_Numbers":
        """The value of each reply, and the score of each system."""
        return cls(
            {metric: result.values(metric) for metric in result.metrics},
            {pair: result.score(*pair) for pair in product(result.metrics, result.systems)},
        )

    @property
    def size(self) -> int:
        """The number of scores, and of values of metrics that have any."""
        return len(self.scores) + sum(len(self.values[metric]) for metric in self.values if metric.of_replies)


def _source(
    old: Result, run: str | Path, data: Sequence[str | Path], replies: Mapping[str, str | Path]
) -> RowSource:
    try:
        source = dict(old.provenance.source or {"on_error": "skip" if old.provenance.skipped else "stop"})
        paths, names = source.pop("paths", []), source.pop("names", ["system"])
        perturbed = source.pop("perturbed", None)
        if data and len(data) == len(names) == 1 and source.get("system") is None:
            source["system"] = names[0]  # the file may be called otherwise by now
        arguments: dict[str, Any] = {**source, "replies": {**source.get("replies", {}), **replies}}
        paths = list(data) or paths
        if not paths or "-" in map(str, (*paths, *arguments["replies"].values())):
            raise RunError(
                f"{run} was not scored from files that can be read again. "
                "Name its data with --data FILE and --replies SYSTEM=FILE (data=, replies=)."
            )
        rows = read(*paths, **arguments)
        return rows if perturbed is None else Perturbed.of(rows, PerturbationPlan(**perturbed))
    except (TypeError, ValueError, AttributeError) as broken:
        raise RunError(f"{run} does not say where its data is ({broken}). Score the data again.") from broken


def _other_data(old: Result, new: Result) -> str:
    return (
        f"the data is not the same: the run was made from {old.provenance.replies} replies with the hash "
        f"{printable(old.provenance.data)}, now there are {new.provenance.replies} with {new.provenance.data}"
    )


def _compare_inputs(old: Result, new: Result) -> Iterator[str]:
    for model, was in old.provenance.models.items():
        is_now = new.provenance.models.get(model, "unknown")
        if was != is_now:
            yield f"the model {model} has changed: its hash was {was}, is {is_now}"
    if old.ratings != new.ratings:
        yield "the ratings in the data are not those of the run"


def _compare_numbers(old: Result, before: _Numbers, after: _Numbers) -> Iterator[str]:
    for metric in old.metrics:
        for system in old.systems:
            was, is_now = before.scores[metric, system], after.scores[metric, system]
            if not _are_close(was, is_now, metric):
                yield f"{metric} of {system} was {was!r}, is {is_now!r}"
        were, are, tolerance = before.values[metric], after.values[metric], metric.tolerance
        rows = np.flatnonzero(~np.isclose(were, are, rtol=tolerance, atol=tolerance, equal_nan=True))
        if len(rows):
            first = int(rows[0])
            yield (
                f"{metric} differs for {len(rows)} of {len(were)} replies; that of "
                f"'{old.replies.ids[first]}' was {float(were[first])!r}, is {float(are[first])!r}"
            )


def _compare_records(record: store.RecordedNumbers, new: Result, after: _Numbers) -> Iterator[str]:
    """Numbers in the files of the run that differ from those made again."""
    for name, values in record.values.items():
        metric = new.named(name)
        if not _are_close(values, after.values[metric], metric).all():
            yield f"the values of {name} in replies.parquet are not those of its replies"
    for cell in record.cells:
        metric, value = new.named(cell["metric"]), cell["value"]
        if (metric, cell["system"]) not in after.scores:
            yield f"the manifest has a score of {printable(str(cell['system']))}, which the run does not have"
            continue
        score = after.scores[metric, cell["system"]]
        if not _are_close(math.nan if value is None else value, score, metric):
            yield f"the manifest says {cell['metric']} of {cell['system']} is {value}"


def _are_close(were: Floats | float, are: Floats | float, metric: Metric[Any]) -> NDArray[np.bool_]:
    """Whether numbers are equal within the tolerance of the metric, one by one."""
    return np.isclose(were, are, rtol=metric.relative_tolerance, atol=metric.tolerance, equal_nan=True)
