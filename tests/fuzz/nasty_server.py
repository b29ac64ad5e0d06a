"""Servers that misbehave, as a table: `BEHAVIOURS` has a row for each thing that a server may do wrong.

A row has a name, what the server does with a request (`act`), and what must come of it: for a reply that is
asked for (`reply`), and for the log-probabilities of a text (`log_probabilities`). An outcome is one of

    RIGHT             what a sound server would have given
    Gives("text")     this text, as it is
    Scores(values)    these log-probabilities
    Fails("pattern")  an error, which is a sentence that matches the pattern
    UNDEFINED         log-probabilities that cannot be matched with the text
    None              nobody asks such a server this

`NastyServer` serves all rows: the address of a row is `server.url(row)`. A request whose text contains
"sound" is answered as a sound server would, so that what a nasty answer leaves behind shows in the next one.
"""

import gzip
import itertools
import json
import socket
import ssl
import struct
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple

ENOUGH = 2**30
"""Bytes at which a flood ends by itself."""
KEY = "none"
"""The key that is sent: an ordinary word, as servers on one's own machine have it."""
LONG_KEY = "sk-0123456789abcdef"
"""A key that the rows about keys are asked with."""


class Fails(NamedTuple):
    """An error; its text matches."""

    pattern: str


class Gives(NamedTuple):
    """A reply; it is this one."""

    text: str


class Scores(NamedTuple):
    """Log-probabilities; they are these."""

    values: tuple[float, ...]


class Outcome(NamedTuple):
    """An outcome that needs no more than its name."""

    name: str


RIGHT = Outcome("right")
UNDEFINED = Outcome("undefined")
Expected = Fails | Gives | Scores | Outcome | None


