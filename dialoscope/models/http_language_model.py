"""A language model behind a server that speaks the OpenAI protocol: OpenAI, vLLM, llama.cpp and others."""

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import accumulate
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np

from dialoscope.core.arrays import Floats
from dialoscope.core.errors import BackendError
from dialoscope.core.progress import bar, notice
from dialoscope.core.safe_text import printable, without_surrogates
from dialoscope.core.signature import signature
from dialoscope.models.cache import compute_cached, text_key
from dialoscope.models.http_client import Client, Refused, Server, by_index
from dialoscope.models.protocols import Continuation, Generation

Api = Literal["completions", "chat"]

_MOST_STOPS = 4
_ROUNDING = 1e-4
"""How far above 0 a log-probability may be: rounding a logit below 1,000 to float32 costs up to 2 ** -14."""
_LOWEST = -(2.0**17)
"""The lowest log-probability: logits in half precision differ by at most 2 * 65,504, and a vocabulary takes
less than the 64 that are left. Wider formats could hold more, but no model computes such logits."""


@dataclass(frozen=True)
class HttpLanguageModel:
    """A language model on a server, asked over HTTP.

    What a server computes can change while the name of its model stays. Log-probabilities are therefore
    asked for anew each time, unless `revision` says what is there: then they are kept.
    """

    name: ClassVar[str] = "http-lm"
    version: ClassVar[int] = 1

    url: str
    """Up to the version, such as http://localhost:8000/v1."""
    model: str
    """As the server calls it."""
    api: Api = "completions"
    """Whether prompts are continued as they are, or sent as what a user says in a chat."""
    revision: str = ""
    """What is behind the name, in your own words (a date, a hash); given, scores are kept by it."""
    key_variable: str = field(default="OPENAI_API_KEY", compare=False)
    """The environment variable that holds the key; where it is not set, none is sent."""
    timeout: float = field(default=60.0, compare=False)
    """Seconds to wait for an answer."""
    retries: int = field(default=5, compare=False)
    parallel: int = field(default=8, compare=False)
    """Requests at once."""
    pause: float = field(default=0.5, compare=False)
    """Seconds before a second try."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "url", self.url.rstrip("/"))
        if not self.model:
            raise BackendError("A model on a server needs the name that the server has for it.")
        if self.api not in get_args(Api):
            raise BackendError(f"api must be completions or chat, not '{printable(self.api)}'.")
        if not (self.timeout > 0 and self.retries >= 0 and self.parallel >= 1 and self.pause >= 0):
            raise BackendError("timeout must be above 0, parallel at least 1, retries and pause at least 0.")
        _ = self._server

    def __str__(self) -> str:
        return f"{self.url}#{self.model}"

    @property
    def fingerprint(self) -> str:
        """A hash of what is known of the model: address, name, and revision where one was given."""
        return blake2b("\0".join([self.url, self.model, self.revision]).encode(), digest_size=16).hexdigest()

    def log_probabilities(self, texts: Sequence[Continuation]) -> list[Floats]:
        """The natural logarithm of each token's probability, for each text given its prefix.

        The server reads prefix and text as one: a token that holds the end of one and the beginning of the
        other counts for the text. The very first token of all has no probability and is left out, so that
        a text without prefix has one number less than tokens.
        """
        if self.api == "chat":
            raise BackendError(
                f"{self.url}: a chat gives no log-probabilities of a text that is there already. Use a "
                "server with completions, and api='completions'."
            )
        keys = [text_key(*text) for text in texts]
        found = compute_cached(
            f"{signature(self)} {self.fingerprint}",
            keys,
            lambda places: self._scored([texts[place] for place in places], places),
            label=f"Reading with {self.model}",
            use_cache=bool(self.revision),
        )
        return [values.astype(float) for values in found]

    def generate(self, prompts: Sequence[str], how: Generation) -> list[list[str]]:
        """`how.samples` texts for each prompt, without the prompt, as far as the server heeds the seed."""
        if how.beams > 1:
            raise BackendError(
                f"{self.url}: servers have no beam search. Sample, or take the likeliest token."
            )
        unique = list(dict.fromkeys(prompts))
        found: dict[str, list[str]] = {}
        with (
            self._client() as client,
            bar(f"Writing with {self.model}", len(unique), unit="prompts") as advance,
        ):
            for number, written in client.each(lambda prompt: self._written(client, prompt, how), unique):
                found[unique[number]] = written
                advance(1)
        return [list(found[prompt]) for prompt in prompts]

    @property
    def _server(self) -> Server:
        return Server(self.url, self.key_variable, self.timeout, self.retries, self.pause)

    def _client(self) -> Client:
        return Client(self._server, self.parallel)

    def _written(self, client: Client, prompt: str, how: Generation) -> list[str]:
        """Where the server gives fewer than asked for, it is asked for the rest, with other seeds."""
        texts: list[str] = []
        while len(texts) < how.samples:
            request = self._request(prompt, how, how.samples - len(texts), how.seed + len(texts))
            answer = client.post(self._path, request)
            choices = _choices(self.url, answer, how.samples - len(texts))
            texts += [how.ended(self._text(choice)) for choice in choices]
        return texts[: how.samples]

    @property
    def _path(self) -> str:
        return "/chat/completions" if self.api == "chat" else "/completions"

    def _request(self, prompt: str, how: Generation, samples: int, seed: int) -> dict[str, Any]:
        text = without_surrogates(prompt)
        is_chat = self.api == "chat"
        request: dict[str, Any] = {
            "model": self.model,
            **({"messages": [{"role": "user", "content": text}]} if is_chat else {"prompt": text}),
            "max_tokens": how.max_tokens,
            "temperature": how.temperature if how.sample else 0,
            "seed": seed,
        }
        if how.sample:
            request |= {"n": samples, "top_p": how.top_p}
        if how.sample and how.top_k:
            request["top_k"] = how.top_k  # not of OpenAI's own protocol, but of most others
        if stops := [stop for stop in how.stop if stop][:_MOST_STOPS]:
            request["stop"] = stops
        return request

    def _text(self, choice: Mapping[str, Any]) -> str:
        holder = choice.get("message") if self.api == "chat" else choice
        text = holder.get("content" if self.api == "chat" else "text", 0) if isinstance(holder, dict) else 0
        if text is not None and not isinstance(text, str):
            raise BackendError(f"{self.url}{self._path}: its answer holds no text.")
        return text or ""  # None where the model declined to say anything

    def _scored(self, texts: list[Continuation], places: Sequence[int]) -> Iterator[tuple[int, Floats]]:
        """The first text shows which way of asking the server understands; the others go the same way."""
        readable = [
            Continuation(without_surrogates(prefix), without_surrogates(text)) for prefix, text in texts
        ]
        asked = [number for number, text in enumerate(readable) if text.text]
        yield from ((places[number], np.empty(0)) for number, text in enumerate(readable) if not text.text)
        lost = 0
        for number, values in self._answered([readable[number] for number in asked]):
            lost += bool(np.isnan(values).any())
            yield places[asked[number]], values
        if lost:
            notice(
                f"{self.url}: the server's tokens of {lost:,} of {len(texts):,} texts cannot be matched with "
                "the text; their log-probabilities are undefined."
            )

    def _answered(self, texts: list[Continuation]) -> Iterator[tuple[int, Floats]]:
        if not texts:
            return
        with self._client() as client:
            way, values = self._way(client, texts)
            yield 0, values
            numbers = range(1, len(texts))
            for _, (number, values) in client.each(
                lambda number: (number, self._score(client, texts, number, way)), numbers
            ):
                yield number, values

    def _way(self, client: Client, texts: list[Continuation]) -> "tuple[_Way, Floats]":
        problems: list[str] = []
        for way in _WAYS:
            try:
                return way, self._score(client, texts, 0, way, is_trial=True)
            except (Refused, _Lacking) as problem:
                problems.append(str(problem))
        raise BackendError(
            f"{self.url}: the server gives no log-probabilities of a text for '{printable(self.model)}'. "
            f"It was asked in {len(_WAYS)} ways; its first answer: {problems[0]}"
        )

    def _score(
        self, client: Client, texts: list[Continuation], number: int, way: "_Way", *, is_trial: bool = False
    ) -> Floats:
        text = texts[number]
        whole = text.prefix + text.text
        request = {"model": self.model, "prompt": whole, "temperature": 0, **way.settings}
        answer = client.post("/completions", request, is_trial=is_trial)
        (choice,) = _choices(self.url, answer, 1)
        try:
            tokens = _echoed(choice, answer, whole) if way.is_echo else _of_prompt(choice)
            return _values(tokens, text)
        except BackendError as problem:
            which = f"request {number + 1:,} of {len(texts):,}"
            raise type(problem)(f"{self.url}: {which}: {problem}.") from None


def _values(tokens: "list[_Token]", text: Continuation) -> Floats:
    """The log-probabilities of the tokens of the text, NaN where it cannot be told which these are."""
    begin = _begin(tokens, text)
    if begin is None:
        return np.array([math.nan])
    if begin == 0 and tokens[0].value is None:
        begin = 1
    values = [math.nan if token.value is None else token.value for token in tokens[begin:]]
    if any(map(math.isnan, values)):
        raise _Lacking("some tokens have no log-probability")
    for number, value in enumerate(values, begin + 1):
        if not _LOWEST <= value <= _ROUNDING:
            raise BackendError(
                f"the log-probability of token {number:,} of {len(tokens):,} is {value:g}; no probability "
                f"has it, since it must be between {_LOWEST:,.0f} and 0. Name another server, or another "
                "model on it"
            )
    return np.array([min(value, 0.0) for value in values], float)


class _Lacking(BackendError):
    """An answer without log-probabilities, or with none that can be understood."""


class _Way(NamedTuple):
    """How log-probabilities of a text are asked for."""

    is_echo: bool
    settings: Mapping[str, Any]


_WAYS = (
    _Way(True, {"echo": True, "logprobs": 1, "max_tokens": 0}),
    _Way(True, {"echo": True, "logprobs": 1, "max_tokens": 1}),  # some refuse to write nothing
    _Way(False, {"prompt_logprobs": 0, "max_tokens": 1}),  # vLLM's own
)


_BYTES = re.compile(r"<0x[0-9A-Fa-f]{2}>|bytes:")
"""How some servers show parts of characters."""


class _Token(NamedTuple):
    text: str
    value: float | None
    offset: int | None
    """Where the server says that it begins."""


def _choices(url: str, answer: Mapping[str, Any], asked: int) -> list[Mapping[str, Any]]:
    choices = answer.get("choices")
    if not (isinstance(choices, list) and choices and all(isinstance(choice, dict) for choice in choices)):
        raise BackendError(f"{url}: its answer holds no choices; is this the address of a model?")
    try:
        return by_index(choices, asked)
    except BackendError as error:
        raise BackendError(f"{url}: {error}") from None


def _echoed(choice: Mapping[str, Any], answer: Mapping[str, Any], whole: str) -> list[_Token]:
    """The tokens of the prompt, without those that were written after it."""
    found = choice.get("logprobs")
    found = found if isinstance(found, dict) else {}
    texts, values = found.get("tokens"), found.get("token_logprobs")
    if not (isinstance(texts, list) and isinstance(values, list) and texts and len(texts) == len(values)):
        raise _Lacking("the answer holds no log-probabilities")
    offsets = found.get("text_offset")
    if not (isinstance(offsets, list) and len(offsets) == len(texts)):
        offsets = [None] * len(texts)
    tokens = [_token(*one) for one in zip(texts, values, offsets, strict=True)]
    return tokens[: len(tokens) - _written_after(choice, answer, whole, tokens)]


def _written_after(
    choice: Mapping[str, Any], answer: Mapping[str, Any], whole: str, tokens: list[_Token]
) -> int:
    """How many tokens the server wrote after the prompt, though one is the most it was asked for."""
    usage = answer.get("usage")
    count = usage.get("completion_tokens") if isinstance(usage, dict) else None
    if isinstance(count, int):
        return min(max(count, 0), len(tokens))
    text = choice.get("text")
    return int(isinstance(text, str) and len(text) > len(whole) and text.startswith(whole))


def _of_prompt(choice: Mapping[str, Any]) -> list[_Token]:
    """From vLLM's `prompt_logprobs`: nothing for the first token, and for each other its number and value."""
    found = choice.get("prompt_logprobs")
    if not (isinstance(found, list) and found and all(isinstance(one, dict) for one in found[1:])):
        raise _Lacking("the answer holds no log-probabilities")
    ranked = [next(iter(one.values()), None) for one in found[1:]]
    rest = [
        _token(one.get("decoded_token"), one.get("logprob"), None) for one in ranked if isinstance(one, dict)
    ]
    if len(rest) < len(ranked):
        raise _Lacking("the answer holds no log-probabilities")
    return [_Token("", None, None), *rest]


