"""The base classes of metrics: statistics of each reply, and a number from those of any group of replies."""

import dataclasses
import math
import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import (
    Any,
    ClassVar,
    Generic,
    Literal,
    NamedTuple,
    Self,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np
from numpy.typing import NDArray

from dialoscope.core.arrays import Floats, Ints
from dialoscope.core.errors import MetricError
from dialoscope.core.signature import signature
from dialoscope.core.tally import ReplyValues, Sums, Tally
from dialoscope.models.asset_kinds import collect_asset_names
from dialoscope.models.checkpoints import TrainedModel
from dialoscope.models.named_models import build_model, implements, is_protocol, resolve_model
from dialoscope.models.protocols import Backend
from dialoscope.text.batch import Batch
from dialoscope.text.tokenizer import VERSIONS as TOKENIZER_VERSIONS

T = TypeVar("T", bound=Tally)


Amount = Literal["words", "replies"]


class Bounds(NamedTuple):
    """The smallest and the largest value that a metric can have."""

    low: float
    high: float

    def __str__(self) -> str:
        return " – ".join(("∞" if end > 0 else "-∞") if math.isinf(end) else f"{end:g}" for end in self)


class Fit(NamedTuple):
    """A metric after its scale was fitted to the replies of a run."""

    metric: "Metric[Any]"
    warning: str = ""
    """Why the fit may not be reliable; empty where it is."""


class SumForm(NamedTuple):
    """The functions that compute a score from sums over replies."""

    rows: Callable[[Any], Floats]
    """From statistics to rows that are added up: (replies, sums), zeros for a reply without statistics."""
    finish: Callable[[Floats], Floats]
    """From sums to scores: (groups, sums) to (groups,)."""


class TurnEffects(NamedTuple):
    """The turn of its context that lowers the value of each reply most; NaN where there is none."""

    turn: Floats
    """The index of the turn, counted from 0."""
    strength: Floats
    """The degree to which this turn alone lowers the value, between 0 and 1."""


class PrecisionRecall(NamedTuple):
    """Precision and recall of a system for every weight between the two."""

    precision: Floats
    recall: Floats

    @property
    def best(self) -> float:
        """The highest F1."""
        both = self.precision + self.recall
        return float((2 * self.precision * self.recall / np.where(both > 0, both, 1)).max())


@dataclass(frozen=True, eq=False)
class Notes:
    """Notes shown with the values of a metric; everything in it is optional.

    Tables show `numbers` and `warning` of each system, and `show --explain` shows `parts` or `turns` of each
    reply. `parts` and `turns` have one row for each reply.
    """

    numbers: Mapping[str, float] = field(default_factory=dict)
    """Numbers to be read next to the value, by name. `n`, the number of items it is made from, is shown in
    the cell itself, all others below the table."""
    warning: str = ""
    """A sentence on why the value is not reliable."""
    parts: Mapping[str, Floats] | None = None
    """The contribution of each part, by name, to the value of each reply; NaN where it is undefined."""
    turns: TurnEffects | None = None
    """The turn of its context that lowers the value of each reply most."""
    curve: PrecisionRecall | None = None
    """Precision and recall, for a metric that is made from them."""


@dataclass(frozen=True)
class Metric(ABC, Generic[T]):
    """A frozen description: the fields are the settings, and every method is a function of them.

    A subclass defines `bounds`, `measure`, `score` and `score_each`. All else has a default, so that a run
    can resample, store, show, compare and explain any metric.
    """

    name: ClassVar[str]
    version: ClassVar[int]
    """Raised if the same settings give another score than before."""
    paper: ClassVar[str]
    higher_is_better: ClassVar[bool | None]
    """None if neither direction is better."""
    of_replies: ClassVar[bool] = True
    """Whether a single reply has a value of its own."""
    tally: ClassVar[type[Any]]
    """The class of its statistics."""
    main_setting: ClassVar[str | None] = None
    """The setting that is part of the name: the 4 of BLEU-4."""
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType({})
    """Settings that reproduce other implementations, by their names."""

    paths: ClassVar[frozenset[str]] = frozenset()
    """Settings that may be paths, in which a slash does not separate values."""
    at_once: ClassVar[bool] = False
    """Whether all replies are measured at once, since a model is faster on all of them."""
    fits: ClassVar[str | None] = None
    """The setting that is fitted to all replies of a run where nobody has set it: the scale of coherence."""
    most_blocks: ClassVar[int] = 50
    """The largest number of blocks left out in turn for an interval; fewer where scoring takes long."""

    def __post_init__(self) -> None:
        hints = setting_types(type(self))
        for setting in dataclasses.fields(self):
            value = getattr(self, setting.name)
            if is_protocol(hints[setting.name]) and isinstance(value, str | os.PathLike):
                value = resolve_model(hints[setting.name], os.fspath(value), default=setting.default)
            if isinstance(value, TrainedModel):  # so that the number says of which weights it is
                value = value.pinned
            if value is not getattr(self, setting.name):
                object.__setattr__(self, setting.name, value)
            _check_setting(self.name, setting.name, value, hints[setting.name])
            if hints[setting.name] is float:  # equal metrics must have equal signatures: 2 is 2.0
                object.__setattr__(self, setting.name, float(value))

    @property
    @abstractmethod
    def bounds(self) -> Bounds:
        """The smallest and the largest value."""

    @property
    def needs(self) -> frozenset[str]:
        """The input that each example must have: `context`, `references`, `group`; often an attribute."""
        return frozenset()

    @property
    def companions(self) -> "tuple[Metric[T], ...]":
        """Metrics that are scored with this one, because its number should not be read alone."""
        return ()

    @property
    def depends_on(self) -> Amount | None:
        """The unit on whose number the score depends, words or replies; None for means."""
        return None

    def amount(self, tally: T) -> int:
        """The number of words, or of replies, that the score depends on."""
        return len(tally)

    def notes(self, tally: T) -> Notes:
        """The notes on the score of these replies, such as the number of points it is made from."""
        return Notes()

    @property
    def backends(self) -> tuple[Backend, ...]:
        """The models that it uses."""
        hints = setting_types(type(self))
        return tuple(getattr(self, name) for name, hint in hints.items() if is_protocol(hint))

    @property
    def asset_names(self) -> tuple[str, ...]:
        """The names of the assets that its numbers are made with."""
        return collect_asset_names(self.backends)

    @property
    def tolerance(self) -> float:
        """The absolute error of a number when it is made again: models add up in another order each time."""
        return 1e-9 if not self.at_once else max(map(_tolerance, self.backends))

    @property
    def relative_tolerance(self) -> float:
        """The relative error; 0 if the error of a model does not depend on the number."""
        return 0.0 if self.at_once and self.of_replies else self.tolerance

    @property
    def statistics(self) -> Hashable:
        """The key of its statistics; those of metrics with equal keys are made and stored once."""
        return self

    def announce(self, batch: Batch) -> None:
        """Announce the queries to a model before any metric measures, so that they are computed together."""

    @abstractmethod
    def measure(self, batch: Batch) -> T:
        """The statistics of each reply, seen alone."""

    def warnings(self, batch: Batch) -> Sequence[str]:
        """Warnings about how these replies were measured, such as texts that a model cut."""
        return ()

    @property
    def to_fit(self) -> bool:
        """Whether its scale is still to be fitted."""
        return False

    def fit_scale(self, tally: T) -> Fit:
        """The metric with its scale fitted to these replies; itself where nothing is to be fitted."""
        return Fit(self)

    @property
    def unfitted(self) -> Self:
        """The metric without its fitted scale."""
        unset: dict[str, Any] = {self.fits: getattr(type(self), self.fits)} if self.fits else {}
        return dataclasses.replace(self, **unset) if unset else self

    @abstractmethod
    def score(self, tally: T) -> float:
        """The number for all these replies together; NaN where it is undefined."""

    @abstractmethod
    def score_each(self, tally: T) -> Floats:
        """The number for each reply alone; NaN where it is undefined."""

    @property
    def sum_form(self) -> SumForm | None:
        """The functions that compute the score from sums over replies, which are resampled for its interval.

        None for any other number; its interval comes from leaving out blocks of replies in turn.
        """
        return None

    def scores_without(self, tally: T, blocks: Ints) -> Floats:
        """The number with the replies of each block left out in turn; blocks are numbered from 0."""
        count = int(blocks.max(initial=-1)) + 1
        return np.array([self.score(tally.take(np.flatnonzero(blocks != block))) for block in range(count)])

    def scores_without_others(self, tally: T, count: int) -> Floats:
        """The number with each of so many blocks left out of what the replies are compared with.

        Empty where that is no sample of its own.
        """
        return np.empty(0)

    def has_interval(self, tally: T) -> bool:
        """Whether there is enough for the error of the number to be known."""
        return True

    @property
    def signature(self) -> str:
        """The name with all settings and the version, which identifies how a number was made."""
        return signature(self, {"tokenizer": TOKENIZER_VERSIONS})

    def __str__(self) -> str:
        return metric_text(self)


class AdditiveMetric(Metric[T]):
    """A metric that is a function of sums over replies."""

    @abstractmethod
    def rows(self, tally: T) -> Floats:
        """The rows that are added up, one for each reply; zeros for a reply that is undefined."""

    @abstractmethod
    def defined(self, tally: T) -> NDArray[np.bool_]:
        """Whether each reply has statistics."""

    @abstractmethod
    def finish(self, sums: Floats) -> Floats:
        """The number for each row of sums."""

    def score(self, tally: T) -> float:
        """The score, from the sums over all replies."""
        return score_from_rows(self.rows(tally), self.finish)

    @property
    def sum_form(self) -> SumForm | None:
        """The functions that make the rows, and the score from their sums."""
        return SumForm(self.rows, self.finish)


def score_from_rows(rows: Floats, finish: Callable[[Floats], Floats]) -> float:
    """Return a score from exact sums of rows, which do not depend on the order of the rows."""
    if not len(rows):
        return math.nan
    return float(finish(np.array([[math.fsum(column.tolist()) for column in rows.T]]))[0])


@dataclass(frozen=True)
class SumMetric(AdditiveMetric[Sums]):
    """A metric with counts of its own."""

    tally = Sums

    @abstractmethod
    def of_many(self, counts: Floats) -> Floats:
        """The number for each row of counts, which are those of a group of replies."""

    def of_one(self, counts: Floats) -> Floats:
        """The number for each row of counts, which are those of a single reply."""
        return self.of_many(counts)

    def score_each(self, tally: Sums) -> Floats:
        """The number for each reply alone."""
        return np.where(self.defined(tally), self.of_one(self.rows(tally)[:, :-1]), math.nan)

    def rows(self, tally: Sums) -> Floats:
        """The counts, and 1 for a reply that is defined."""
        defined = self.defined(tally)[:, None]
        return np.concatenate([np.where(defined, tally.rows, 0.0), defined], axis=1, dtype=float)

    def defined(self, tally: Sums) -> NDArray[np.bool_]:
        """Whether a reply has no NaN among its counts."""
        return np.asarray(~np.isnan(tally.rows).any(axis=1))

    def finish(self, sums: Floats) -> Floats:
        """The score of each group; undefined for a group of no replies."""
        return np.where(sums[:, -1] > 0, self.of_many(sums[:, :-1]), math.nan)


class GradeMetric(AdditiveMetric[T]):
    """A metric with a score for each reply; that of a system is the mean of the defined ones."""

    def rows(self, tally: T) -> Floats:
        """The score, and 1 for a reply that has one."""
        values, defined = self.score_each(tally), self.defined(tally)
        return np.stack([np.where(defined, values, 0.0), defined.astype(float)], axis=1)

    def defined(self, tally: T) -> NDArray[np.bool_]:
        """Whether a reply has a score."""
        return ~np.isnan(self.score_each(tally))

    def finish(self, sums: Floats) -> Floats:
        """The mean of the defined scores; undefined if there are none."""
        return ratio(sums[:, 0], sums[:, 1])


@dataclass(frozen=True)
class MeanMetric(GradeMetric[ReplyValues]):
    """A metric whose statistics are the score of each reply."""

    tally = ReplyValues

    @abstractmethod
    def grade(self, batch: Batch) -> Sequence[float] | Floats:
        """A number for each reply, NaN where it is undefined."""

    def measure(self, batch: Batch) -> ReplyValues:
        """The grades."""
        return ReplyValues(np.asarray(self.grade(batch), float))

    def score_each(self, tally: ReplyValues) -> Floats:
        """The grades."""
        return tally.values


@dataclass(frozen=True)
class PoolMetric(Metric[T]):
    """A metric of everything that a system said, taken together."""

    @property
    def depends_on(self) -> Amount | None:
        """The number of replies, with which most of these metrics rise or fall."""
        return "replies"

    @abstractmethod
    def scores_without(self, tally: T, blocks: Ints) -> Floats:
        """The number with the replies of each block left out in turn; blocks are numbered from 0."""


def measure_once(metric: Metric[T], batch: Batch) -> T:
    """Return the statistics of a metric, made once for a batch even if other metrics use them."""
    return batch.once(("measured", metric.statistics), metric.measure, batch)


@cache
def setting_types(of: type[Metric[Any]]) -> Mapping[str, Any]:
    """Return the declared type of each setting."""
    hints = get_type_hints(of)
    return MappingProxyType({setting.name: hints[setting.name] for setting in dataclasses.fields(of)})


def labels(metrics: Sequence[Metric[Any]]) -> dict[Metric[Any], str]:
    """Return the label of each metric: its text without its fitted scale, unless two metrics share it."""
    short = {metric: str(metric.unfitted) for metric in metrics}
    used = Counter(short.values())
    return {metric: name if used[name] == 1 else str(metric) for metric, name in short.items()}


def ratio(part: Floats | Ints, whole: Floats | Ints) -> Floats:
    """Return part over whole; undefined, not zero, if there is no whole."""
    has_whole = np.asarray(whole != 0)
    return np.where(has_whole, part / np.where(has_whole, whole, 1), math.nan)


def metric_text(metric: Metric[Any]) -> str:
    """Return the shortest text that `metric()` reads back: `bleu-4`, `rouge-l:part=recall`."""
    main = type(metric).main_setting
    head = f"{metric.name}-{getattr(metric, main)}" if main else metric.name
    rest = min((_settings_beyond(metric, name) for name in (None, *metric.variants)), key=len)
    return f"{head}:{','.join(rest)}" if rest else head


def _settings_beyond(metric: Metric[Any], variant: str | None) -> list[str]:
    """Return the settings that differ from a variant's, after the variant's name."""
    plain = type(metric)(**metric.variants[variant]) if variant else type(metric)()
    differing = [
        text
        for field in dataclasses.fields(metric)
        if field.name != metric.main_setting and getattr(metric, field.name) != getattr(plain, field.name)
        for text in _setting_texts(metric, field.name, getattr(plain, field.name))
    ]
    return [f"variant={variant}", *differing] if variant else differing


def _setting_texts(metric: Metric[Any], name: str, plain: object) -> list[str]:
    """Return the text of a setting; for a model its name, if changed, and its own: `lm.window=512`."""
    value, kind = getattr(metric, name), setting_types(type(metric))[name]
    if not is_protocol(kind):
        return [f"{name}={_word(value)}"]
    named = [] if str(value) == str(plain) else [f"{name}={value}"]
    plain = build_model(kind, str(value), default=plain) if named else plain
    return named + [
        f"{name}.{field.name}={_word(getattr(value, field.name))}"
        for field in dataclasses.fields(value)
        if field.compare and getattr(value, field.name) != getattr(plain, field.name, None)
    ]


def _tolerance(model: Backend) -> float:
    return {"bfloat16": 0.1, "float16": 0.02}.get(getattr(model, "dtype", ""), 1e-4)


def _word(value: object) -> str:
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check_setting(metric: str, name: str, value: object, hint: object) -> None:
    """Refuse a value of the wrong kind; the message names the right one."""
    if get_origin(hint) is Literal:
        if value not in get_args(hint):
            choices = ", ".join(map(str, get_args(hint)))
            raise MetricError(f"{metric} has no {name} '{value}'. Choose one of: {choices}.")
    elif is_protocol(hint):
        if not implements(value, hint):  # type: ignore[arg-type]
            raise MetricError(f"{metric}: {name} must be a {hint.__name__}, not '{value}'.")  # type: ignore[attr-defined]
    elif isinstance(hint, type) and not _is_a(value, hint):
        raise MetricError(f"{metric}: {name} must be {_KINDS.get(hint, hint.__name__)}, not '{value}'.")


def _is_a(value: object, hint: type) -> bool:
    if hint is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, hint) and (hint is bool or not isinstance(value, bool))


_KINDS = MappingProxyType({int: "a whole number", float: "a number", bool: "true or false", str: "a word"})
