"""Words, parts of speech and names, by spaCy."""

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
"""spaCy's own components; those that are not needed may be there, but are not loaded."""
_OWN = ("spacy.", "spacy-legacy.")
"""What the names of spaCy's own functions begin with."""


@dataclass(frozen=True)
class SpacyTagger:
    """A pipeline of spaCy: an asset, or a folder that `nlp.to_disk` wrote."""

    name: ClassVar[str] = "spacy-tagger"
    version: ClassVar[int] = 1

    model: str = "spacy-tagger"

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", str(self.model))  # a Path is plain enough

    @property
    def fingerprint(self) -> str:
        """A hash of all files of the pipeline."""
        folder = Path(self.model).expanduser()
        if not folder.is_dir():
            _check_known(self.model)
            return assets.fingerprint(self.model)
        return content_hash(sorted(path for path in folder.rglob("*") if path.is_file()))

    @property
    def asset_names(self) -> tuple[str, ...]:
        """The assets behind it, for their licences."""
        return matching_assets(self.model)

    def tag(self, texts: Sequence[str]) -> list[list[Word]]:
        """The words of each text; white space is none."""
        pipeline = _pipeline(self._folder, self.fingerprint)
        unique = list(dict.fromkeys(texts))
        found = dict(zip(unique, _tagged(pipeline, unique), strict=True))
        return [list(found[text]) for text in texts]

    @property
    def _folder(self) -> Path:
        folder = Path(self.model).expanduser()
        if folder.is_dir():
            return folder.absolute()
        _check_known(self.model)
        return assets.locate(self.model)


def _check_known(model: str) -> None:
    known = assets_of_kind("tagger")
    if check_kind(model, "tagger", "tagger") not in known:
        raise BackendError(
            f"There is no folder '{printable(model)}', nor such a tagger ({', '.join(known)})."
        )


class _Pipeline(NamedTuple):
    """A pipeline, which one thread may use at a time."""

    language: "Language"
    lock: Lock


@lru_cache(maxsize=2)
def _pipeline(folder: Path, fingerprint: str) -> _Pipeline:
    """Loaded once for each process and content."""
    try:
        from spacy.util import load_config, load_model_from_path
    except ImportError as missing:
        raise MissingExtra("Tagging", "spacy", "tagger") from missing
    try:
        config = load_config(folder / "config.cfg")
        _check_own(folder, config)
        unused = [name for name in config["nlp"]["pipeline"] if name not in _NEEDED]
        return _Pipeline(load_model_from_path(folder, exclude=unused), Lock())
    except BackendError:
        raise
    except Exception as error:  # spaCy's errors are of many kinds
        reason = printable(" ".join(str(error).split()))
        raise BackendError(f"{folder}: no spaCy pipeline can be loaded from it: {reason}") from error


def _check_own(folder: Path, config: Mapping[str, Any]) -> None:
    """Only what is part of spaCy is run: no code of other packages, and no other pipelines."""
    for section in ("nlp", "components"):
        for key, value in _settings(config.get(section, {})):
            if not _is_own(key, str(value)):
                raise BackendError(
                    f"{folder}: its config.cfg calls for '{printable(str(value))}'; "
                    "only what is part of spaCy itself is loaded."
                )


def _is_own(key: str, value: str) -> bool:
    if key == "factory":  # any installed package may have added some
        return value in _FACTORIES
    return key != "source" and (not key.startswith("@") or value.startswith(_OWN))


def _settings(section: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in section.items():
        if isinstance(value, Mapping):
            yield from _settings(value)
        else:
            yield key, value


def _tagged(pipeline: _Pipeline, texts: list[str]) -> list[tuple[Word, ...]]:
    language, lock = pipeline
    longest = max(map(len, texts), default=0)
    if longest > language.max_length:
        raise BackendError(
            f"A text of {longest:,} characters is too long for the tagger, which reads at most "
            f"{language.max_length:,}."
        )
    with lock, language.memory_zone():  # else each new word would stay in memory for good
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
