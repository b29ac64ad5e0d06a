"""English inflection: the form of a word for a part of speech, its article, and its capitals."""

from functools import lru_cache

from dialoscope.errors import MissingExtra

_BASE = frozenset({"VB", "VBP", "NN", "JJ", "RB"})

_MUTE_H = ("heir", "honest", "honor", "honour", "hour")
_SPOKEN_AS_YOU = ("eu", "ewe", "ubiq", "uku", "unanim", "uni", "uran", "usa", "use", "usi", "usu", "ut")
_SPOKEN_AS_UN = ("unim", "unin", "unid", "unil", "utm", "utt")
_SPOKEN_AS_W = ("one", "once")


@lru_cache(maxsize=1 << 16)
def inflected(word: str, tag: str) -> str:
    """The form of a base form that a Penn Treebank tag asks for; empty where a dictionary lists none.

    An adjective that is compared with *more* has no form of its own, so it has none here; nor has a noun that
    can mean many in the singular too (advice) a plural, which would not read well everywhere.
    """
    if tag in _BASE:
        return word
    forms = _forms(word, tag)
    if not forms or (tag == "NNS" and word in forms):
        return ""
    return forms[0]


def _forms(word: str, tag: str) -> tuple[str, ...]:
    """What the dictionary lists, in its order; guesses at words it does not know are not asked for."""
    try:
        from lemminflect import getInflection
    except ImportError as missing:
        raise MissingExtra("Inflection", "lemminflect", "tagger") from missing
    return tuple(getInflection(word, tag, inflect_oov=False))


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
