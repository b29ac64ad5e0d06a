"""Models named by a text: an asset, a folder, a model on the hub, the address of a server, or `fake`."""

import dataclasses
from collections.abc import Collection, Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any, get_type_hints

from dialoscope.core.errors import BackendError
from dialoscope.core.spec import Spec, collect_settings, read_value, split_spec
from dialoscope.models import protocols
from dialoscope.models.heads import is_head

_CLASSES: Mapping[type, Mapping[str, str]] = MappingProxyType(
    {
        protocols.LanguageModel: {
            "": "language_model:TransformerLanguageModel",
            "http": "http_language_model:HttpLanguageModel",
            "fake": "fakes:FakeLanguageModel",
        },
        protocols.Encoder: {"": "encoder:TransformerEncoder", "fake": "fakes:FakeEncoder"},
        protocols.Classifier: {
            "": "classifier:TransformerClassifier",
            "head": "heads:HeadClassifier",
            "fake": "fakes:FakeClassifier",
        },
        protocols.Regressor: {"": "bilinear:BilinearRegressor", "fake": "fakes:FakeRegressor"},
        protocols.WordVectors: {"": "vectors:StaticVectors", "fake": "fakes:FakeWordVectors"},
        protocols.Tagger: {"": "tagger:SpacyTagger", "fake": "fakes:FakeTagger"},
        protocols.Lexicon: {"": "wordnet:WordNet", "fake": "fakes:FakeLexicon"},
        protocols.Corpus: {
            "": "corpus:FileCorpus",
            "references": "corpus:References",
            "fake": "fakes:FakeCorpus",
        },
    }
)


def is_protocol(hint: object) -> bool:
    """Whether a type is one of the protocols of models."""
    return isinstance(hint, type) and hint in _CLASSES


def implements(model: object, kind: type) -> bool:
    """Whether the class of an object has all members of a protocol; the model is not loaded."""
    return all(hasattr(type(model), name) for name in _members(kind))


@cache
def _members(kind: type) -> tuple[str, ...]:
    names = {name for base in kind.__mro__ for name in vars(base) if base.__module__ == protocols.__name__}
    return tuple(name for name in names if not name.startswith("_"))


def resolve_model(
    kind: type,
    text: str,
    default: Any = None,  # noqa: ANN401 - a model of this kind
    settings: Collection[str] = (),
) -> Any:  # noqa: ANN401
    """Return the description of the model that a text names; nothing is loaded.

    Args:
        kind: The protocol that the model must implement.
        text: An asset, a folder, a model on the hub, the address of a server, or `fake`; settings may
            follow, as in `smollm2:window=512`.
        default: The model that a metric uses by default. If the named model is of the same class, it gets
            all other settings of this one.
        settings: Names of settings that the model must have. Only a head has a `hash`, so that a head is
            recognized even if its folder is gone.
    """
    spec = split_spec(text, lambda key: key in _setting_names(kind), is_strict=False)
    model = _build(kind, spec.name, settings)
    if type(model) is type(default):
        first = dataclasses.fields(model)[:1]  # a fake has no fields
        model = dataclasses.replace(default, **{field.name: getattr(model, field.name) for field in first})
    return dataclasses.replace(model, **_read_settings(type(model), spec)) if spec.settings else model


@cache
def _setting_names(kind: type) -> frozenset[str]:
    """The settings of all models of a kind."""
    classes = map(_import_class, _CLASSES[kind].values())
    return frozenset(field.name for each in classes for field in dataclasses.fields(each)[1:])


def _read_settings(chosen: Any, spec: Spec) -> dict[str, Any]:  # noqa: ANN401
    hints = get_type_hints(chosen)
    names = [field.name for field in dataclasses.fields(chosen)[1:]]
    try:
        words = collect_settings(spec, chosen.name, names)
    except ValueError as problem:
        raise BackendError(str(problem)) from None
    settings = {}
    for key, word in words.items():
        try:
            settings[key] = read_value(word, hints[key])
        except ValueError as expected:
            raise BackendError(f"{chosen.name}: {key} must be {expected}, not '{word}'.") from None
    return settings


def _build(kind: type, text: str, settings: Collection[str]) -> Any:  # noqa: ANN401
    classes = _CLASSES[kind]
    if text.startswith(("http://", "https://")) and "http" in classes:
        address, _, model = text.partition("#")
        if not model:
            raise BackendError(
                f"'{text}' names no model; add the server's name for the model after a #: {text}#NAME."
            )
        return _import_class(classes["http"])(address, model)
    if text in classes and text not in ("", "http", "head"):
        return _import_class(classes[text])()
    if kind is protocols.Classifier and ("hash" in settings or is_head(text)):
        return _import_class(classes["head"])(text)
    return _import_class(classes[""])(text)


def _import_class(location: str) -> Any:  # noqa: ANN401
    module, _, name = location.partition(":")
    return getattr(import_module(f"dialoscope.models.{module}"), name)
