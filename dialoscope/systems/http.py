"""A model behind a server as a system: chat completions, as OpenAI, vLLM, llama.cpp and others have them."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from dialoscope.core.errors import BackendError
from dialoscope.core.safe_text import without_surrogates
from dialoscope.models.http_client import Client, Server, by_index
from dialoscope.systems.checked_text import as_reply, shortened
from dialoscope.systems.protocol import NoAnswer, Question, System

_PATH = "/chat/completions"
_PATIENCE = 2
"""Questions in a row that a server may be out of reach for; further ones are tried just once each."""


@dataclass(frozen=True)
class HttpSystem(System):
    """A chat on a server, over HTTP: the last turn of a context is the user's, the one before its own."""

    name: ClassVar[str] = "http"
    usual_workers: ClassVar[int] = 8

    url: str
    """Up to the version, such as http://localhost:8000/v1."""
    model: str
    """As the server calls it."""
    instructions: str = ""
    """What the model is told before the dialogue, as a message of the role `system`; nothing if empty."""
    max_tokens: int | None = None
    """The most tokens of a reply; unset, as the server has it."""
    temperature: float | None = None
    """How much chance there is; unset, as the server has it."""
    top_p: float | None = None
    """Sample among the likeliest tokens with this probability together; unset, as the server has it."""
    send_seed: bool = True
    """Whether the seed is sent; some servers refuse it."""
    key_variable: str = field(default="OPENAI_API_KEY", compare=False)
    """The environment variable that holds the key; where it is not set, none is sent."""
    timeout: float = field(default=60.0, compare=False)
    """Seconds to wait for an answer."""
    retries: int = field(default=5, compare=False)
    """How often a question is asked again when the server is busy or out of reach."""
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
        """The model's name."""
        return self.model

    @contextmanager
    def opened(self) -> Iterator["_Chat"]:
        """A connection of its own."""
        server = self.server
        with Client(server, 1) as patient, Client(replace(server, retries=0), 1) as brisk:
            yield _Chat(self, patient, brisk)

    @property
    def server(self) -> Server:
        """Where it is asked, and how patiently."""
        return Server(self.url, self.key_variable, self.timeout, self.retries, self.pause)

    def request(self, question: Question) -> dict[str, Any]:
        """What the server is sent."""
        settings = {
            "max_tokens": self.max_tokens,
            "temperature": self.temperature,
            "top_p": self.top_p,
            "seed": question.seed if self.send_seed else None,
        }
        sent = {name: value for name, value in settings.items() if value is not None}
        return {"model": self.model, "messages": self._messages(question.context), **sent}

    def _messages(self, context: Sequence[str]) -> list[dict[str, str]]:
        told = [{"role": "system", "content": self.instructions}] if self.instructions else []
        return told + [
            {
                "role": "assistant" if (len(context) - place) % 2 == 0 else "user",
                "content": without_surrogates(turn),
            }
            for place, turn in enumerate(context)
        ]


class _Chat:
    """The server at work for one thread."""

    def __init__(self, system: HttpSystem, patient: Client, brisk: Client) -> None:
        self._system, self._patient, self._brisk = system, patient, brisk
        self._out_of_reach = 0

    def answers(self, questions: Sequence[Question]) -> Iterator[str | NoAnswer]:
        """One request for each."""
        return map(self._answer, questions)

    def _answer(self, question: Question) -> str | NoAnswer:
        client = self._patient if self._out_of_reach < _PATIENCE else self._brisk
        try:
            answer = _content(client.post(_PATH, self._system.request(question)), self._system.server)
        except BackendError as error:
            self._out_of_reach = self._out_of_reach + 1 if _is_out_of_reach(error) else 0
            return NoAnswer(shortened(str(error)))
        self._out_of_reach = 0
        return answer


def _is_out_of_reach(error: BackendError) -> bool:
    """Whether nobody even took the call."""
    return error.__cause__ is not None and isinstance(error.__cause__.__cause__, ConnectionError)


def _content(answer: Mapping[str, Any], server: Server) -> str | NoAnswer:
    """The text of the only choice, which is data and stays as it is; errors do not repeat the key."""
    choices = answer.get("choices")
    messages = [
        choice.get("message") if isinstance(choice, dict) else None
        for choice in (choices if isinstance(choices, list) else [])
    ]
    if not messages or not all(isinstance(message, dict) and "content" in message for message in messages):
        return NoAnswer("the server's answer holds no message; is this a server for chat completions?")
    try:
        (choice,) = by_index(choices, 1)  # type: ignore[arg-type]
    except BackendError as error:
        raise BackendError(f"{server.url}: {error}") from None
    if choice["message"]["content"] is None:
        reasons = (choice["message"].get("refusal"), choice.get("finish_reason"))
        why = next((reason for reason in reasons if reason and isinstance(reason, str)), "")
        return NoAnswer(f"the model said nothing{f': {shortened(server.redact(why), 100)}' if why else ''}")
    return as_reply(choice["message"]["content"])
