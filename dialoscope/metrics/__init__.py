"""The table of metrics, and how a text names one: `bleu-2`, `rouge:order=1/2/l`, `bleu:variant=nltk`."""

import dataclasses
import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module, metadata
from itertools import product
from types import MappingProxyType
from typing import Any

from dialoscope.core.errors import DialoscopeError, MetricError
from dialoscope.core.safe_text import printable
from dialoscope.core.spec import Spec, collect_settings, read_value, split_spec
from dialoscope.core.suggestions import did_you_mean
from dialoscope.core.tally import ColumnTally, Tally
from dialoscope.metrics.shared.base import (
    AdditiveMetric,
    Bounds,
    MeanMetric,
    Metric,
    Notes,
    PoolMetric,
    SumMetric,
    setting_types,
)
from dialoscope.models.named_models import is_protocol, resolve_model, with_settings
from dialoscope.models.registry import ASSETS, licences

__all__ = [
    "METRICS",
    "SUITES",
    "AdditiveMetric",
    "Bounds",
    "ColumnTally",
    "MeanMetric",
    "Metric",
    "Notes",
    "PoolMetric",
    "SumMetric",
    "Tally",
    "metric",
    "metric_class",
    "metric_names",
    "metrics",
    "suite",
]

METRICS: Mapping[str, str] = MappingProxyType(
    {
        "bleu": "dialoscope.metrics.bleu:Bleu",
        "rouge": "dialoscope.metrics.rouge:Rouge",
        "meteor": "dialoscope.metrics.meteor:Meteor",
        "distinct": "dialoscope.metrics.distinct:Distinct",
        "entropy": "dialoscope.metrics.entropy:Entropy",
        "self-bleu": "dialoscope.metrics.self_bleu:SelfBleu",
        "diversity": "dialoscope.metrics.diversity:Diversity",
        "words": "dialoscope.metrics.words:Words",
        "repetition": "dialoscope.metrics.repetition:Repetition",
        "copying": "dialoscope.metrics.copying:Copying",
        "specificity": "dialoscope.metrics.specificity:Specificity",
        "self-consistency": "dialoscope.metrics.self_consistency:SelfConsistency",
        "coherence": "dialoscope.metrics.coherence:Coherence",
        "fluency": "dialoscope.metrics.fluency:Fluency",
        "perplexity": "dialoscope.metrics.perplexity:Perplexity",
        "pmi": "dialoscope.metrics.pmi:Pmi",
        "relatedness": "dialoscope.metrics.relatedness:Relatedness",
        "ruber-unreferenced": "dialoscope.metrics.ruber_unreferenced:RuberUnreferenced",
        "ruber-referenced": "dialoscope.metrics.ruber_referenced:RuberReferenced",
        "ruber": "dialoscope.metrics.ruber:Ruber",
        "adem": "dialoscope.metrics.adem:Adem",
        "composite": "dialoscope.metrics.composite:Composite",
        "average": "dialoscope.metrics.average:Average",
        "extrema": "dialoscope.metrics.extrema:Extrema",
        "greedy": "dialoscope.metrics.greedy:Greedy",
        "bertscore": "dialoscope.metrics.bertscore:Bertscore",
        "fbd": "dialoscope.metrics.fbd:Fbd",
        "prd": "dialoscope.metrics.prd:Prd",
        "normality": "dialoscope.metrics.normality:Normality",
    }
)

SUITES: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        "lexical": (
            "bleu:order=1/2/3/4",
            "rouge:order=1/2/3/4/l/w",
            "distinct:n=1/2",
            "entropy:n=1/2",
            "self-bleu",
            "words",
            "repetition",
            "copying",
        ),
        "embedding": ("average", "extrema", "greedy", "bertscore:part=precision/recall/f1"),
        "distribution": ("fbd", "prd", "normality"),
        "holistic": ("coherence", "fluency", "diversity", "self-consistency"),
        "learned": ("ruber-unreferenced", "ruber-referenced", "ruber"),
    }
)

_ATTRIBUTES = ("name", "version", "paper", "higher_is_better", "tally")
"""The attributes that the class of a metric must have beside its methods."""


def metric(text: str, *, licence: str | None = None) -> Metric[Any]:
    """Return the one metric that the text names; for `licence` see `metrics`."""
    named = metrics(text, licence=licence)
    if len(named) != 1:
        raise MetricError(f"'{text}' names {len(named)} metrics; one is wanted here.")
    return named[0]


