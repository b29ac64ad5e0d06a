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
from dialoscope.core.progress import print_notice, progress_bar
from dialoscope.core.safe_text import printable, without_surrogates
from dialoscope.core.signature import signature
from dialoscope.models.cache import compute_cached, text_key
from dialoscope.models.http_client import Client, Refused, Server, sort_choices
from dialoscope.models.protocols import Continuation, Generation

Api = Literal["completions", "chat"]

_MOST_STOPS = 4
_ROUNDING = 1e-4
"""The largest value that is taken for 0: rounding a logit below 1,000 to float32 costs up to 2 ** -14."""
_LOWEST = -(2.0**17)
"""The lowest log-probability: logits in half precision differ by at most 2 * 65,504, and the logarithm of a
vocabulary's size is less than the remaining 64. No model computes the larger logits of wider formats."""


@dataclass(frozen=True)
class HttpLanguageModel:
    """A language model on a server, asked over HTTP.

    A server can change its model and keep the name. Log-probabilities are therefore cached only where
    `revision` identifies the model.
    """

    name: ClassVar[str] = "http-lm"
    version: ClassVar[int] = 1

    url: str
    """Up to the version, such as http://localhost:8000/v1."""
    model: str
    """The server's name for the model."""
    api: Api = "completions"
    """Whether prompts are continued as they are (completions), or sent as a user's turn (chat)."""
    revision: str = ""
    """Your own identifier of the model, such as a date or a hash; if set, scores are cached."""
    key_variable: str = field(default="OPENAI_API_KEY", compare=False)
    """The environment variable that holds the key; where it is not set, none is sent."""
    timeout: float = field(default=60.0, compare=False)
    """Seconds until a whole answer must be there."""
    retries: int = field(default=5, compare=False)
    parallel: int = field(default=8, compare=False)
    """The number of requests at once."""
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
        """A hash of the model's address, name and revision."""
        return blake2b("\0".join([self.url, self.model, self.revision]).encode(), digest_size=16).hexdigest()

    def log_probabilities(self, texts: Sequence[Continuation]) -> list[Floats]:
        """Return the natural logarithm of each token's probability, for each text given its prefix.

        The server reads prefix and text as one. A token across their border counts for the text. The very
        first token has no probability, so that a text without a prefix has one number less than tokens.
        """
        if self.api == "chat":
            raise BackendError(
                f"{self.url}: a chat gives no log-probabilities of a text that is there already. Use a "
                "server with completions, and api='completions'."
            )
        keys = [text_key(*text) for text in texts]
        cached = compute_cached(
            f"{signature(self)} {self.fingerprint}",
            keys,
            lambda indices: self._compute_scores([texts[index] for index in indices], indices),
            label=f"Reading with {self.model}",
            use_cache=bool(self.revision),
        )
        return [values.astype(float) for values in cached]

    def generate(self, prompts: Sequence[str], how: Generation) -> list[list[str]]:
        """Return `how.samples` texts for each prompt; they repeat with the seed if the server uses it."""
        if how.beams > 1:
            raise BackendError(
                f"{self.url}: servers have no beam search. Sample, or take the likeliest token."
            )
        unique = list(dict.fromkeys(prompts))
        generated: dict[str, list[str]] = {}
        with (
            self._client() as client,
            progress_bar(f"Writing with {self.model}", len(unique), unit="prompts") as advance,
        ):
            for number, replies in client.each(lambda prompt: self._generate(client, prompt, how), unique):
                generated[unique[number]] = replies
                advance(1)
        return [list(generated[prompt]) for prompt in prompts]

    @property
    def _server(self) -> Server:
        return Server(self.url, self.key_variable, self.timeout, self.retries, self.pause)

    def _client(self) -> Client:
        return Client(self._server, self.parallel)

    def _generate(self, client: Client, prompt: str, how: Generation) -> list[str]:
        """Generate the samples of a prompt; a server that gives too few is asked again with other seeds."""
        texts: list[str] = []
        while len(texts) < how.samples:
            request = self._request(prompt, how, how.samples - len(texts), how.seed + len(texts))
            answer = client.post(self._path, request)
            choices = _read_choices(self.url, answer, how.samples - len(texts))
            texts += [how.cut_at_stop(self._text(choice)) for choice in choices]
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

    def _compute_scores(
        self, texts: list[Continuation], indices: Sequence[int]
    ) -> Iterator[tuple[int, Floats]]:
        """Yield the index and the log-probabilities of each text; print the number of undefined ones."""
        readable = [
            Continuation(without_surrogates(prefix), without_surrogates(text)) for prefix, text in texts
        ]
        nonempty = [number for number, text in enumerate(readable) if text.text]
        yield from ((indices[number], np.empty(0)) for number, text in enumerate(readable) if not text.text)
        undefined = 0
        for number, values in self._request_scores([readable[number] for number in nonempty]):
            undefined += bool(np.isnan(values).any())
            yield indices[nonempty[number]], values
        if undefined:
            print_notice(
                f"{self.url}: the server's tokens of {undefined:,} of {len(texts):,} texts cannot be matched "
                "with the text; their log-probabilities are undefined."
            )

    def _request_scores(self, texts: list[Continuation]) -> Iterator[tuple[int, Floats]]:
        """Find with the first text which request the server understands, and use it for the others."""
        if not texts:
            return
        with self._client() as client:
            protocol, values = self._find_protocol(client, texts)
            yield 0, values
            numbers = range(1, len(texts))
            for _, (number, values) in client.each(
                lambda number: (number, self._score(client, texts, number, protocol)), numbers
            ):
                yield number, values

    def _find_protocol(self, client: Client, texts: list[Continuation]) -> "tuple[_Protocol, Floats]":
        problems: list[str] = []
        for protocol in _PROTOCOLS:
            try:
                return protocol, self._score(client, texts, 0, protocol, is_trial=True)
            except (Refused, _MissingScores) as problem:
                problems.append(str(problem))
        raise BackendError(
            f"{self.url}: the server gives no log-probabilities of a text for '{printable(self.model)}'. "
            f"It was asked in {len(_PROTOCOLS)} ways; its first answer: {problems[0]}"
        )

    def _score(
        self,
        client: Client,
        texts: list[Continuation],
        number: int,
        protocol: "_Protocol",
        *,
        is_trial: bool = False,
    ) -> Floats:
        text = texts[number]
        whole = text.prefix + text.text
        request = {"model": self.model, "prompt": whole, "temperature": 0, **protocol.settings}
        answer = client.post("/completions", request, is_trial=is_trial)
        (choice,) = _read_choices(self.url, answer, 1)
        try:
            tokens = _read_echo(choice, answer, whole) if protocol.is_echo else _read_prompt_scores(choice)
            return _select_values(tokens, text)
        except BackendError as problem:
            which = f"request {number + 1:,} of {len(texts):,}"
            raise type(problem)(f"{self.url}: {which}: {problem}.") from None