def _token(text: object, value: object, offset: object) -> _Token:
    if not isinstance(text, str) or isinstance(value, bool) or not isinstance(value, int | float | None):
        raise _Lacking("the answer holds log-probabilities in a form that is not known")
    if isinstance(offset, bool) or not isinstance(offset, int) or offset < 0:
        offset = None
    return _Token(text, None if value is None else _float(value), offset)


def _float(value: float) -> float:
    """A number of JSON, infinite where it is beyond what a double holds, as JSON's own are."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _begin(tokens: list[_Token], text: Continuation) -> int | None:
    """The first token that holds something of the text, not of its prefix alone.

    Tokens that spell the text tell it best: all up to it, or all from it on. They may not, where a server
    begins with a mark of its own or cuts characters into bytes; then its own word is taken, if that fits
    the tokens. None where nothing fits.
    """
    whole, border = text.prefix + text.text, len(text.prefix)
    if not tokens or _is_of_another([token.text for token in tokens], whole, border):
        return None
    for spelled in ([token.text for token in tokens], [_plain(token.text) for token in tokens]):
        for find in (_forward, _backward):
            found = find(spelled, whole, border)
            if found is not None:
                return found
    return _by_offset(tokens, whole, border)


def _is_of_another(spelled: list[str], whole: str, border: int) -> bool:
    """Whether the tokens spell nothing, or the text, but end before it does or go on after it.

    Spaces do not count. Where all is text, tokens need not say where it begins.
    """
    joined, wanted = _squeezed(_plain("".join(spelled))), _squeezed(whole)
    if not joined or joined == wanted or _BYTES.search(joined):
        return not joined and border > 0
    missing = wanted.removeprefix(joined) if wanted.startswith(joined) else ""
    return joined.startswith(wanted) or any(character.isascii() for character in missing)


def _differs(joined: str, whole: str) -> bool:
    """Whether tokens spell another text with no excuse: all of it is ASCII, and no token stands for bytes."""
    is_plain = joined.isascii() and whole.isascii() and not _BYTES.search(joined)
    return is_plain and _squeezed(joined) != _squeezed(whole)


def _squeezed(text: str) -> str:
    return "".join(text.split()).casefold()


def _plain(token: str) -> str:
    """Without the marks that some vocabularies have for a space."""
    return token.replace("\u2581", " ").replace("\u0120", " ")


def _forward(spelled: list[str], whole: str, border: int) -> int | None:
    starts = [0, *accumulate(map(len, spelled))]
    first = _last_up_to(starts[:-1], border)
    sure = first if starts[first] == border else first + 1  # a token across the border must be right too
    is_right = whole.startswith("".join(spelled[:sure])) and starts[-1] > border
    return first if is_right and not (border and _differs("".join(spelled), whole)) else None


def _backward(spelled: list[str], whole: str, border: int) -> int | None:
    starts = [len(whole) - rest for rest in accumulate(map(len, reversed(spelled)))][::-1]
    first = _last_up_to(starts, border)
    if starts[first] > border and spelled[first] and "\ufffd" not in spelled[first]:
        return None  # where the text begins there is no token
    return first if whole.endswith("".join(spelled[max(first, 1) :])) else None


def _by_offset(tokens: list[_Token], whole: str, border: int) -> int | None:
    starts = [token.offset for token in tokens if token.offset is not None]
    if len(starts) < len(tokens) or starts != sorted(starts):
        return None
    if starts[-1] > len(whole):
        return None
    first = _last_up_to(starts, border)
    fits = (
        "\ufffd" in token.text or whole.startswith(_plain(token.text), token.offset)
        for token in tokens[first:]
    )
    return first if all(fits) else None


def _last_up_to(starts: list[int], border: int) -> int:
    """The last token that begins at the border or before; of those that begin at it, the first.

    Several do when a character is made of several tokens and the last of them holds it.
    """
    return min(bisect_left(starts, border), max(0, bisect_right(starts, border) - 1))