def metrics(text: str, *, licence: str | None = None) -> list[Metric[Any]]:
    """Return all metrics that the text names: `rouge:order=1/2/l` is three of them.

    Where `licence` is `permissive`, models that the text does not name are replaced by permissive ones, and
    a metric that has none is refused. A text alone names the same metric always: `DIALOSCOPE_LICENCE` is for
    those who score.
    """
    return check_licences(_named(text, licence), licence)


def check_licences(named: list[Metric[Any]], licence: str | None) -> list[Metric[Any]]:
    """Return the metrics; refuse those that need a restricted asset if `licence` is `permissive`."""
    if licence is not None:
        licences.check({str(metric): metric.asset_names for metric in named}, licences.read_choice(licence))
    return named


def _named(text: str, licence: str | None) -> list[Metric[Any]]:
    spec = split_spec(text.strip().rstrip(",:"), lambda _: True)
    head, _, rest = spec.name.partition(":")
    if "," in head:
        raise MetricError(f"'{text}' is no metric. Name one metric at a time: -m bleu -m rouge.")
    name, main = _split_name(head)
    chosen = metric_class(name)
    settings = _settings(chosen, spec, rest)
    if main is not None:
        if chosen.main_setting in settings:
            raise MetricError(f"{name}: {chosen.main_setting} is named twice.")
        settings[str(chosen.main_setting)] = main
    preset = _preset(chosen, settings.pop("variant", None))
    hints = setting_types(chosen)
    options = [
        [
            (key, read_value(word, hints[key], f"{chosen.name}: {key}", MetricError))
            for word in _words(chosen, key, value)
        ]
        for key, value in settings.items()
        if not is_protocol(hints.get(key.partition(".")[0]))
    ]
    models = _models(settings, preset, chosen, is_permissive=licence == "permissive")
    with plugin_named(chosen):
        return [chosen(**{**preset, **models, **dict(choice)}) for choice in product(*options)]


def _words(chosen: type[Metric[Any]], key: str, value: str) -> list[str]:
    """Split a value at its slashes, unless the setting is a path."""
    return [value] if key in chosen.paths else value.split("/")


def _models(
    settings: Mapping[str, str], preset: Mapping[str, Any], chosen: type[Metric[Any]], *, is_permissive: bool
) -> dict[str, Any]:
    """Return the models among the settings; `lm=gpt2,lm.window=512` sets a model and one of its settings."""
    models: dict[str, Any] = {}
    for name, kind in setting_types(chosen).items():
        own = {key.partition(".")[2]: word for key, word in settings.items() if key.startswith(f"{name}.")}
        usual = preset.get(name, getattr(chosen, name, None))  # a variant may want its model in another way
        allowed = _permissive(usual) if is_permissive and name not in settings else usual
        if is_protocol(kind) and (name in settings or own or allowed is not usual):
            usual = allowed
            model = settings.get(name, usual)
            model = (
                resolve_model(kind, model, default=usual, settings=own) if isinstance(model, str) else model
            )
            spec = Spec("", tuple(own.items()))
            models[name] = with_settings(model, spec, f"{chosen.name}: {name}", MetricError)
    return models


def _permissive(model: Any) -> Any:  # noqa: ANN401 - of any kind
    """Return the model, or the permissive model that can replace it."""
    asset = ASSETS.get(getattr(model, "model", ""))
    return dataclasses.replace(model, model=asset.permissive) if asset and asset.permissive else model


def suite(name: str, *, licence: str | None = None) -> list[Metric[Any]]:
    """The metrics of a suite; for `licence` see `metrics`."""
    if name not in SUITES:
        raise MetricError(f"There is no suite '{name}'. Choose one of: {', '.join(SUITES)}.")
    return check_licences([each for text in SUITES[name] for each in _named(text, licence)], licence)


def metric_names() -> list[str]:
    """Return the names of our own metrics, then those of plug-ins."""
    return [*METRICS, *(name for name in _plugins() if name not in METRICS)]