def _select_values(tokens: "list[_Token]", text: Continuation) -> Floats:
    """Return the log-probabilities of the text's tokens, one NaN where the tokens do not match the text."""
    begin = _find_first_token(tokens, text)
    if begin is None:
        return np.array([math.nan])
    if begin == 0 and tokens[0].value is None:
        begin = 1
    values = [math.nan if token.value is None else token.value for token in tokens[begin:]]
    if any(map(math.isnan, values)):
        raise _MissingScores("some tokens have no log-probability")
    for number, value in enumerate(values, begin + 1):
        if not _LOWEST <= value <= _ROUNDING:
            raise BackendError(
                f"the log-probability of token {number:,} of {len(tokens):,} is {value:g}; no probability "
                f"has it, since it must be between {_LOWEST:,.0f} and 0. Name another server, or another "
                "model on it"
            )
    return np.array([min(value, 0.0) for value in values], float)


class _MissingScores(BackendError):
    """An answer without log-probabilities, or with log-probabilities in an unknown form."""


class _Protocol(NamedTuple):
    """A form of request for the log-probabilities of a text."""

    is_echo: bool
    settings: Mapping[str, Any]


_PROTOCOLS = (
    _Protocol(True, {"echo": True, "logprobs": 1, "max_tokens": 0}),
    _Protocol(True, {"echo": True, "logprobs": 1, "max_tokens": 1}),  # some refuse to write nothing
    _Protocol(False, {"prompt_logprobs": 0, "max_tokens": 1}),  # vLLM's own
)


_BYTES = re.compile(r"<0x[0-9A-Fa-f]{2}>|bytes:")
"""Forms in which some servers show bytes that are parts of a character."""


class _Token(NamedTuple):
    text: str
    value: float | None
    offset: int | None
    """The token's first character in the text, according to the server."""


def _read_choices(url: str, answer: Mapping[str, Any], requested: int) -> list[Mapping[str, Any]]:
    choices = answer.get("choices")
    if not (isinstance(choices, list) and choices and all(isinstance(choice, dict) for choice in choices)):
        raise BackendError(f"{url}: its answer holds no choices; is this the address of a model?")
    try:
        return sort_choices(choices, requested)
    except BackendError as error:
        raise BackendError(f"{url}: {error}") from None


def _read_echo(choice: Mapping[str, Any], answer: Mapping[str, Any], whole: str) -> list[_Token]:
    """Return the tokens of the prompt, without those that the server generated after it."""
    scores = choice.get("logprobs")
    scores = scores if isinstance(scores, dict) else {}
    texts, values = scores.get("tokens"), scores.get("token_logprobs")
    if not (isinstance(texts, list) and isinstance(values, list) and texts and len(texts) == len(values)):
        raise _MissingScores("the answer holds no log-probabilities")
    offsets = scores.get("text_offset")
    if not (isinstance(offsets, list) and len(offsets) == len(texts)):
        offsets = [None] * len(texts)
    tokens = [_read_token(*fields) for fields in zip(texts, values, offsets, strict=True)]
    return tokens[: len(tokens) - _count_generated(choice, answer, whole, tokens)]


