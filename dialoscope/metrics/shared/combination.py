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
"""Where a part stands that is as good as it usually is, or undefined."""

FEW = 0.05
"""The share of replies beyond which there is an excess."""

RECIPE = "composite"
"""What a checkpoint says it was made by."""


@dataclass(frozen=True)
class CombinationPart:
    """A metric as a part of another."""

    name: str
    """What it is called beside the number."""
    metric: str
    better: Literal["more", "less"] = "more"
    cap: float = math.inf
    """From where on more is no longer better."""
    aspects: tuple[str, ...] = ASPECTS
    """What it can be a part of."""
    excess: float = 0.0
    """Of a share of which less is better: what is taken away besides from a reply that is nothing else."""

    def __post_init__(self) -> None:
        if not self.name.isprintable():  # it is shown wherever the number is, whoever made the checkpoint
            raise TrainingError(f"A part is called '{printable(self.name)}'; name it in visible characters.")

    def told(self) -> dict[str, Any]:
        """Everything, as plain values; no cap is none."""
        return {**asdict(self), "cap": None if self.cap == math.inf else self.cap, "aspects": [*self.aspects]}

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> "CombinationPart":
        """What was told, read back."""
        cap = math.inf if told["cap"] is None else told["cap"]
        return cls(**{**told, "cap": cap, "aspects": tuple(told["aspects"])})


class Scale(NamedTuple):
    """Which share of replies has less of something, between knots by straight lines."""

    values: tuple[float, ...]
    shares: tuple[float, ...]

    def __call__(self, values: Floats) -> Floats:
        """Between 0 and 1; NaN where there is no value."""
        return np.asarray(np.interp(values, self.values, self.shares))

    @property
    def rare(self) -> float:
        """The value that few replies have more of."""
        return float(np.interp(1 - FEW, self.shares, self.values))

    @property
    def steepest(self) -> float:
        """By how much the share grows at most where the value grows by 1."""
        steps = np.diff(self.values)
        return float(max(np.diff(self.shares) / steps, default=0.0)) if len(steps) else 0.0


@dataclass(frozen=True)
class Combination:
    """Parts, the scale of each, and for each aspect a weight for each part; the weights add up to 1."""

    parts: tuple[CombinationPart, ...]
    scales: tuple[Scale, ...]
    weights: Mapping[str, tuple[float, ...]]
    signatures: tuple[str, ...]
    """How the numbers of the parts were made to which all this was fitted."""
    models: Mapping[str, str] = field(default_factory=dict)
    """The hash of each model behind the parts, by its signature."""

    def merits(self, values: Floats) -> Floats:
        """How good each part of each reply is, from 0 to 1: which share of replies is worse; NaN stays."""
        columns = [
            scale(np.minimum(column, part.cap)) if part.better == "more" else 1 - scale(column)
            for part, scale, column in zip(self.parts, self.scales, values.T, strict=True)
        ]
        return np.stack(columns, axis=1)

    def contributions(self, values: Floats, aspect: str) -> Floats:
        """What each part adds to or takes from the middle; nothing where it is undefined."""
        merits = self.merits(values)
        weighted = (merits - NEUTRAL) * np.array(self.weights[aspect], float)
        return np.asarray(np.nan_to_num(weighted - self._excess(values, aspect)), float)

    def _excess(self, values: Floats, aspect: str) -> Floats:
        """From what few replies have to 1, in proportion; rated replies are too few there to fit a weight."""
        columns = [
            part.excess * np.clip((column - scale.rare) / max(1 - scale.rare, 1e-9), 0, 1)
            if aspect in part.aspects and part.excess
            else np.zeros(len(column))
            for part, scale, column in zip(self.parts, self.scales, values.T, strict=True)
        ]
        return np.stack(columns, axis=1)

    def scores(self, values: Floats, aspect: str) -> Floats:
        """The middle and what all parts add to it; NaN where not one part that counts is defined."""
        known = ~np.isnan(values[:, self.used(aspect)]).all(axis=1)
        added: Floats = sum(self.contributions(values, aspect).T, np.full(len(values), NEUTRAL))
        return np.where(known, np.clip(added, 0, 1), math.nan)

    def used(self, aspect: str) -> list[int]:
        """The places of the parts that can add or take anything: by their weight, or by an excess."""
        return [
            place
            for place, (part, weight) in enumerate(zip(self.parts, self.weights[aspect], strict=True))
            if weight > 0 or (part.excess and aspect in part.aspects)
        ]

    def told(self) -> dict[str, Any]:
        """Everything, as plain values."""
        return {
            "parts": [part.told() for part in self.parts],
            "scales": [{"values": [*scale.values], "shares": [*scale.shares]} for scale in self.scales],
            "weights": {aspect: [*given] for aspect, given in self.weights.items()},
            "signatures": list(self.signatures),
            "models": dict(self.models),
        }

    @property
    def hash(self) -> str:
        """Of everything that a number depends on."""
        return sha256(json.dumps(self.told(), sort_keys=True).encode()).hexdigest()

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> "Combination":
        """What was told, read back; a `ValueError` or the like where something is missing or does not fit."""
        parts = tuple(map(CombinationPart.of, told["parts"]))
        scales = tuple(Scale(tuple(one["values"]), tuple(one["shares"])) for one in told["scales"])
        weights = {aspect: tuple(given) for aspect, given in told["weights"].items()}
        found = cls(parts, scales, weights, tuple(told["signatures"]), dict(told["models"]))
        _check(found)
        return found


def load(folder: Path) -> Combination:
    """The combination that a training left in a folder; one that is damaged or of another kind is refused."""
    try:
        spec = json.loads((folder / SPEC).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise TrainingError(f"{folder} holds no finished checkpoint: {error}") from error
    if not isinstance(spec, dict) or spec.get("recipe") != RECIPE:
        raise TrainingError(f"{folder} holds no composite; make one with dialoscope train composite.")
    try:
        found = Combination.of(spec["combination"])
    except (LookupError, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise TrainingError(f"{folder} is damaged: {SPEC} holds no whole combination ({error!r}).") from error
    if found.hash != spec.get(IN_SPEC):
        raise TrainingError(f"{folder} is damaged: its weights are not those that the training left there.")
    return found


def _check(found: Combination) -> None:
    count = len(found.parts)
    if not found.weights or not found.weights.keys() <= set(ASPECTS):
        raise ValueError("weights are of no aspect that is known")
    if not count or not all(
        len(column) == count for column in (found.scales, found.signatures, *found.weights.values())
    ):
        raise ValueError("parts, scales, signatures and weights are not of one number")
    for scale in found.scales:
        rises = np.all(np.diff(scale.values) > 0) and np.all(np.diff(scale.shares) >= 0)
        if len(scale.values) != len(scale.shares) or not scale.values or not rises:
            raise ValueError("a scale does not rise")
    for weights in found.weights.values():
        if min(weights) < 0 or not math.isclose(sum(weights), 1, abs_tol=1e-6):
            raise ValueError("weights are negative or do not add up to 1")
