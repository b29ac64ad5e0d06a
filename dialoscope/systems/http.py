"""A system that asks a model on a server, by chat completions as OpenAI, vLLM and llama.cpp offer them."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

from dialoscope.core.errors import BackendError
from dialoscope.core.safe_text import without_surrogates
from dialoscope.models.http_client import Client, OutOfReach, Server, sort_choices
from dialoscope.systems.checked_text import as_reply, shorten
from dialoscope.systems.protocol import NoAnswer, Question, System

_PATH = "/chat/completions"
_PATIENCE = 2
"""The number of questions in a row that may find the server out of reach; further ones are tried once."""


@dataclass(frozen=True)
class HttpSystem(System):
    """A chat on a server, over HTTP: the last turn of a context is the user's, the one before its own."""

    name: ClassVar[str] = "http"
    usual_workers: ClassVar[int] = 8

    url: str
    """Up to the version, such as http://localhost:8000/v1."""
    model: str
    """The server's name for the model."""
    instructions: str = ""
    """A message of the role `system` before the dialogue; none if empty."""
    max_tokens: int | None = None
    """The maximum number of tokens of a reply; None for the server's default."""
    temperature: float | None = None
    """The temperature of sampling; None for the server's default."""
    top_p: float | None = None
    """The total probability of the likeliest tokens that are sampled from; None for the server's default."""
    send_seed: bool = True
    """Whether the seed is sent; some servers refuse it."""
    key_variable: str = field(default="OPENAI_API_KEY", compare=False)
    """The environment variable that holds the key; where it is not set, none is sent."""
    timeout: float = field(default=60.0, compare=False)
    """Seconds until a whole answer must be there."""
    retries: int = field(default=5, compare=False)
    """The number of further tries when the server is busy or out of reach."""
    pause: float = field(default=0.5, compare=False)
    """Seconds before the second try; each further one waits twice as long, or as long as the server says."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "url", self.url.rstrip("/").removesuffix(_PATH))
        if not self.model:
            raise BackendError("A model on a server needs the name that the server has for it.")
        if not (self.timeout > 0 and self.retries >= 0 and self.pause >= 0):
            raise BackendError("timeout must be above 0, retries and pause at least 0.")
        _ = self.server

    def __str__(self) -> str:
        return f"{self.url}#{self.model}"

    @property
    def label(self) -> str:
        """The name of the model."""
        return self.model

    @contextmanager
    def opened(self) -> Iterator["_Chat"]:
        """Open a connection for one thread."""
        with Client(self.server, 1) as client:
            yield _Chat(self, client)

    @property
    def server(self) -> Server:
        """The server's address, key and retries."""
        return Server(self.url, self.key_variable, self.timeout, self.retries, self.pause)

    def request(self, question: Question) -> dict[str, Any]:
        """Return the request that is sent for a question."""
        settings = {
            "max_tokens": self.max_tokens,
            "temperature": self.temperature,
            "top_p": self.top_p,
            "seed": question.seed if self.send_seed else None,
        }
        sent = {name: value for name, value in settings.items() if value is not None}
        return {"model": self.model, "messages": self._messages(question.context), **sent}

    def _messages(self, context: Sequence[str]) -> list[dict[str, str]]:
        instructions = [{"role": "system", "content": self.instructions}] if self.instructions else []
        return instructions + [
            {
                "role": "assistant" if (len(context) - number) % 2 == 0 else "user",
                "content": without_surrogates(turn),
            }
            for number, turn in enumerate(context)
        ]


class _Chat:
    """The connection of one thread to the server."""

    def __init__(self, system: HttpSystem, client: Client) -> None:
        self._system, self._client = system, client
        self._out_of_reach = 0

    def answers(self, questions: Sequence[Question]) -> Iterator[str | NoAnswer]:
        """Send one request for each question."""
        return map(self._answer, questions)

    def _answer(self, question: Question) -> str | NoAnswer:
        retries = 0 if self._out_of_reach >= _PATIENCE else None
        try:
            answer = self._client.post(_PATH, self._system.request(question), retries=retries)
            reply = _read_reply(answer, self._system.server)
        except BackendError as error:
            self._out_of_reach = self._out_of_reach + 1 if isinstance(error, OutOfReach) else 0
            return NoAnswer(shorten(str(error)))
        self._out_of_reach = 0
        return reply


def _read_reply(answer: Mapping[str, Any], server: Server) -> str | NoAnswer:
    """Return the text of the only choice unchanged; errors do not repeat the key."""
    choices = answer.get("choices")
    messages = [
        choice.get("message") if isinstance(choice, dict) else None
        for choice in (choices if isinstance(choices, list) else [])
    ]
    if not messages or not all(isinstance(message, dict) and "content" in message for message in messages):
        return NoAnswer("the server's answer holds no message; is this a server for chat completions?")
    try:
        (choice,) = sort_choices(choices, 1)  # type: ignore[arg-type]
    except BackendError as error:
        raise BackendError(f"{server.url}: {error}") from None
    if choice["message"]["content"] is None:
        reasons = (choice["message"].get("refusal"), choice.get("finish_reason"))
        reason = next((text for text in reasons if text and isinstance(text, str)), "")
        shown = f": {shorten(server.redact(reason), 100)}" if reason else ""
        return NoAnswer(f"the model said nothing{shown}")
    return as_reply(choice["message"]["content"])