def _count_generated(
    choice: Mapping[str, Any], answer: Mapping[str, Any], whole: str, tokens: list[_Token]
) -> int:
    """Return the number of tokens that the server generated after the prompt."""
    usage = answer.get("usage")
    count = usage.get("completion_tokens") if isinstance(usage, dict) else None
    if isinstance(count, int):
        return min(max(count, 0), len(tokens))
    text = choice.get("text")
    return int(isinstance(text, str) and len(text) > len(whole) and text.startswith(whole))


def _read_prompt_scores(choice: Mapping[str, Any]) -> list[_Token]:
    """Read `prompt_logprobs` of vLLM: null for the first token, and for others a value by token number."""
    scores = choice.get("prompt_logprobs")
    if not (isinstance(scores, list) and scores and all(isinstance(entry, dict) for entry in scores[1:])):
        raise _MissingScores("the answer holds no log-probabilities")
    entries = [next(iter(entry.values()), None) for entry in scores[1:]]
    rest = [
        _read_token(entry.get("decoded_token"), entry.get("logprob"), None)
        for entry in entries
        if isinstance(entry, dict)
    ]
    if len(rest) < len(entries):
        raise _MissingScores("the answer holds no log-probabilities")
    return [_Token("", None, None), *rest]


def _read_token(text: object, value: object, offset: object) -> _Token:
    if not isinstance(text, str) or isinstance(value, bool) or not isinstance(value, int | float | None):
        raise _MissingScores("the answer holds log-probabilities in a form that is not known")
    if isinstance(offset, bool) or not isinstance(offset, int) or offset < 0:
        offset = None
    return _Token(text, None if value is None else _parse_float(value), offset)


def _parse_float(value: float) -> float:
    """Return a number as a float, infinite where it is out of a double's range."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _find_first_token(tokens: list[_Token], text: Continuation) -> int | None:
    """Return the index of the first token that holds a part of the text; None if no token can be identified.

    It is found by spelling: of all tokens up to the text, or of all from the text on. Where a server begins
    with a special token or cuts characters into bytes, the server's offsets are used if the tokens agree.
    """
    whole, border = text.prefix + text.text, len(text.prefix)
    if not tokens or _is_other_length([token.text for token in tokens], whole, border):
        return None
    for spelled in ([token.text for token in tokens], [_unmark_spaces(token.text) for token in tokens]):
        for find in (_find_forward, _find_backward):
            first = find(spelled, whole, border)
            if first is not None:
                return first
    return _find_by_offset(tokens, whole, border)


def _is_other_length(spelled: list[str], whole: str, border: int) -> bool:
    """Whether the tokens spell nothing, or only a part of the text, or the text and more.

    Spaces do not count. Without a prefix, the first token is the first of the text, however it is spelled.
    """
    joined, expected = _squeeze(_unmark_spaces("".join(spelled))), _squeeze(whole)
    if not joined or joined == expected or _BYTES.search(joined):
        return not joined and border > 0
    missing = expected.removeprefix(joined) if expected.startswith(joined) else ""
    return joined.startswith(expected) or any(character.isascii() for character in missing)


def _is_other_text(joined: str, whole: str) -> bool:
    """Whether tokens spell another text, where both are ASCII and no token is a byte."""
    is_plain = joined.isascii() and whole.isascii() and not _BYTES.search(joined)
    return is_plain and _squeeze(joined) != _squeeze(whole)


def _squeeze(text: str) -> str:
    """Return a text in lower case without spaces."""
    return "".join(text.split()).casefold()


def _unmark_spaces(token: str) -> str:
    """Replace the marks that some vocabularies have for a space."""
    return token.replace("\u2581", " ").replace("\u0120", " ")


def _find_forward(spelled: list[str], whole: str, border: int) -> int | None:
    starts = [0, *accumulate(map(len, spelled))]
    first = _last_up_to(starts[:-1], border)
    end = first if starts[first] == border else first + 1  # a token across the border must match too
    is_right = whole.startswith("".join(spelled[:end])) and starts[-1] > border
    return first if is_right and not (border and _is_other_text("".join(spelled), whole)) else None


def _find_backward(spelled: list[str], whole: str, border: int) -> int | None:
    starts = [len(whole) - rest for rest in accumulate(map(len, reversed(spelled)))][::-1]
    first = _last_up_to(starts, border)
    if starts[first] > border and spelled[first] and "\ufffd" not in spelled[first]:
        return None  # no token begins where the text does
    return first if whole.endswith("".join(spelled[max(first, 1) :])) else None


def _find_by_offset(tokens: list[_Token], whole: str, border: int) -> int | None:
    starts = [token.offset for token in tokens if token.offset is not None]
    if len(starts) < len(tokens) or starts != sorted(starts):
        return None
    if starts[-1] > len(whole):
        return None
    first = _last_up_to(starts, border)
    fits = (
        "\ufffd" in token.text or whole.startswith(_unmark_spaces(token.text), token.offset)
        for token in tokens[first:]
    )
    return first if all(fits) else None


def _last_up_to(starts: list[int], border: int) -> int:
    """Return the last token that begins at the border or before; of those that begin at it, the first.

    Several tokens begin at one character when they are its bytes.
    """
    return min(bisect_left(starts, border), max(0, bisect_right(starts, border) - 1))
