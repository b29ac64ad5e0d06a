"""How a text names a backend: an asset, a folder, a model on the hub, the address of a server, or `fake`."""

import dataclasses
from collections.abc import Collection, Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any

from dialoscope.core.errors import BackendError
from dialoscope.models import protocols
from dialoscope.models.heads import is_head

_HOMES: Mapping[type, Mapping[str, str]] = MappingProxyType(
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


def is_kind(hint: object) -> bool:
    """Whether a type is one of the protocols."""
    return isinstance(hint, type) and hint in _HOMES


def implements(thing: object, kind: type) -> bool:
    """Whether a thing has all that a protocol asks for; nothing of it is called, so nothing loads."""
    return all(hasattr(type(thing), name) for name in _asked(kind))


@cache
def _asked(kind: type) -> tuple[str, ...]:
    every = {name for part in kind.__mro__ for name in vars(part) if part.__module__ == protocols.__name__}
    return tuple(name for name in every if not name.startswith("_"))


def resolve_model(
    kind: type,
    text: str,
    like: Any = None,  # noqa: ANN401 - of the kind asked for
    settings: Collection[str] = (),
) -> Any:  # noqa: ANN401
    """The backend of a kind that a text names; nothing is loaded.

    Where it is of the same class as the one in whose place it is named, it is that one with another model:
    what else a metric wants of its model stays as the metric has it. `settings` names those that it must
    have: only a head has a `hash`, and a run tells of one whose folder is gone.
    """
    found = _described(kind, text, settings)
    if type(found) is not type(like):
        return found
    model = dataclasses.fields(found)[:1]  # a fake has no fields at all
    return dataclasses.replace(like, **{one.name: getattr(found, one.name) for one in model})


def _described(kind: type, text: str, settings: Collection[str]) -> Any:  # noqa: ANN401
    homes = _HOMES[kind]
    if text.startswith(("http://", "https://")) and "http" in homes:
        address, _, model = text.partition("#")
        if not model:
            raise BackendError(
                f"'{text}' names no model; write the server's name for it behind a #: {text}#NAME."
            )
        return _class(homes["http"])(address, model)
    if text in homes and text not in ("", "http", "head"):
        return _class(homes[text])()
    if kind is protocols.Classifier and ("hash" in settings or is_head(text)):
        return _class(homes["head"])(text)
    return _class(homes[""])(text)


def _class(place: str) -> Any:  # noqa: ANN401
    module, _, name = place.partition(":")
    return getattr(import_module(f"dialoscope.models.{module}"), name)
