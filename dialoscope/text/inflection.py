"""English inflection: the form of a word for a part of speech, its article, and its capitals."""

import warnings
from collections.abc import Callable
from functools import cache, lru_cache

from dialoscope.core.errors import MissingExtra

_BASE = frozenset({"VB", "VBP", "NN", "JJ", "RB"})
_UNCOUNTED = (
    "advice baggage cash clothing coffee courage data education employment equipment evidence fun furniture "
    "happiness health help homework housework information knowledge laughter luck luggage machinery mail "
    "merchandise money music news pay progress research rice safety salt scenery snow software sugar traffic "
    "transportation wealth weather"
)

_MUTE_H = ("heir", "honest", "honor", "honour", "hour")
_SPOKEN_AS_YOU = ("eu", "ewe", "ubiq", "uku", "unanim", "uni", "uran", "usa", "use", "usi", "usu", "ut")
_SPOKEN_AS_UN = ("unim", "unin", "unid", "unil", "utm", "utt")
_SPOKEN_AS_W = ("one", "once")


@lru_cache(maxsize=1 << 16)
def inflected(word: str, tag: str) -> str:
    """The form of a base form that a Penn Treebank tag asks for; empty where a dictionary lists none.

    An adjective that is compared with *more* has no form of its own, so it has none here; nor has a noun of
    what cannot be counted, though the dictionary lists *advices*.
    """
    if tag in _BASE:
        return word
    if tag == "NNS" and word in _UNCOUNTED.split():
        return ""
    return next(iter(_forms(word, tag)), "")


def _forms(word: str, tag: str) -> tuple[str, ...]:
    """What the dictionary lists, in its order; guesses at words it does not know are not asked for."""
    return tuple(_dictionary()(word, tag, inflect_oov=False))


@cache
def _dictionary() -> Callable[..., tuple[str, ...]]:
    """Loaded on first use; what Python has to say of the package's source is none of a user's business."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from lemminflect import getInflection
    except ImportError as missing:
        raise MissingExtra("Inflection", "lemminflect", "tagger") from missing
    found: Callable[..., tuple[str, ...]] = getInflection
    return found


def takes_an(word: str) -> bool:
    """Whether *an* stands before a word rather than *a*: a matter of its sound."""
    word = word.lower()
    if word.startswith((*_MUTE_H, *_SPOKEN_AS_UN)):
        return True
    return word[:1] in tuple("aeiou") and not word.startswith((*_SPOKEN_AS_YOU, *_SPOKEN_AS_W))


def capitalised_like(word: str, model: str) -> str:
    """The word with capitals where the model has them: all of them, the first, or none."""
    if model.isupper() and len(model) > 1:
        return word.upper()
    return word[:1].upper() + word[1:] if model[:1].isupper() else word
