"""Models named by a text: an asset, a folder, a model on the hub, the address of a server, or `fake`."""

import dataclasses
from collections.abc import Collection, Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any, get_type_hints

from dialoscope.core.errors import BackendError, DialoscopeError
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
    return with_settings(build_model(kind, spec.name, default, settings), spec, "", BackendError)


def build_model(
    kind: type,
    name: str,
    default: Any = None,  # noqa: ANN401 - a model of this kind
    settings: Collection[str] = (),
) -> Any:  # noqa: ANN401
    """Return the description of the model with exactly this name; arguments as of `resolve_model`."""
    model = _build(kind, name, settings)
    if type(model) is not type(default):
        return model
    first = dataclasses.fields(model)[:1]  # a fake has no fields
    return dataclasses.replace(default, **{field.name: getattr(model, field.name) for field in first})


def with_settings(model: Any, spec: Spec, owner: str, error: type[DialoscopeError]) -> Any:  # noqa: ANN401
    """Return the model with the settings of a text; `owner` names it in messages, by default its kind."""
    if not spec.settings:
        return model
    owner = owner or model.name
    hints = get_type_hints(type(model))
    words = collect_settings(spec, owner, _own_settings(type(model)), error)
    values = {key: read_value(word, hints[key], f"{owner}.{key}", error) for key, word in words.items()}
    return dataclasses.replace(model, **values)


@cache
def _setting_names(kind: type) -> frozenset[str]:
    """The settings of all models of a kind."""
    classes = map(_import_class, _CLASSES[kind].values())
    return frozenset(name for each in classes for name in _own_settings(each))


def _own_settings(model: type) -> list[str]:
    return [field.name for field in dataclasses.fields(model) if field.name not in ("model", "url")]


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
