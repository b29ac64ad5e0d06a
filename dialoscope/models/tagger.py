"""Tokens, parts of speech and named entities by spaCy."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import dialoscope.models.registry as assets
from dialoscope.core.errors import BackendError, MissingExtra
from dialoscope.core.safe_text import printable, without_surrogates
from dialoscope.models.asset_kinds import assets_of_kind, check_kind, matching_assets
from dialoscope.models.content import content_hash
from dialoscope.models.protocols import Word

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

_NEEDED = ("tok2vec", "tagger", "morphologizer", "attribute_ruler", "lemmatizer", "ner")
_FACTORIES = frozenset(
    {*_NEEDED, "parser", "senter", "sentencizer", "entity_ruler", "entity_linker", "span_ruler", "spancat"}
    | {"textcat", "textcat_multilabel", "merge_entities", "merge_noun_chunks", "merge_subtokens"}
)
"""Components of spaCy itself; those that are not needed are not loaded."""
_OWN = ("spacy.", "spacy-legacy.")
"""Prefixes of the names of functions in spaCy itself."""


@dataclass(frozen=True)
class SpacyTagger:
    """A spaCy pipeline: an asset, or a folder written by `nlp.to_disk`."""

    name: ClassVar[str] = "spacy-tagger"
    version: ClassVar[int] = 1

    model: str = "spacy-tagger"

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", str(self.model))  # a Path is plain enough

    @property
    def fingerprint(self) -> str:
        """The hash of all files of the pipeline."""
        folder = Path(self.model).expanduser()
        if not folder.is_dir():
            _check_known(self.model)
            return assets.fingerprint(self.model)
        return content_hash(sorted(path for path in folder.rglob("*") if path.is_file()))

    @property
    def asset_names(self) -> tuple[str, ...]:
        """The names of the assets that the model consists of, for their licences."""
        return matching_assets(self.model)

    def tag(self, texts: Sequence[str]) -> list[list[Word]]:
        """The words of each text, without white space."""
        pipeline = _load_pipeline(self._folder, self.fingerprint)
        unique = list(dict.fromkeys(texts))
        words = dict(zip(unique, _tag(pipeline, unique), strict=True))
        return [list(words[text]) for text in texts]

    @property
    def _folder(self) -> Path:
        folder = Path(self.model).expanduser()
        if folder.is_dir():
            return folder.absolute()
        _check_known(self.model)
        return assets.locate(self.model)


def _check_known(model: str) -> None:
    names = assets_of_kind("tagger")
    if check_kind(model, "tagger", "tagger") not in names:
        raise BackendError(
            f"There is no folder '{printable(model)}', nor such a tagger ({', '.join(names)})."
        )


class _Pipeline(NamedTuple):
    """A pipeline with a lock, since only one thread can use it at a time."""

    language: "Language"
    lock: Lock


@lru_cache(maxsize=2)
def _load_pipeline(folder: Path, fingerprint: str) -> _Pipeline:
    """Load a pipeline, once per process for each fingerprint."""
    try:
        from spacy.util import load_config, load_model_from_path
    except ImportError as missing:
        raise MissingExtra("Tagging", "spacy", "tagger") from missing
    try:
        config = load_config(folder / "config.cfg")
        _check_config(folder, config)
        unused = [name for name in config["nlp"]["pipeline"] if name not in _NEEDED]
        return _Pipeline(load_model_from_path(folder, exclude=unused), Lock())
    except BackendError:
        raise
    except Exception as error:  # spaCy raises errors of many types
        reason = printable(" ".join(str(error).split()))
        raise BackendError(f"{folder} cannot be loaded as a spaCy pipeline: {reason}") from error


def _check_config(folder: Path, config: Mapping[str, Any]) -> None:
    """Refuse configurations that would run code of other packages or load other pipelines."""
    for section in ("nlp", "components"):
        for key, value in _settings(config.get(section, {})):
            if not _is_part_of_spacy(key, str(value)):
                raise BackendError(
                    f"{folder}: config.cfg uses '{printable(str(value))}'; "
                    "only components of spaCy itself are loaded."
                )


def _is_part_of_spacy(key: str, value: str) -> bool:
    if key == "factory":  # other packages can register factories
        return value in _FACTORIES
    return key != "source" and (not key.startswith("@") or value.startswith(_OWN))


def _settings(section: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in section.items():
        if isinstance(value, Mapping):
            yield from _settings(value)
        else:
            yield key, value


def _tag(pipeline: _Pipeline, texts: list[str]) -> list[tuple[Word, ...]]:
    language, lock = pipeline
    longest = max(map(len, texts), default=0)
    if longest > language.max_length:
        raise BackendError(
            f"A text of {longest:,} characters is too long for the tagger, which reads at most "
            f"{language.max_length:,}."
        )
    with lock, language.memory_zone():  # without it, each new word would stay in memory
        docs = language.pipe([without_surrogates(text) for text in texts])
        return [_words(text, doc) for text, doc in zip(texts, docs, strict=True)]


def _words(text: str, doc: "Doc") -> tuple[Word, ...]:
    return tuple(
        Word(
            text[token.idx : token.idx + len(token.text)],
            token.idx,
            token.lemma_,
            token.tag_,
            token.ent_type_,
        )
        for token in doc
        if not token.is_space
    )
