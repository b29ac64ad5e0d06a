"""English inflection: the form of a word for a part of speech, its article, and its capitals."""

import warnings
from collections.abc import Callable
from functools import cache, lru_cache

from dialoscope.core.errors import MissingExtra

_BASE = frozenset({"VB", "VBP", "NN", "JJ", "RB"})
_UNCOUNTABLE = (
    "advice baggage cash clothing coffee courage data education employment equipment evidence fun furniture "
    "happiness health help homework housework information knowledge laughter luck luggage machinery mail "
    "merchandise money music news pay progress research rice safety salt scenery snow software sugar traffic "
    "transportation wealth weather"
)

_MUTE_H = ("heir", "honest", "honor", "honour", "hour")
_SOUNDS_LIKE_YOU = ("eu", "ewe", "ubiq", "uku", "unanim", "uni", "uran", "usa", "use", "usi", "usu", "ut")
_SOUNDS_LIKE_UN = ("unim", "unin", "unid", "unil", "utm", "utt")
_SOUNDS_LIKE_W = ("one", "once")


@lru_cache(maxsize=1 << 16)
def inflect(word: str, tag: str) -> str:
    """Return the inflected form of a base form for a Penn Treebank tag; empty where a dictionary lists none.

    An adjective that is compared with *more* has no form of its own, so it has none here; nor has an
    uncountable noun, though the dictionary lists *advices*.
    """
    if tag in _BASE:
        return word
    if tag == "NNS" and word in _UNCOUNTABLE.split():
        return ""
    return next(iter(_forms(word, tag)), "")


def _forms(word: str, tag: str) -> tuple[str, ...]:
    """Return the forms in the dictionary, in its order, without guesses for unknown words."""
    return tuple(_dictionary()(word, tag, inflect_oov=False))


@cache
def _dictionary() -> Callable[..., tuple[str, ...]]:
    """Load the dictionary on first use, without the warnings that Python has about the package's source."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from lemminflect import getInflection
    except ImportError as missing:
        raise MissingExtra("Inflection", "lemminflect", "tagger") from missing
    lookup: Callable[..., tuple[str, ...]] = getInflection
    return lookup


def takes_an(word: str) -> bool:
    """Whether the article of a word is *an* rather than *a*, which depends on its sound."""
    word = word.lower()
    if word.startswith((*_MUTE_H, *_SOUNDS_LIKE_UN)):
        return True
    return word[:1] in tuple("aeiou") and not word.startswith((*_SOUNDS_LIKE_YOU, *_SOUNDS_LIKE_W))


def match_case(word: str, model: str) -> str:
    """Return the word with the capitals of the model: all letters, the first, or none."""
    if model.isupper() and len(model) > 1:
        return word.upper()
    return word[:1].upper() + word[1:] if model[:1].isupper() else word
