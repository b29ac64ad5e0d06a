"""The composite: one number from several metrics that need no references, weighted by people's ratings."""

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import dialoscope.models.registry as assets
from dialoscope.core.arrays import Floats
from dialoscope.core.errors import BackendError, MetricError, TrainingError
from dialoscope.core.safe_text import printable
from dialoscope.core.signature import signature
from dialoscope.core.tally import Sums
from dialoscope.metrics import metric
from dialoscope.metrics.shared.base import Bounds, GradeMetric, Metric, Notes, measure_once
from dialoscope.metrics.shared.combination import Aspect, Combination, load
from dialoscope.models.asset_kinds import check_kind
from dialoscope.models.fakes import FAKE_COMPOSITE
from dialoscope.models.locations import SPEC
from dialoscope.models.protocols import Backend
from dialoscope.text.batch import Batch

FAKE = "fake"
SHOWN = 16
"""The number of digits of a hash in a signature."""


@dataclass(frozen=True)
class Composite(GradeMetric[Sums]):
    """A weighted sum of reference-free metrics on fixed scales, with weights fitted to people's ratings."""

    name = "composite"
    version = 1
    paper = "https://aclanthology.org/2020.acl-main.333"
    higher_is_better = True
    at_once = True
    tally = Sums
    paths = frozenset({"model"})

    aspect: Aspect = "overall"
    """The aspect that is scored: the reply as a whole, its fit to the context, its language, its interest."""
    model: str = "composite"
    """Parts, scales and weights: an asset, or the folder of a checkpoint."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", str(self.model))  # a Path is plain enough
        super().__post_init__()
        if "," in self.model or not self.model:
            raise MetricError("composite: model must be an asset or a folder without a comma in its name.")

    @property
    def bounds(self) -> Bounds:
        """The bounds of a share: each part is a share of replies, and weights add up to 1."""
        return Bounds(0, 1)

    @property
    def needs(self) -> frozenset[str]:
        """The needs of all parts with a weight."""
        return frozenset().union(*(self.parts[index].needs for index in self._used_parts))

    @property
    def parts(self) -> tuple[Metric[Any], ...]:
        """The metrics that it combines, including those of other aspects."""
        combination = self.combination
        names = (part.metric for part in combination.parts)
        return _parts_of(tuple(zip(names, combination.signatures, strict=True)))

    @property
    def combination(self) -> Combination:
        """Parts, scales and weights, read again where the file has changed."""
        if self.model == FAKE:
            return _fake()
        spec = _folder(self.model) / SPEC
        return _load_cached(spec.parent, spec.stat().st_mtime_ns if spec.exists() else 0)

    @property
    def backends(self) -> tuple[Backend, ...]:
        """The models behind all parts."""
        return tuple(dict.fromkeys(model for part in self.parts for model in part.backends))

    @property
    def asset_names(self) -> tuple[str, ...]:
        """The composite itself, where it is an asset, and what its parts are made with."""
        own = (self.model,) if self.model in assets.ASSETS and not Path(self.model).is_dir() else ()
        return tuple(dict.fromkeys((*own, *(name for part in self.parts for name in part.asset_names))))

    @property
    def tolerance(self) -> float:
        """The largest error of a part, on its scale."""
        combination = self._combination_with_weights
        steps = zip(combination.weights[self.aspect], combination.scales, self.parts, strict=True)
        return max(1e-9, math.fsum(weight * scale.steepest * part.tolerance for weight, scale, part in steps))

    @property
    def statistics(self) -> Hashable:
        """The key of the values of the parts, which serve all aspects."""
        return "parts", self.model

    @property
    def signature(self) -> str:
        """The signature with a hash of parts, scales and weights."""
        model = f"[{printable(self.model)}|sha256:{self.combination.hash[:SHOWN]}]"
        return f"{self.name}|aspect:{self.aspect}|model:{model}|v:{self.version}"

    def announce(self, batch: Batch) -> None:
        """Announce the queries of the parts; first refuse models that the weights were not fitted to."""
        self._check_models()
        for part in self.parts:
            part.announce(batch)

    def measure(self, batch: Batch) -> Sums:
        """The value of each part; all are undefined for an empty reply."""
        columns = [part.score_each(measure_once(part, batch)) for part in self.parts]
        values = np.array(columns, float).reshape(len(self.parts), len(batch)).T
        silent = np.array([not example.response.strip() for example in batch], bool)
        return Sums(np.where(silent[:, None], math.nan, values))

    def warnings(self, batch: Batch) -> list[str]:
        """The warnings of its parts."""
        return [note for part in self.parts for note in part.warnings(batch)]

    def score_each(self, tally: Sums) -> Floats:
        """The score; undefined if all parts, or all those that need a context, are undefined."""
        values = _values(tally, len(self.parts))
        scores = self._combination_with_weights.scores(values, self.aspect)
        bound = [index for index in self._used_parts if "context" in self.parts[index].needs]
        is_missing = np.isnan(values[:, bound]).all(axis=1) if bound else np.zeros(len(values), bool)
        return np.where(is_missing, math.nan, scores)

    def _parts_of_replies(self, tally: Sums) -> Mapping[str, Floats]:
        """The contribution of each part to the neutral value, .5; NaN where the part is undefined."""
        values = _values(tally, len(self.parts))
        added = self.combination.contributions(values, self.aspect)
        added = np.where(np.isnan(values) | np.isnan(self.score_each(tally))[:, None], math.nan, added)
        return {self.combination.parts[index].name: added[:, index] for index in self._used_parts}

    def notes(self, tally: Sums) -> Notes:
        """The mean contribution of each part, and the number of replies for which it is undefined."""
        parts = self._parts_of_replies(tally)
        defined = ~np.isnan(self.score_each(tally))
        numbers: dict[str, float] = {}
        if defined.any():
            for name, added in parts.items():
                numbers[name] = math.fsum(np.nan_to_num(added[defined]).tolist()) / int(defined.sum())
            for name, added in parts.items():
                if neutral := int(np.isnan(added[defined]).sum()):
                    numbers[f"without {name}"] = float(neutral)
        return Notes(numbers, parts=parts)

    @property
    def _used_parts(self) -> list[int]:
        return self._combination_with_weights.find_used(self.aspect)

    @property
    def _combination_with_weights(self) -> Combination:
        """The combination, if it has weights for the aspect."""
        combination = self.combination
        if self.aspect not in combination.weights:
            raise MetricError(
                f"composite: {printable(self.model)} has no weights for {self.aspect}, for which there "
                f"were no ratings to fit them to; it has: {', '.join(combination.weights)}."
            )
        return combination

    def _check_models(self) -> None:
        hashes = self.combination.models
        for model in self.backends:
            if hashes.get(signature(model), model.fingerprint) != model.fingerprint:
                raise MetricError(
                    f"composite: {printable(self.model)} was fitted with other weights than those that "
                    f"{model} has now, so its own do not suit them. Fit it again: dialoscope train composite."
                )


def _values(tally: Sums, parts: int) -> Floats:
    return np.asarray(tally.rows, float).reshape(-1, parts)


def _folder(model: str) -> Path:
    """Return the folder of a checkpoint, which may be an asset."""
    if Path(model).is_dir():
        return Path(model)
    if model not in assets.ASSETS:
        raise MetricError(
            f"composite: there is no folder '{printable(model)}', nor an asset of that name. Make one with "
            "dialoscope train composite."
        )
    try:
        return assets.locate(check_kind(model, "composite", "composite"))
    except BackendError as other:
        raise MetricError(str(other)) from other


@lru_cache(maxsize=8)
def _load_cached(folder: Path, changed: int) -> Combination:
    try:
        return load(folder)
    except TrainingError as error:
        raise MetricError(f"composite: {error}") from error


@lru_cache(maxsize=8)
def _parts_of(parts: tuple[tuple[str, str], ...]) -> tuple[Metric[Any], ...]:
    """Return the metrics, whose signatures must be those to which the scales were fitted."""
    metrics = tuple(metric(name) for name, _ in parts)
    for part, (_, signature_then) in zip(metrics, parts, strict=True):
        if signature_then and part.signature != signature_then:
            raise MetricError(
                f"composite: its parts were fitted as {signature_then}, but this Dialoscope makes "
                f"{part.signature}. Fit it again: dialoscope train composite."
            )
        if part.to_fit:
            raise MetricError(f"composite: {part} has a scale of its own that is fitted to each run.")
    return metrics


@cache
def _fake() -> Combination:
    return Combination.of(FAKE_COMPOSITE)
