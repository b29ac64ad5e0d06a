"""Tokenizers. All of them process many texts at once, which makes them fast."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any

from dialoscope.core.errors import MetricError

Texts = Sequence[str]
Words = list[list[str]]


@dataclass(frozen=True)
class Tokenizer:
    """A way to split texts into words; equal tokenizers share their work within a batch."""

    name: str
    lowercase: bool = False
    stem: bool = False

    def __post_init__(self) -> None:
        if self.name not in TOKENIZERS:
            raise MetricError(f"There is no tokenizer '{self.name}'. Choose one of: {', '.join(TOKENIZERS)}.")

    def __call__(self, texts: Texts) -> Words:
        """Return the words of each text."""
        if self.lowercase:
            texts = [text.lower() for text in texts]
        words = TOKENIZERS[self.name](texts)
        return [list(map(_stem, line)) for line in words] if self.stem else words


def _whitespace(texts: Texts) -> Words:
    return [text.split() for text in texts]


def _single_spaces(texts: Texts) -> Words:
    # As str.split(" "): two spaces, or one at an end, yield an empty word. A blank text has no words.
    return [text.split(" ") if text.strip() else [] for text in texts]


def _nlg_eval(texts: Texts) -> Words:
    # nlg-eval reads one text a line and strips it before it splits at each single space.
    stripped = [" ".join(text.splitlines()).strip() for text in texts]
    return [text.split(" ") if text else [] for text in stripped]


def _characters(texts: Texts) -> Words:
    return [[character for character in text if not character.isspace()] for text in texts]


# 13a: the tokenization of WMT's mteval-v13a and of sacreBLEU. Its rules: every ASCII punctuation mark except
# ' - . , is a token; full stops and commas are tokens unless a digit is on both sides; a hyphen after
# a digit is a token. They are implemented as four successive substitutions, and where marks and digits are
# adjacent ("..5") the order in which these consume characters matters. This affects only texts in which a
# digit is next to a mark, so only those are tokenized in the exact, slow way.
_13A_MARKS = '{|}~[\\]^_`!"#$%&()*+:;<=>?@/'
_13A_DIGIT_MEETS_MARK = re.compile(r"[0-9](?:(?<=[.,].)|(?=-))")  # digits first, since they are rare
_13A_RULES = (
    (re.compile(r"([{-~\[-` -&(-+:-@/])"), r" \1 "),
    (re.compile(r"([^0-9])([.,])"), r"\1 \2 "),
    (re.compile(r"([.,])([^0-9])"), r" \1 \2"),
    (re.compile(r"([0-9])(-)"), r"\1 \2 "),
)


def _13a(texts: Texts) -> Words:
    if not texts:
        return []
    # One text a line; the spaces prevent rules from matching across its end.
    joined = " \n ".join(texts)
    if joined.count("\n") == len(texts) - 1:
        joined = _13a_unescape(joined.replace("<skipped>", ""))
    else:
        joined = " \n ".join([_13a_unescape(_13a_one_line(text)) for text in texts])
    lines = joined.split("\n")
    for mark in (*_13A_MARKS, ".", ","):
        joined = joined.replace(mark, f" {mark} ")
    words = [line.split() for line in joined.split("\n")]
    for index in _find_lines(_13A_DIGIT_MEETS_MARK, lines):
        words[index] = _13a_exactly(lines[index])
    return words


def _find_lines(pattern: re.Pattern[str], lines: list[str]) -> set[int]:
    """Return the indices of the lines that the pattern matches in, which are searched all at once."""
    joined, indices, line, last = "\n".join(lines), set(), 0, 0
    for match in pattern.finditer(joined):
        line += joined.count("\n", last, match.start())
        last = match.start()
        indices.add(line)
    return indices


def _13a_one_line(text: str) -> str:
    return text.rstrip().replace("<skipped>", "").replace("-\n", "").replace("\n", " ")


def _13a_unescape(text: str) -> str:
    if "&" in text:
        # In this order: "&amp;lt;" becomes "<", as it does in mteval.
        text = text.replace("&quot;", '"').replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">")
    return text


def _13a_exactly(line: str) -> list[str]:
    line = f" {line} "
    for pattern, replacement in _13A_RULES:
        line = pattern.sub(replacement, line)
    return line.split()


# ROUGE's words: lower-cased runs of ASCII letters and digits.
_LETTERS_AND_DIGITS = bytes(
    code if chr(code).isalnum() and code < 128 else ord("\n") if code == ord("\n") else ord(" ")
    for code in range(256)
)


def _ascii_words(texts: Texts) -> Words:
    if not texts:
        return []
    # Lower-case first: some letters outside ASCII have lower forms inside it (the Kelvin sign is a k).
    joined = "\n".join(texts)
    if joined.count("\n") != len(texts) - 1:
        joined = "\n".join([text.replace("\n", " ") for text in texts])
    joined = joined.lower()
    cleaned = joined.encode("ascii", "replace").translate(_LETTERS_AND_DIGITS).decode("ascii")
    return [line.split() for line in cleaned.split("\n")]


def _words(texts: Texts) -> Words:
    """Return the words of texts in any script: letters, digits and the marks that belong to them.

    Scripts written without spaces between words are split into characters. On ASCII text the words are
    those of ROUGE.
    """
    words = _ascii_words(texts)
    not_ascii = [index for index, text in enumerate(texts) if not text.isascii()]
    find_words = _unicode_words() if not_ascii else None
    for index in not_ascii:
        words[index] = find_words(texts[index].lower()) if find_words else []
    return words


@cache
def _unicode_words() -> Callable[[str], list[str]]:
    import regex  # imported for non-ASCII text only

    unspaced = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
    pattern = rf"[{unspaced}]\p{{M}}*|(?:(?![{unspaced}])[\p{{L}}\p{{N}}]\p{{M}}*)+"
    find_words: Callable[[str], list[str]] = regex.compile(pattern).findall
    return find_words


def _treebank(texts: Texts) -> Words:
    tokenize = _treebank_tokenizer().tokenize
    return [tokenize(text) for text in texts]


@cache
def _treebank_tokenizer() -> Any:  # noqa: ANN401 - NLTK is not typed
    from nltk.tokenize.destructive import NLTKWordTokenizer

    return NLTKWordTokenizer()


@lru_cache(maxsize=1 << 16)
def _stem(word: str) -> str:
    # Short words are not stemmed, as in ROUGE.
    return str(_stemmer().stem(word)) if len(word) > 3 else word


@cache
def _stemmer() -> Any:  # noqa: ANN401
    from nltk.stem.porter import PorterStemmer

    return PorterStemmer()


TOKENIZERS: Mapping[str, Callable[[Texts], Words]] = MappingProxyType(
    {
        "13a": _13a,
        "words": _words,
        "rouge-score": _ascii_words,
        "split": _whitespace,
        "spaces": _single_spaces,
        "nlg-eval": _nlg_eval,
        "char": _characters,
        "treebank": _treebank,
    }
)

VERSIONS: Mapping[str, int] = MappingProxyType({"spaces": 2})
"""Versions of tokenizers whose results have changed: signatures name the version."""
