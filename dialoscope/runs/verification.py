"""Do the numbers of a run still hold?"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
    """What was looked at, and what was found to differ."""

    checked: int
    """Numbers compared."""
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
        progress: Told how many bytes more have been read.
    """
    old = Result.load(run)
    with bypass_cache(), read_corpora_from(real):
        new = evaluate(
            _source(old, run, data, replies or {}),
            old.metrics,
            lacking=old.provenance.lacking,
            licence=licence,
            seed=old.provenance.seed,
            progress=progress,
        )
    if new.provenance.data != old.provenance.data:
        return Verification(0, (_other_data(old, new),))
    return Verification(_count(old), (*_differences(old, new), *_misrecorded(store.recorded(Path(run)), new)))


def _count(result: Result) -> int:
    of_replies = sum(len(result.replies) for one in result.metrics if one.of_replies)
    return of_replies + len(result.metrics) * len(result.systems) + len(result.ratings)


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
        found = read(*paths, **arguments)
        return found if perturbed is None else Perturbed.of(found, PerturbationPlan(**perturbed))
    except (TypeError, ValueError, AttributeError) as broken:
        raise RunError(f"{run} does not say where its data is ({broken}). Score the data again.") from broken


def _other_data(old: Result, new: Result) -> str:
    return (
        f"the data is not the same: the run was made from {old.provenance.replies} replies with the hash "
        f"{printable(old.provenance.data)}, now there are {new.provenance.replies} with {new.provenance.data}"
    )


def _differences(old: Result, new: Result) -> Iterator[str]:
    for model, was in old.provenance.models.items():
        is_now = new.provenance.models.get(model, "unknown")
        if was != is_now:
            yield f"what is behind {model} has changed: its hash was {was}, is {is_now}"
    if old.ratings != new.ratings:
        yield "the ratings in the data are not those of the run"
    for one in old.metrics:
        for system in old.systems:
            before, after = old.score(one, system), new.score(one, system)
            if not _near(before, after, one):
                yield f"{one} of {system} was {before!r}, is {after!r}"
        were, are = old.values(one), new.values(one)
        apart = np.flatnonzero(~np.isclose(were, are, rtol=one.tolerance, atol=one.tolerance, equal_nan=True))
        if len(apart):
            first = int(apart[0])
            yield (
                f"{one} differs for {len(apart)} of {len(were)} replies; that of '{old.replies.ids[first]}' "
                f"was {float(were[first])!r}, is {float(are[first])!r}"
            )


def _misrecorded(record: store.Recorded, new: Result) -> Iterator[str]:
    """What the run's files say that its statistics do not."""
    for name, values in record.values.items():
        if not _near(values, new.values(name), new.named(name)).all():
            yield f"the values of {name} in replies.parquet are not those of its replies"
    for cell in record.cells:
        value = math.nan if cell["value"] is None else cell["value"]
        if not _near(value, new.score(cell["metric"], cell["system"]), new.named(cell["metric"])):
            yield f"the manifest says {cell['metric']} of {cell['system']} is {cell['value']}"


def _near(were: Floats | float, are: Floats | float, one: Metric[Any]) -> NDArray[np.bool_]:
    """Which numbers are the same."""
    return np.isclose(were, are, rtol=one.relative_tolerance, atol=one.tolerance, equal_nan=True)