class Call:
    """A request, and the line on which to answer it."""

    def __init__(
        self, line: socket.socket, reader: BinaryIO, path: str, request: dict[str, Any], server: "NastyServer"
    ) -> None:
        self.line, self._reader, self.path, self.request, self._server = line, reader, path, request, server
        self.is_chat = path.endswith("/chat/completions")
        self.text: str = request["messages"][-1]["content"] if self.is_chat else request["prompt"]
        self.number = server.count(path, self.text)
        """How often the same was asked before."""
        self.authorization = ""
        self._sent = 0

    def send(self, content: bytes | str) -> None:
        """Bytes as they are."""
        content = content.encode() if isinstance(content, str) else content
        self.line.sendall(content)
        self._sent += len(content)
        self._server.sent[self.path] = max(self._sent, self._server.sent[self.path])

    def flood(self, piece: bytes) -> None:
        """The same bytes again and again, until nobody listens."""
        piece *= 1 + 2**16 // len(piece)
        for _ in range(ENOUGH // len(piece)):
            self.send(piece)

    def drip(self, content: bytes | str, pause: float = 0.02) -> None:
        """One byte after the other."""
        for byte in content.encode() if isinstance(content, str) else content:
            self.send(bytes([byte]))
            self.wait(pause)

    def wait(self, seconds: float = 60) -> None:
        """Do nothing, but no longer than the server is there."""
        self._server.closed.wait(seconds)

    def answer(
        self, body: object = None, status: str = "200 OK", headers: str = "", length: object = None
    ) -> None:
        """Send a whole answer."""
        self.send(self.whole(body, status, headers, length))

    def whole(
        self, body: object = None, status: str = "200 OK", headers: str = "", length: object = None
    ) -> bytes:
        """An answer: bytes or text as they are, anything else as JSON; without a body, the right one."""
        body = self.right() if body is None else body
        if not isinstance(body, bytes | str):
            body = json.dumps(body)
        content = body.encode("utf-8", "surrogatepass") if isinstance(body, str) else body
        size = len(content) if length is None else length
        return f"HTTP/1.1 {status}\r\n{headers}Content-Length: {size}\r\n\r\n".encode() + content

    def close(self, *, is_reset: bool = False) -> None:
        """Hang up, with a reset in place of a goodbye where it is asked for."""
        if is_reset:
            self.line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        else:
            with suppress(OSError):
                self.line.shutdown(socket.SHUT_RDWR)
        self._reader.close()  # which keeps the line
        self.line.close()

    def right(self) -> dict[str, Any]:
        """What a sound server says."""
        if self.is_chat:
            message = {"role": "assistant", "content": right_reply(self.text)}
            return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
        tokens = pieces(self.text)
        found = {
            "tokens": tokens,
            "token_logprobs": right_values(self.text),
            "text_offset": [3 * number for number in range(len(tokens))],
        }
        choice = {"index": 0, "text": self.text, "logprobs": found, "finish_reason": "length"}
        return {"choices": [choice], "usage": {"completion_tokens": 0}}


def right_reply(text: str) -> str:
    """What a sound server replies."""
    return f"about {text}"


def pieces(text: str) -> list[str]:
    """The tokens of a text."""
    return [text[start : start + 3] for start in range(0, len(text), 3)]


def right_values(text: str) -> list[float | None]:
    """A log-probability for each token; the first has none."""
    return [None, *(-0.25 * number for number in range(1, len(pieces(text))))]


Act = Callable[[Call], None]


@dataclass(frozen=True)
class Behaviour:
    """One way to misbehave, and what must come of it."""

    name: str
    act: Act
    reply: Expected
    log_probabilities: Expected
    retries: int = 0
    timeout: float = 10.0
    """Seconds that the client waits; few where the server keeps it waiting."""
    tls: str = ""
    """How the server's TLS is wrong; plain HTTP if empty."""
    key: str = KEY


# What acts are made of


def raw(content: bytes | str) -> Act:
    """Send this, and hang up."""

    def act(call: Call) -> None:
        call.send(content)
        call.close()

    return act


def says(body: object, status: str = "200 OK", headers: str = "") -> Act:
    """A whole answer."""
    return lambda call: call.answer(body, status, headers)


def headers(lines: str, status: str = "200 OK") -> Act:
    """The right answer under odd headers."""
    return lambda call: call.answer(None, status, lines)


def once(act: Act) -> Act:
    """Misbehave the first time alone."""
    return lambda call: act(call) if call.number == 0 else call.answer()


def busy(after: str, status: str = "429 Too Many Requests") -> Act:
    """Turned away once, and told when to come again."""
    return once(says({"error": {"message": "slow down"}}, status, f"Retry-After: {after}\r\n"))


def chunked(content: bytes | str, headers: str = "") -> Act:
    """The head of an answer in chunks, then this, then the end of the line."""
    content = content.encode() if isinstance(content, str) else content
    head = f"HTTP/1.1 200 OK\r\n{headers}Transfer-Encoding: chunked\r\n\r\n".encode()
    return raw(head + content)


def choices(*made: object) -> Act:
    """These choices; `...` stands for the right one."""
    return lambda call: call.answer(
        {**call.right(), "choices": [call.right()["choices"][0] if one is ... else one for one in made]}
    )


def choice(**changes: object) -> Act:
    """The right choice, but for these fields."""
    return lambda call: call.answer({**call.right(), "choices": [{**call.right()["choices"][0], **changes}]})


def indexed(*indices: object) -> Act:
    """The right choice again and again, with these indices; `...`: with none."""

    def act(call: Call) -> None:
        right = call.right()["choices"][0]
        del right["index"]
        call.answer(
            {
                **call.right(),
                "choices": [right if index is ... else {**right, "index": index} for index in indices],
            }
        )

    return act


def content(value: object, **more: object) -> Act:
    """A message with this content."""
    return choice(message={"role": "assistant", "content": value, **more})


def content_text(text: str) -> Act:
    """A message whose content is this JSON."""
    return says(f'{{"choices": [{{"index": 0, "message": {{"content": {text}}}}}]}}')


def scores(**changes: object) -> Act:
    """The right log-probabilities, but for these fields."""

    def act(call: Call) -> None:
        right = call.right()
        right["choices"][0]["logprobs"].update(changes)
        call.answer(right)

    return act


def last_value(text: str) -> Act:
    """The right log-probabilities, but the last is this JSON."""

    def act(call: Call) -> None:
        right = call.right()
        right["choices"][0]["logprobs"]["token_logprobs"][-1] = "LAST"
        call.answer(json.dumps(right).replace('"LAST"', text))

    return act


def every_value(value: float) -> Act:
    """This log-probability for each token but the first."""
    return lambda call: scores(token_logprobs=[None, *[value] * (len(pieces(call.text)) - 1)])(call)


def tokens(change: Callable[[list[str]], list[str]], *, is_offset: bool = False, **changes: object) -> Act:
    """Other tokens, with a log-probability each, and without offsets unless they are asked for."""

    def act(call: Call) -> None:
        made = change(pieces(call.text))
        right = call.right()
        found = right["choices"][0]["logprobs"]
        found.update(tokens=made, token_logprobs=[None, *[-1.0] * (len(made) - 1)], **changes)
        if not is_offset and "text_offset" not in changes:
            del found["text_offset"]
        call.answer(right)

    return act


def usage(value: object) -> Act:
    """A count of tokens that makes no sense."""
    return lambda call: call.answer({**call.right(), "usage": value})


def prompt_scores(value: object) -> Act:
    """A server that knows vLLM's way alone, and gives this; `LAST` in it is the last text of the prompt."""

    def act(call: Call) -> None:
        if "prompt_logprobs" not in call.request:
            call.answer({"error": {"message": "echo is not known"}}, "400 Bad Request")
        else:
            call.answer({"choices": [{"index": 0, "text": "", "prompt_logprobs": value}]})

    return act


# Acts that are more than an answer


def silent(call: Call) -> None:
    call.wait()


def drip_everything(call: Call) -> None:
    call.drip("HTTP/1.1 200 OK\r\n" + "X-Slow: and slower\r\n" * 50)


def drip_body(call: Call) -> None:
    call.send("HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n")
    call.drip("{" + " " * 5000)


def drip_without_length(call: Call) -> None:
    call.send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
    call.drip("{" + " " * 5000)


def drip_chunks(call: Call) -> None:
    call.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while not call._server.closed.is_set():
        call.send("1\r\n \r\n")
        call.wait(0.02)


def stops_midway(call: Call) -> None:
    call.send('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{"choices"')
    call.wait()


def flood(head: str, piece: bytes) -> Act:
    """Without end."""

    def act(call: Call) -> None:
        call.send(head)
        call.flood(piece)
        call.close()

    return act


def gzip_bomb(call: Call) -> None:
    bomb = gzip.compress(b" " * 2**24)
    call.answer(bomb, headers="Content-Encoding: gzip\r\n")


def gzipped(call: Call) -> None:
    call.answer(gzip.compress(json.dumps(call.right()).encode()), headers="Content-Encoding: gzip\r\n")


def right_length_and(change: int | str) -> Act:
    """The right answer under a wrong length: a number is added to the right one, a text replaces it."""

    def act(call: Call) -> None:
        size = len(json.dumps(call.right()))
        call.answer(length=size + change if isinstance(change, int) else change)
        call.close()

    return act


def in_chunks(call: Call) -> None:
    """Nothing is wrong with it."""
    body = json.dumps(call.right())
    parts = [body[start : start + 7] for start in range(0, len(body), 7)]
    made = "".join(f"{len(part):x}; odd=yes\r\n{part}\r\n" for part in parts)
    call.send(f"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{made}0\r\nX-After: all\r\n\r\n")


def cut_chunks(call: Call) -> None:
    call.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    body = json.dumps(call.right())
    call.send(f"{len(body) + 100:x}\r\n{body}")
    call.close()


def unended_chunks(call: Call) -> None:
    call.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    body = json.dumps(call.right())
    call.send(f"{len(body):x}\r\n{body}\r\n")
    call.close()


def closes(*parts: str, is_reset: bool = False) -> Act:
    """Hang up after these parts of an answer."""

    def act(call: Call) -> None:
        call.send("".join(parts))
        call.close(is_reset=is_reset)

    return act


def closes_in_the_body(call: Call, *, is_reset: bool = False) -> None:
    body = json.dumps(call.right())
    call.send(f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n{body[:-3]}")
    call.close(is_reset=is_reset)


def twice(call: Call) -> None:
    """Another answer after the answer, when nobody asked; a moment later where the question says "later".

    Otherwise both in one piece: what comes just after the next question nobody can tell from its answer.
    """
    other = call.whole({"choices": [{"index": 0, "message": {"content": "of another question"}}]})
    if "later" not in call.text:
        call.send(call.whole() + other)
        return
    call.answer()
    call.wait(0.3)
    call.send(other)


def redirects_to_itself(call: Call) -> None:
    call.answer("", "302 Found", f"Location: {call.path}\r\n")


def echoes_the_key(status: str) -> Act:
    """What it was sent as key, in an error."""
    return lambda call: call.answer({"error": {"message": f"no {call.authorization}, no"}}, status)


def echoes_the_key_bare(call: Call) -> None:
    call.answer(
        {"error": {"message": f"no {call.authorization.removeprefix('Bearer ')}, no"}}, "403 Forbidden"
    )


def echoes_the_key_in_reason(call: Call) -> None:
    call.answer({}, f"403 no {call.authorization.removeprefix('Bearer ')}")


def echoes_the_key_in_location(call: Call) -> None:
    call.answer({}, "302 Found", f"Location: /{call.authorization.removeprefix('Bearer ')}\r\n")


def echoes_the_key_in_status(call: Call) -> None:
    call.send(f"{call.authorization}\r\n\r\n")
    call.close()


def refuses_with_the_key(call: Call) -> None:
    content(None, refusal=f"no {call.authorization.removeprefix('Bearer ')}, no")(call)


def replies_the_key(call: Call) -> None:
    content(f"have, {call.authorization.removeprefix('Bearer ')} or test?")(call)


def deep(depth: int, inner: str = "1") -> str:
    """Lists in lists."""
    return "[" * depth + inner + "]" * depth


def nested(depth: int) -> Any:
    """The same, as Python has it."""
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def huge(digits: int) -> str:
    """A whole number."""
    return "1" + "0" * (digits - 1)


TIMES_OUT = Fails(r"no answer within 0\.3 seconds \(tried once\)")
TOO_LARGE = Fails(r"its answer is larger than 67,108,864 bytes\.")
UNREACHED = Fails(r"cannot be reached: .+ \(tried once\)")
NOT_JSON = Fails(r"its answer is not JSON; is this the address of a model\?")
NO_OBJECT = Fails(r"its answer is no JSON object; is this the address of a model\?")
NO_MESSAGE = Fails(r"the server's answer holds no message; is this a server for chat completions\?")
NO_CHOICES = Fails(r"its answer holds no choices; is this the address of a model\?")
NO_SCORES = Fails(r"the server gives no log-probabilities of a text for 'm'")
IMPOSSIBLE = Fails(r"request 2 of 2: the log-probability of token 4 of 4 is .+; no probability has it")
WRONG_INDEX = Fails(r"whose index is .+ where 0 is due")
SLOW = 0.3


def both(name: str, act: Act, outcome: Expected, **more: Any) -> Behaviour:
    """A row with the same outcome for all that is asked."""
    return Behaviour(name, act, outcome, outcome, **more)


def chat(name: str, act: Act, outcome: Expected, **more: Any) -> Behaviour:
    """A row about replies."""
    return Behaviour(name, act, outcome, None, **more)


def scored(name: str, act: Act, outcome: Expected, **more: Any) -> Behaviour:
    """A row about log-probabilities."""
    return Behaviour(name, act, None, outcome, **more)


OK = "HTTP/1.1 200 OK\r\n"
CHUNKS = f"{OK}Transfer-Encoding: chunked\r\n\r\n"

SLOWNESS = [
    both("silent", silent, TIMES_OUT, timeout=SLOW),
    both("drips-everything", drip_everything, TIMES_OUT, timeout=SLOW),
    both("drips-body", drip_body, TIMES_OUT, timeout=SLOW),
    both("drips-without-length", drip_without_length, TIMES_OUT, timeout=SLOW),
    both("drips-chunks", drip_chunks, TIMES_OUT, timeout=SLOW),
    both("stops-midway", stops_midway, TIMES_OUT, timeout=SLOW),
    both("silent-once", once(silent), RIGHT, timeout=SLOW, retries=1),
]
FLOODS = [
    both("flood-counted", flood(f"{OK}Content-Length: {ENOUGH}\r\n\r\n", b" "), TOO_LARGE),
    chat("flood-uncounted", flood(f"{OK}\r\n", b"[[[[ "), TOO_LARGE),
    chat("flood-chunks", flood(CHUNKS, b"10000\r\n" + b" " * 65536 + b"\r\n"), TOO_LARGE),
    both("flood-small-chunks", flood(CHUNKS, b"1\r\n \r\n"), TIMES_OUT, timeout=SLOW),
    chat("flood-one-chunk", flood(f"{OK}Transfer-Encoding: chunked\r\n\r\n{ENOUGH:x}\r\n", b" "), TOO_LARGE),
    chat(
        "flood-negative-chunk",
        flood(f"{OK}Transfer-Encoding: chunked\r\n\r\n-1\r\n", b" "),
        Fails("cannot be reached: "),
    ),
    both("flood-status", flood("HTTP/1.1 200 ", b"x"), UNREACHED),
    both("flood-header", flood(f"{OK}X: ", b"x"), UNREACHED),
    both("flood-headers", flood(OK, b"X: y\r\n"), UNREACHED),
    both("flood-continue", flood("", b"HTTP/1.1 100 Continue\r\n\r\n"), TIMES_OUT, timeout=SLOW),
    both(
        "flood-trailers",
        flood(f"{OK}Transfer-Encoding: chunked\r\n\r\n2\r\n{{}}\r\n0\r\n", b"X: y\r\n"),
        TIMES_OUT,
        timeout=SLOW,
    ),
    chat("flood-of-errors", flood("HTTP/1.1 500 Oops\r\n\r\n", b"x"), TOO_LARGE),
]
LENGTHS = [
    both("in-chunks", in_chunks, RIGHT),
    both("length-too-long", right_length_and(50), UNREACHED),
    both("length-too-short", right_length_and(-5), NOT_JSON),
    both("length-zero", right_length_and("0"), NOT_JSON),
    both("length-negative", right_length_and("-7"), RIGHT),
    both("length-no-number", right_length_and("many"), RIGHT),
    both("length-endless", right_length_and(huge(30)), UNREACHED),
    both("length-absurd", right_length_and(huge(5000)), RIGHT),
    both("length-twice", headers("Content-Length: 3\r\n"), NOT_JSON),
    both("chunks-cut", cut_chunks, UNREACHED),
    both("chunks-unended", unended_chunks, UNREACHED),
    both("chunk-size-no-number", chunked("zz\r\n{}\r\n0\r\n\r\n"), UNREACHED),
    both("chunk-size-negative", chunked("-5\r\n{}\r\n0\r\n\r\n"), UNREACHED),
    both("chunk-size-absurd", chunked(f"{'f' * 40}\r\n{{}}"), UNREACHED),
    both("chunk-size-too-long", chunked("0" * 70_000), UNREACHED),
    both("gzip-bomb", gzip_bomb, NOT_JSON),
    both("gzip", gzipped, NOT_JSON),
    both("twice", twice, RIGHT),
]
STATUSES = [
    both(
        "continue-first", lambda call: (call.send("HTTP/1.1 100 Continue\r\n\r\n"), call.answer())[1], RIGHT
    ),
    both(
        "redirect",
        says("", "301 Moved", "Location: http://elsewhere.example/v1\r\n"),
        Fails("redirects to http://elsewhere"),
    ),
    both("redirect-loop", redirects_to_itself, Fails("redirects to /")),
    both("redirect-307", says("", "307 Go", "Location: ftp://x\r\n"), Fails("redirects to ftp://x")),
    both("redirect-nowhere", says("", "308 Go"), Fails("redirects to somewhere else")),
    both(
        "redirect-hostile",
        says("", "302 Go", "Location: \x1b[2J" + "x" * 5000 + "\r\n"),
        Fails(r"redirects to \\x1b\[2Jx{1,300}\."),
    ),
    both("not-modified", says("", "304 Not Modified"), Fails("redirects to somewhere else")),
    both(
        "switching",
        raw("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"),
        Fails("101 Switching"),
    ),
    both("no-content", says("", "204 No Content"), Fails("204 No Content")),
    both("partial", headers("Content-Range: bytes 0-5/90\r\n", "206 Partial Content"), Fails("206 Partial")),
    both(
        "bad-request",
        says({"error": {"message": "no\x1b[2J" + "x" * 5000}}, "400 Bad"),
        Fails(r"400 Bad: no\\x1b\[2Jx{1,300}$|gives no log"),
    ),
    both(
        "html-error",
        says("<html>Bad Gateway</html>", "502 Bad Gateway"),
        Fails(r"502 Bad Gateway \(tried once\)"),
    ),
    both("internal", says("", "500 Oops"), Fails("500 Oops")),
    both("internal-once", once(says("", "503 Oops")), RIGHT, retries=1),
    both("internal-always", says("", "503 Oops"), Fails(r"503 Oops \(tried 3 times\)"), retries=2),
    both("not-implemented", says("", "501 No"), Fails("501 No")),
    both("status-999", says("", "999 Denied"), Fails("999 Denied")),
    both("status-1000", says("", "1000 Much"), UNREACHED),
    both("status-no-number", says("", "OK OK"), UNREACHED),
    both(
        "status-hostile", says("", "403 \x1b[2J" + "x" * 5000), Fails(r"403 \\x1b\[2Jx{1,300}(\.|$| \(|: )")
    ),
    both("status-empty", raw("\r\n\r\n"), UNREACHED),
    both(
        "status-of-another",
        raw("SSH-2.0-OpenSSH_9.9 \x1b[2J" + "x" * 5000 + "\r\n"),
        Fails(r"cannot be reached: SSH-2\.0-OpenSSH_9\.9 \\x1b\[2Jx{1,300} \(tried"),
    ),
    both("status-http-9", raw("HTTP/9.9 200 OK\r\nContent-Length: 2\r\n\r\n{}"), UNREACHED),
    both("status-none", raw('{"choices": []}'), UNREACHED),
    both("status-nul", raw("HTTP/1.1 200\0 OK\r\n\r\n"), UNREACHED),
    both("error-nested", says({"error": {"message": nested(500)}}, "400 Bad"), Fails("400 Bad")),
    both("error-deep", says(deep(100_000), "400 Bad"), Fails("400 Bad")),
    both("error-list-deep", says('{"detail": [{"msg": ' + deep(900) + "}]}", "422 No"), Fails("422 No")),
    both("error-number", says('{"error": ' + huge(5000) + "}", "400 Bad"), Fails("400 Bad")),
    both("error-invalid-utf8", says(b"\xff\xfe\xfa no", "400 Bad"), Fails("400 Bad")),
]
AFTER = [
    both(f"retry-after-{name}", busy(after), RIGHT, retries=1)
    for name, after in {
        "zero": "0",
        "negative": "-5",
        "word": "soon",
        "empty": "",
        "past": "Wed, 21 Oct 2015 07:28:00 GMT",
        "absurd-year": "Mon, 01 Jan 99999999999999999999 00:00:00 GMT",
        "absurd-zone": "Mon, 01 Jan 2001 00:00:00 +99999999999999999999",
        "zone-beyond-a-day": "Mon, 01 Jan 2001 00:00:00 +9959",
        "year-zero": "Mon, 01 Jan 0000 00:00:00 GMT",
        "no-such-day": "Mon, 99 Jan 2001 77:88:99 GMT",
        "fraction": "0.01",
        "infinite": "Infinity",
        "not-a-number": "NaN",
        "hostile": "\x1b[2J",
        "superscript": "\xb2",
    }.items()
] + [
    both("retry-after-503", busy("0", "503 Busy"), RIGHT, retries=1),
    both(
        "retry-after-huge",
        says("", "429 Busy", f"Retry-After: {huge(400)}\r\n"),
        Fails(r"429 Busy \(tried once\)"),
    ),
    both(
        "retry-after-5000-digits",
        says("", "429 Busy", f"Retry-After: {huge(5000)}\r\n"),
        Fails(r"429 Busy \(tried once\)"),
    ),
    both(
        "retry-after-future",
        says("", "503 Busy", "Retry-After: Fri, 31 Dec 9999 23:59:59 GMT\r\n"),
        Fails(r"503 Busy \(tried once\)"),
    ),
    both("retry-after-twice", busy("0\r\nRetry-After: soon"), RIGHT, retries=1),
]
HEADERS = [
    both("header-without-colon", headers("nonsense\r\n"), TIMES_OUT, timeout=SLOW),
    both("header-folded", headers("X-A: b\r\n  and more\r\n"), RIGHT),
    both("header-nul", headers("X-A: \0\r\n"), RIGHT),
    both("header-not-ascii", headers("X-\xe4: \xff\r\n"), TIMES_OUT, timeout=SLOW),
    both("headers-too-many", headers("X-A: b\r\n" * 200), UNREACHED),
    both("header-too-long", headers(f"X-A: {'b' * 70_000}\r\n"), UNREACHED),
    both(
        "header-twice",
        headers(
            "Content-Type: text/html\r\nContent-Type: x\r\nConnection: close\r\nConnection: keep-alive\r\n"
        ),
        RIGHT,
    ),
    both("header-encoding-odd", headers("Transfer-Encoding: identity, chunked\r\n"), RIGHT),
    both("header-chunked-is-not", headers("Transfer-Encoding: chunked\r\n"), TIMES_OUT, timeout=SLOW),
]
CLOSED = [
    both("closes", closes(), UNREACHED),
    both("closes-with-reset", closes(is_reset=True), UNREACHED),
    both("closes-once", once(closes()), RIGHT, retries=1),
    both("closes-in-status", closes("HTTP/1.1 20"), UNREACHED),
    both("closes-after-status", closes(OK), NOT_JSON),
    both("closes-in-headers", closes(OK, "Content-Le"), NOT_JSON),
    both("closes-after-headers", closes(OK, "Content-Length: 100\r\n\r\n"), UNREACHED),
    both("closes-after-headers-uncounted", closes(OK, "\r\n"), NOT_JSON),
    both("closes-in-body", closes_in_the_body, UNREACHED),
    both("closes-in-body-with-reset", lambda call: closes_in_the_body(call, is_reset=True), UNREACHED),
]
BODIES = [
    both("empty", says(""), NOT_JSON),
    both("html", says("<html>404 page</html>"), NOT_JSON),
    both(
        "events",
        says('data: {"choices": []}\n\ndata: [DONE]\n\n', headers="Content-Type: text/event-stream\r\n"),
        NOT_JSON,
    ),
    both("invalid-utf8", says(b'{"choices": [{"index": 0, "text": "\xff\xfe"}]}'), NOT_JSON),
    both("nul", says("\0" * 100), NOT_JSON),
    both("cut", says('{"choices": [{"mess'), NOT_JSON),
    both("more-after", lambda call: call.answer(json.dumps(call.right()) + "]"), NOT_JSON),
    both("two", lambda call: call.answer(json.dumps(call.right()) * 2), NOT_JSON),
    both("mark-first", lambda call: call.answer("\ufeff" + json.dumps(call.right())), RIGHT),
    both("utf-16", lambda call: call.answer(json.dumps(call.right()).encode("utf-16")), RIGHT),
    both("deep-lists", says(deep(100_000)), NOT_JSON),
    both("deep-objects", says('{"a":' * 100_000 + "1" + "}" * 100_000), NOT_JSON),
    both(
        "deep-beside",
        lambda call: call.answer(json.dumps(call.right())[:-1] + f', "x": {deep(100_000)}}}'),
        NOT_JSON,
    ),
    both(
        "long-number-beside",
        lambda call: call.answer(json.dumps(call.right())[:-1] + f', "x": {huge(5000)}}}'),
        NOT_JSON,
    ),
    both(
        "nan-beside",
        lambda call: call.answer(json.dumps(call.right())[:-1] + ', "x": [NaN, -Infinity, 1e999]}'),
        RIGHT,
    ),
    both("key-twice", lambda call: call.answer('{"choices": 7, ' + json.dumps(call.right())[1:]), RIGHT),
    *(
        both(f"is-{name}", says(text), NO_OBJECT)
        for name, text in {
            "list": "[1, 2]",
            "number": "7",
            "text": '"hello"',
            "null": "null",
            "true": "true",
            "nan": "NaN",
        }.items()
    ),
]
CHOICES = [
    *(
        Behaviour(f"choices-{name}", says({} if value is ... else {"choices": value}), NO_MESSAGE, NO_CHOICES)
        for name, value in {
            "missing": ...,
            "null": None,
            "empty": [],
            "text": "hello",
            "number": 7,
            "object": {"0": {}},
            "null-inside": [None],
            "text-inside": ["hello"],
            "list-inside": [[]],
        }.items()
    ),
    both("index-missing", indexed(...), RIGHT),
    both("index-null", indexed(None), RIGHT),
    both("index-1", indexed(1), WRONG_INDEX),
    both("index-negative", indexed(-1), WRONG_INDEX),
    both("index-text", indexed("0"), WRONG_INDEX),
    both("index-true", indexed(False), WRONG_INDEX),
    both("index-fraction", indexed(0.5), WRONG_INDEX),
    both("index-list", indexed([0]), WRONG_INDEX),
    both("index-absurd", indexed(10**400), WRONG_INDEX),
    both("index-repeated", indexed(0, 0), Fails("2 choices, more than the 1 asked for")),
    both("index-of-more", indexed(0, 1), Fails("2 choices, more than the 1 asked for")),
    both("index-of-more-missing", indexed(..., ...), Fails("2 choices, more than the 1 asked for")),
]
MESSAGES = [
    *(
        chat(f"message-{name}", choice(message=value), NO_MESSAGE)
        for name, value in {
            "null": None,
            "empty": {},
            "text": "hello",
            "list": [{"content": "hello"}],
            "number": 7,
        }.items()
    ),
    chat("message-missing", choices({"index": 0, "text": "hello"}), NO_MESSAGE),
    chat("message-delta", choices({"index": 0, "delta": {"content": "hello"}}), NO_MESSAGE),
    chat(
        "content-null",
        choice(message={"content": None}, finish_reason="content_filter"),
        Fails("the model said nothing: content_filter$"),
    ),
    chat(
        "content-null-with-calls",
        choice(message={"content": None, "tool_calls": [{"id": 1}]}, finish_reason="tool_calls"),
        Fails("the model said nothing: tool_calls$"),
    ),
    chat(
        "content-refused",
        content(None, refusal="I will not\x1b[2J"),
        Fails(r"the model said nothing: I will not\\x1b\[2J$"),
    ),
    chat(
        "content-refused-oddly",
        content(None, refusal={"why": nested(300)}),
        Fails("the model said nothing: stop$"),
    ),
    chat(
        "content-refused-deeply",
        content_text('null, "refusal": ' + deep(900)),
        Fails("the model said nothing|is not JSON"),
    ),
    chat(
        "content-reason-odd",
        choice(message={"content": None}, finish_reason=7),
        Fails("the model said nothing$"),
    ),
    chat(
        "content-list",
        content([{"type": "text", "text": "hello"}]),
        Fails("the reply is a list where text is due"),
    ),
    chat("content-object", content({"text": "hello"}), Fails("the reply is an object where text is due")),
    chat("content-number", content(7), Fails("the reply is a number where text is due")),
    chat("content-true", content(True), Fails("the reply is true or false where text is due")),
    chat("content-nan", content_text("NaN"), Fails("the reply is a number where text is due")),
    chat("content-long-number", content_text(huge(5000)), NOT_JSON),
    chat("content-empty", content(""), Gives("")),
    chat(
        "content-huge",
        content("x" * 200_000),
        Fails("the reply has 200,000 characters, more than the 100,000 allowed"),
    ),
    chat("content-nul", content("a\0b"), Gives("a\0b")),
    chat("content-terminal", content("\x1b[2J gone\nnext"), Gives("\x1b[2J gone\nnext")),
    chat("content-half-a-character", content_text(r'"a \ud800 half"'), Gives("a \ufffd half")),
    chat("content-half-a-character-in-bytes", content_text('"a \ud800 half"'), Gives("a \ufffd half")),
    chat("content-is-the-key", replies_the_key, Gives("have, none or test?")),
    chat("content-is-a-long-key", replies_the_key, Gives(f"have, {LONG_KEY} or test?"), key=LONG_KEY),
]
KEYS = [
    both(
        "key-in-error", echoes_the_key("403 Forbidden"), Fails("403 Forbidden: no Bearer …, no"), key=LONG_KEY
    ),
    both("key-in-error-bare", echoes_the_key_bare, Fails("403 Forbidden: no …, no"), key=LONG_KEY),
    both("key-in-error-short", echoes_the_key("401 No"), Fails("401 No: no Bearer …, no")),
    both("key-in-error-short-bare", echoes_the_key_bare, Fails("403 Forbidden: no none, no")),
    both("key-in-busy", echoes_the_key("429 Busy"), Fails("429 Busy: no Bearer …, no"), key=LONG_KEY),
    both("key-in-reason", echoes_the_key_in_reason, Fails("403 no …"), key=LONG_KEY),
    both("key-in-location", echoes_the_key_in_location, Fails("redirects to /…"), key=LONG_KEY),
    both("key-in-status", echoes_the_key_in_status, Fails("cannot be reached: Bearer … "), key=LONG_KEY),
    chat("key-in-refusal", refuses_with_the_key, Fails("the model said nothing: no …, no"), key=LONG_KEY),
]
VALUES = [
    *(
        scored(f"value-{name}", last_value(text), IMPOSSIBLE)
        for name, text in {
            "positive": "5",
            "barely-positive": "0.001",
            "infinite": "Infinity",
            "minus-infinite": "-Infinity",
            "beyond-double": "-1e400",
            "whole-beyond-double": huge(400),
            "minus-whole-beyond-double": f"-{huge(400)}",
            "below-any-logits": "-131073",
            "minus-1e308": "-1e308",
        }.items()
    ),
    scored(
        "values-minus-1e308",
        every_value(-1e308),
        Fails("request 2 of 2: the log-probability of token 2 of 4"),
    ),
    scored("values-lowest", every_value(-131072.0), Scores((-131072.0,) * 3)),
    scored("values-in-place-of-minus-infinite", every_value(-9999.0), Scores((-9999.0,) * 3)),
    scored("value-rounded-above", last_value("1e-6"), Scores((-0.25, -0.5, 0.0))),
    scored("value-nan", last_value("NaN"), Fails("request 2 of 2: some tokens have no log-probability")),
    scored("value-5000-digits", last_value(f"-{huge(5000)}"), NOT_JSON),
    scored("value-null", last_value("null"), NO_SCORES),
    scored("value-text", last_value('"-0.5"'), NO_SCORES),
    scored("value-true", last_value("true"), NO_SCORES),
    scored("value-list", last_value("[-0.5]"), NO_SCORES),
    scored("values-all-null", scores(token_logprobs=[None] * 4), NO_SCORES),
    scored("values-missing", scores(token_logprobs=None), NO_SCORES),
    scored("values-too-few", scores(token_logprobs=[None, -1.0]), NO_SCORES),
    scored("values-too-many", scores(token_logprobs=[None, *[-1.0] * 9]), NO_SCORES),
    scored("values-object", scores(token_logprobs={"0": None}), NO_SCORES),
    scored("values-empty", scores(tokens=[], token_logprobs=[]), NO_SCORES),
    scored("values-nested", scores(token_logprobs=nested(300)), NO_SCORES),
    scored("scores-null", choice(logprobs=None), NO_SCORES),
    scored("scores-list", choice(logprobs=[-1.0]), NO_SCORES),
    scored("scores-of-a-chat", choice(logprobs={"content": [{"token": "abc", "logprob": -1.0}]}), NO_SCORES),
    scored("tokens-null", scores(tokens=None), NO_SCORES),
    scored("tokens-numbers", scores(tokens=[1, 2, 3, 4]), NO_SCORES),
]
TOKENS = [
    scored("tokens-of-another-text", tokens(lambda own: ["zzz"] * len(own)), UNDEFINED),
    scored("tokens-without-the-end", tokens(lambda own: own[:-1]), UNDEFINED),
    scored("tokens-without-the-beginning", tokens(lambda own: own[2:]), UNDEFINED),
    scored("tokens-and-more", tokens(lambda own: [*own, "and", "more"]), UNDEFINED),
    scored("tokens-shuffled", tokens(lambda own: own[::-1]), UNDEFINED),
    scored("tokens-empty", tokens(lambda own: [""] * len(own)), UNDEFINED),
    scored("tokens-unreadable", tokens(lambda own: ["\ufffd"] * len(own)), UNDEFINED),
    scored(
        "tokens-of-another-text-with-offsets",
        tokens(lambda own: ["zzz"] * len(own), is_offset=True),
        UNDEFINED,
    ),
    scored(
        "offsets-negative", tokens(lambda own: ["\ufffd"] * len(own), text_offset=[-9, -6, -3, -1]), UNDEFINED
    ),
    scored(
        "offsets-absurd",
        tokens(lambda own: ["\ufffd"] * len(own), text_offset=[0, 10**400, 10**401, 10**402]),
        UNDEFINED,
    ),
    scored("offsets-text", scores(text_offset=["0", "3", "6", "9"]), RIGHT),
    scored("offsets-too-few", scores(text_offset=[0]), RIGHT),
    scored("usage-negative", usage({"completion_tokens": -5}), RIGHT),
    scored("usage-absurd", usage({"completion_tokens": 10**400}), UNDEFINED),
    scored("usage-text", usage({"completion_tokens": "many"}), RIGHT),
    scored("usage-list", usage([1]), RIGHT),
    scored("prompt-scores-null", prompt_scores(None), NO_SCORES),
    scored("prompt-scores-empty", prompt_scores([]), NO_SCORES),
    scored("prompt-scores-numbers", prompt_scores([None, -1.0, -1.0, -1.0]), NO_SCORES),
    scored("prompt-scores-empty-inside", prompt_scores([None, {}, {}, {}]), NO_SCORES),
    scored(
        "prompt-scores-positive",
        prompt_scores(
            [None, *({"7": {"logprob": 5, "decoded_token": piece}} for piece in ("def", "ghi", "jkl"))]
        ),
        Fails("the log-probability of token 2 of 4 is 5"),
    ),
]
TLS = [
    both(
        "tls-self-signed",
        says(None),
        Fails("its certificate is not to be trusted: self.signed certificate"),
        tls="signed-by-itself",
    ),
    both(
        "tls-of-another-host",
        says(None),
        Fails("its certificate is not to be trusted: .*IP address mismatch"),
        tls="of-another-host",
    ),
    both("tls-is-plain", says(None), UNREACHED, tls="plain"),
    both("tls-is-garbage", says(None), UNREACHED, tls="garbage"),
    both("tls-is-closed", says(None), UNREACHED, tls="closed"),
    both("tls-is-silent", says(None), TIMES_OUT, tls="silent", timeout=SLOW),
]
BEHAVIOURS = [
    both("sound", says(None), RIGHT),
    *SLOWNESS, *FLOODS, *LENGTHS, *STATUSES, *AFTER, *HEADERS, *CLOSED, *BODIES, *CHOICES, *MESSAGES, *KEYS,
    *VALUES, *TOKENS, *TLS,
]  # fmt: skip


class NastyServer:
    """A server with all rows, each at an address of its own; a thread for each line."""

    def __init__(self, certificate: str = "") -> None:
        self.closed = threading.Event()
        self.sent: Counter[str] = Counter()
        """The most bytes that were sent at once, by path."""
        self._calls: Counter[tuple[str, str]] = Counter()
        self._acts = {row.name: row.act for row in BEHAVIOURS}
        self._lock, self._lines, self._threads = threading.Lock(), [], []
        self._certificate = certificate
        self._listeners = {
            kind: socket.create_server(("127.0.0.1", 0), backlog=64)
            for kind in {row.tls for row in BEHAVIOURS}
        }
        for kind, listener in self._listeners.items():
            self._start(self._listen, kind, listener)

    def __enter__(self) -> "NastyServer":
        return self

    def __exit__(self, *_: object) -> None:
        self.closed.set()
        for line in [*self._listeners.values(), *self._lines]:
            with suppress(OSError):
                socket.socket.shutdown(line, socket.SHUT_RDWR)
            line.close()
        for thread in self._threads:
            thread.join(10)

    def url(self, row: Behaviour) -> str:
        """The address of a row, up to the version."""
        port = self._listeners[row.tls].getsockname()[1]
        return f"http{'s' if row.tls else ''}://127.0.0.1:{port}/{row.name}/v1"

    @property
    def any_url(self) -> str:
        """An address at which the text of a request names its row."""
        return f"http://127.0.0.1:{self._listeners[''].getsockname()[1]}/v1"

    def count(self, path: str, text: str) -> int:
        """How often this was asked before."""
        with self._lock:
            self._calls[path, text] += 1
            return self._calls[path, text] - 1

    def _start(self, target: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _listen(self, kind: str, listener: socket.socket) -> None:
        with suppress(OSError):  # closed
            while not self.closed.is_set():
                line, _ = listener.accept()
                self._lines.append(line)
                self._start(self._serve, kind, line)

    def _serve(self, kind: str, line: socket.socket) -> None:
        with suppress(OSError, ValueError):  # whoever asked has gone
            line = self._secured(kind, line)
            with line, line.makefile("rb") as reader:
                while self._answer(line, reader):
                    pass

    def _secured(self, kind: str, line: socket.socket) -> socket.socket:
        if kind == "":
            return line
        if kind == "plain":
            line.recv(2**16)
            line.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        if kind == "garbage":
            line.sendall(b"\x16\x03\x01" + b"\xff" * 100)
        if kind == "silent":
            self.closed.wait()
        if kind in ("plain", "garbage", "closed", "silent"):
            line.close()
            return line
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{self._certificate}/{kind}.pem")
        line = context.wrap_socket(line, server_side=True)
        self._lines.append(line)
        return line

    def _answer(self, line: socket.socket, reader: BinaryIO) -> bool:
        """Whether there was something to answer, and the line is still there."""
        head = list(itertools.takewhile(lambda one: one.strip(), iter(reader.readline, b"")))
        if not head:
            return False
        fields = {
            name.strip().lower(): value.strip()
            for name, _, value in (one.decode("latin-1").partition(":") for one in head[1:])
        }
        request = json.loads(reader.read(int(fields["content-length"])))
        call = Call(line, reader, head[0].split()[1].decode(), request, self)
        call.authorization = fields.get("authorization", "")
        name = call.path.split("/")[1]
        act = self._acts.get(call.text if name == "v1" else name)
        if act is None or "sound" in call.text:
            call.answer()
        else:
            act(call)
        return line.fileno() >= 0