def metric_class(name: str) -> type[Metric[Any]]:
    """Return the class of a metric, which is imported on first use."""
    location = METRICS.get(name)
    if location is not None:
        module, _, attribute = location.partition(":")
        chosen: type[Metric[Any]] = getattr(import_module(module), attribute)
        return chosen
    if name in _plugins():
        return _load_plugin(_plugins()[name])
    hint = did_you_mean(name, metric_names(), f"There are: {', '.join(metric_names())}.")
    raise MetricError(f"There is no metric '{name}'. {hint}")


@cache
def _plugins() -> Mapping[str, metadata.EntryPoint]:
    """Return the metrics of other packages, from the entry point `dialoscope.metrics`."""
    entries: dict[str, metadata.EntryPoint] = {}
    for package in metadata.distributions():
        try:
            own = package.entry_points.select(group="dialoscope.metrics")
        except Exception:  # noqa: S112 - whoever it is, its list of entry points cannot be read
            continue
        for entry in own:
            entries.setdefault(entry.name, entry)  # the package that is first on the path, as for imports
    return MappingProxyType(entries)


def _load_plugin(entry: metadata.EntryPoint) -> type[Metric[Any]]:
    """Import the class that an entry point names; the message of every error names the package."""
    try:
        plugin = entry.load()
    except (Exception, SystemExit) as error:  # a module may do anything when it is imported
        raise _broken(entry, f"cannot be loaded: {_in_words(error)}") from error
    if not (isinstance(plugin, type) and issubclass(plugin, Metric)):
        raise _broken(entry, f"cannot be used: {printable(entry.value)} is no Metric")
    missing = [name for name in _ATTRIBUTES if not hasattr(plugin, name)]
    missing += sorted(plugin.__abstractmethods__) if inspect.isabstract(plugin) else []
    if missing:
        raise _broken(entry, f"cannot be used: {printable(entry.value)} lacks {', '.join(missing)}")
    return plugin


@contextmanager
def plugin_named(chosen: type[Metric[Any]]) -> Iterator[None]:
    """Name the plug-in in the message of an exception, if the metric is one."""
    try:
        yield
    except DialoscopeError:
        raise
    except Exception as error:
        entry = None if chosen.name in METRICS else _plugins().get(chosen.name)
        if entry is None or entry.module.partition(".")[0] != chosen.__module__.partition(".")[0]:
            raise
        raise _broken(entry, f"failed: {_in_words(error)}") from error


def _broken(entry: metadata.EntryPoint, what: str) -> MetricError:
    package = f" of the package {printable(entry.dist.name)}" if entry.dist else ""
    return MetricError(
        f"The metric '{printable(entry.name)}'{package} {what}. "
        "Repair or remove that package; other metrics are not affected."
    )


def _in_words(error: BaseException) -> str:
    reason = printable(" ".join(str(error).split())).rstrip(".")
    return f"{type(error).__name__}: {reason}" if reason else type(error).__name__


def _split_name(head: str) -> tuple[str, str | None]:
    """`bleu-2` is bleu with 2 for its main setting; so are `BLEU-2` and `bleu2`."""
    head = head.strip().lower().replace("_", "-")
    names = metric_names()
    if head in names:
        return head, None
    for name in sorted(names, key=len, reverse=True):
        main = head.removeprefix(name).removeprefix("-")
        if (
            head.startswith(name)
            and len(main.split("/")[0]) == 1
            and metric_class(name).main_setting  # last, since a plug-in is imported for it
        ):
            return name, main
    return head, None


def _settings(chosen: type[Metric[Any]], spec: Spec, rest: str) -> dict[str, str]:
    incomplete = [rest, *(f"{key}=" for key, value in spec.settings if not value)]
    for part in filter(None, incomplete):
        raise MetricError(f"{chosen.name}: '{part}' is no setting; write it as name=value.")
    names = [field.name for field in dataclasses.fields(chosen)] + (["variant"] if chosen.variants else [])
    types = setting_types(chosen)

    def is_setting(key: str) -> bool:
        return key in names or is_protocol(types.get(key.partition(".")[0]))

    return collect_settings(spec, chosen.name, names, MetricError, is_setting)


def _preset(chosen: type[Metric[Any]], variant: str | None) -> dict[str, Any]:
    if variant is None:
        return {}
    if variant not in chosen.variants:
        variants = ", ".join(chosen.variants)
        raise MetricError(f"{chosen.name} has no variant '{variant}'. Choose one of: {variants}.")
    return dict(chosen.variants[variant])
