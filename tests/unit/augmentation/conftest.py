"""What tests of augmentation share: small models that know a few words, and the real ones."""

from dataclasses import dataclass
from typing import ClassVar

import pytest

from dialoscope.core.errors import AssetError
from dialoscope.models.protocols import Word
from dialoscope.models.registry import locate


@dataclass(frozen=True)
class NotedTagger:
    """Words are written as text/TAG/lemma; a lemma in capital letters is the kind of a name."""

    name: ClassVar[str] = "noted-tagger"
    version: ClassVar[int] = 1
    fingerprint: ClassVar[str] = "noted"

    notes: tuple[str, ...]

    def tag(self, texts):
        noted = {self.plain(note): note for note in self.notes}
        return [self._words(text, noted[text]) for text in texts]

    @staticmethod
    def plain(note):
        return " ".join(word.split("/")[0] for word in note.split())

    def _words(self, text, note):
        words, start = [], 0
        for one in note.split():
            form, tag, lemma = [*one.split("/"), "", ""][:3]
            start = text.index(form, start)
            name = lemma if lemma.isupper() else ""
            words.append(Word(form, start, (lemma or form).lower(), tag or "IN", name))
            start += len(form)
        return words


@dataclass(frozen=True)
class ListLexicon:
    """Meanings as texts, `part: word count, word count`, the commonest first."""

    name: ClassVar[str] = "list-lexicon"
    version: ClassVar[int] = 1
    fingerprint: ClassVar[str] = "list"

    meanings: tuple[str, ...]

    def listed(self, word, part=""):
        return tuple(one for one in self.meanings if one.startswith(part) and word in self._counts(one))

    synsets = listed

    def members(self, synset):
        return tuple(self._counts(synset))

    def count(self, word, synset):
        return self._counts(synset).get(word, 0)

    def irregular(self, word):
        return ()

    def base_forms(self, word, part):
        return ()

    @staticmethod
    def _counts(meaning):
        pairs = (one.split() for one in meaning.partition(":")[2].split(","))
        return {word: int(count) for word, count in pairs}


@pytest.fixture(scope="session")
def tagger():
    """The real tagger, lexicon and encoder are here, or the test is skipped."""
    try:
        for name in ("spacy-tagger", "wordnet", "minilm"):
            locate(name)
    except AssetError as lacking:
        pytest.skip(str(lacking))
