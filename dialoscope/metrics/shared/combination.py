"""A number made from several metrics: parts on fixed scales, and a weight for each."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from dialoscope.core.arrays import Floats
from dialoscope.core.errors import TrainingError
from dialoscope.core.safe_text import printable
from dialoscope.models.checkpoints import IN_SPEC
from dialoscope.models.locations import SPEC

Aspect = Literal["overall", "coherence", "fluency", "engagement"]
ASPECTS: tuple[Aspect, ...] = get_args(Aspect)

NEUTRAL = 0.5
"""The merit of a part that is as good as usual, or undefined."""

FEW = 0.05
"""The share of replies beyond which there is an excess."""

RECIPE = "composite"
"""The name of the recipe in the checkpoint."""


@dataclass(frozen=True)
class CombinationPart:
    """A metric as a part of another."""

    name: str
    """Its name beside the number."""
    metric: str
    better: Literal["more", "less"] = "more"
    cap: float = math.inf
    """The value above which more is no longer better."""
    aspects: tuple[str, ...] = ASPECTS
    """The aspects whose scores it can be a part of."""
    excess: float = 0.0
    """The additional deduction from a reply whose share is 1, for a share of which less is better."""

    def __post_init__(self) -> None:
        if not self.name.isprintable():  # it is shown wherever the number is, whoever made the checkpoint
            raise TrainingError(f"A part is called '{printable(self.name)}'; name it in visible characters.")

    def to_dict(self) -> dict[str, Any]:
        """The part as plain values; an infinite cap becomes None."""
        return {**asdict(self), "cap": None if self.cap == math.inf else self.cap, "aspects": [*self.aspects]}

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "CombinationPart":
        """The part that `to_dict` made these values of."""
        cap = math.inf if values["cap"] is None else values["cap"]
        return cls(**{**values, "cap": cap, "aspects": tuple(values["aspects"])})


class Scale(NamedTuple):
    """The share of replies that have a lower value, interpolated linearly between knots."""

    values: tuple[float, ...]
    shares: tuple[float, ...]

    def __call__(self, values: Floats) -> Floats:
        """The share for each value, between 0 and 1; NaN where there is no value."""
        return np.asarray(np.interp(values, self.values, self.shares))

    @property
    def rare(self) -> float:
        """The value that few replies exceed."""
        return float(np.interp(1 - FEW, self.shares, self.values))

    @property
    def steepest(self) -> float:
        """The largest slope: the growth of the share where the value grows by 1."""
        steps = np.diff(self.values)
        return float(max(np.diff(self.shares) / steps, default=0.0)) if len(steps) else 0.0


@dataclass(frozen=True)
class Combination:
    """Parts, the scale of each, and for each aspect a weight for each part; the weights add up to 1."""

    parts: tuple[CombinationPart, ...]
    scales: tuple[Scale, ...]
    weights: Mapping[str, tuple[float, ...]]
    signatures: tuple[str, ...]
    """The signatures of the parts to whose numbers scales and weights were fitted."""
    models: Mapping[str, str] = field(default_factory=dict)
    """The hash of each model behind the parts, by its signature."""

    def merits(self, values: Floats) -> Floats:
        """The merit of each part of each reply: the share of replies that are worse; NaN stays."""
        columns = [
            scale(np.minimum(column, part.cap)) if part.better == "more" else 1 - scale(column)
            for part, scale, column in zip(self.parts, self.scales, values.T, strict=True)
        ]
        return np.stack(columns, axis=1)

    def contributions(self, values: Floats, aspect: str) -> Floats:
        """The contribution of each part to the neutral value; 0 where it is undefined."""
        merits = self.merits(values)
        weighted = (merits - NEUTRAL) * np.array(self.weights[aspect], float)
        return np.asarray(np.nan_to_num(weighted - self._excess(values, aspect)), float)

    def _excess(self, values: Floats, aspect: str) -> Floats:
        """The deductions for unusually high shares; too few rated replies have them to fit a weight."""
        columns = [
            part.excess * np.clip((column - scale.rare) / max(1 - scale.rare, 1e-9), 0, 1)
            if aspect in part.aspects and part.excess
            else np.zeros(len(column))
            for part, scale, column in zip(self.parts, self.scales, values.T, strict=True)
        ]
        return np.stack(columns, axis=1)

    def scores(self, values: Floats, aspect: str) -> Floats:
        """The neutral value plus all contributions; NaN where no part with a weight is defined."""
        is_defined = ~np.isnan(values[:, self.find_used(aspect)]).all(axis=1)
        added: Floats = sum(self.contributions(values, aspect).T, np.full(len(values), NEUTRAL))
        return np.where(is_defined, np.clip(added, 0, 1), math.nan)

    def find_used(self, aspect: str) -> list[int]:
        """The indices of the parts that can change the score, by their weight or by an excess."""
        return [
            index
            for index, (part, weight) in enumerate(zip(self.parts, self.weights[aspect], strict=True))
            if weight > 0 or (part.excess and aspect in part.aspects)
        ]

    def to_dict(self) -> dict[str, Any]:
        """The combination as plain values."""
        return {
            "parts": [part.to_dict() for part in self.parts],
            "scales": [{"values": [*scale.values], "shares": [*scale.shares]} for scale in self.scales],
            "weights": {aspect: [*weights] for aspect, weights in self.weights.items()},
            "signatures": list(self.signatures),
            "models": dict(self.models),
        }

    @property
    def hash(self) -> str:
        """The hash of everything that a number depends on."""
        return sha256(json.dumps(self.to_dict(), sort_keys=True).encode()).hexdigest()

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "Combination":
        """The combination of these values; `ValueError` or the like if one is missing or does not fit."""
        parts = tuple(map(CombinationPart.of, values["parts"]))
        scales = tuple(Scale(tuple(scale["values"]), tuple(scale["shares"])) for scale in values["scales"])
        weights = {aspect: tuple(numbers) for aspect, numbers in values["weights"].items()}
        combination = cls(parts, scales, weights, tuple(values["signatures"]), dict(values["models"]))
        _check(combination)
        return combination


def load(folder: Path) -> Combination:
    """The combination that a training left in a folder; one that is damaged or of another kind is refused."""
    try:
        spec = json.loads((folder / SPEC).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise TrainingError(f"{folder} holds no finished checkpoint: {error}") from error
    if not isinstance(spec, dict) or spec.get("recipe") != RECIPE:
        raise TrainingError(f"{folder} holds no composite; make one with dialoscope train composite.")
    try:
        combination = Combination.of(spec["combination"])
    except (LookupError, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise TrainingError(f"{folder} is damaged: {SPEC} holds no whole combination ({error!r}).") from error
    if combination.hash != spec.get(IN_SPEC):
        raise TrainingError(f"{folder} is damaged: its weights are not those that the training left there.")
    return combination


def _check(combination: Combination) -> None:
    count = len(combination.parts)
    if not combination.weights or not combination.weights.keys() <= set(ASPECTS):
        raise ValueError("weights are of no aspect that is known")
    if not count or not all(
        len(column) == count
        for column in (combination.scales, combination.signatures, *combination.weights.values())
    ):
        raise ValueError("parts, scales, signatures and weights are not of one number")
    for scale in combination.scales:
        rises = np.all(np.diff(scale.values) > 0) and np.all(np.diff(scale.shares) >= 0)
        if len(scale.values) != len(scale.shares) or not scale.values or not rises:
            raise ValueError("a scale does not rise")
    for weights in combination.weights.values():
        if min(weights) < 0 or not math.isclose(sum(weights), 1, abs_tol=1e-6):
            raise ValueError("weights are negative or do not add up to 1")
