"""A small server that speaks the OpenAI protocol, run as a process of its own: `python openai_server.py`.

Its model is a bigram of characters whose probabilities come from a hash: no language, but real numbers that
add up to one. A token is up to three characters. The name of the model, `tiny;setting=value;…`, sets what the
server can do and which faults it shows:

    fail=429,500,close   these faults one after the other, then it works; `always` repeats the last
    after=TEXT           the header Retry-After
    tokens=plain|bos|marked|bytes|hidden   how tokens are shown
    zero=no|breaks       refuses max_tokens 0, or fails at it
    echo=no              refuses echo
    prompt=yes           knows prompt_logprobs
    usage=no             does not count tokens
    keep=no              closes the connection after each answer
    one=yes              gives one text, however many were asked for
    says=NAME            answers in an odd way, see ODD

A GET shows what was asked for, and counts connections.
"""

import itertools
import json
import math
import sys
import time
from functools import cache
from hashlib import blake2b
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock

ALPHABET = [*map(chr, range(32, 127)), "\n", "other"]
LOG: list[dict] = []
FAULTS: dict[str, int] = {}
CONNECTIONS: set = set()
LOCK = Lock()


def sampled(*choices):
    """Choices with these indices and texts."""
    return json.dumps(
        {
            "choices": [
                {"index": number, "text": text, "message": {"content": text}} for number, text in choices
            ]
        }
    )


ODD = {
    "html": "<html>404 page</html>",
    "list": "[1, 2]",
    "empty": "{}",
    "no-choices": '{"choices": []}',
    "no-text": '{"choices": [{"text": 7, "message": null}]}',
    "null": '{"choices": [{"text": null, "message": {"content": null}}]}',
    "no-logprobs": '{"choices": [{"text": "", "logprobs": null}]}',
    "short": '{"choices": [{"logprobs": {"tokens": ["a", "b"], "token_logprobs": [null]}}]}',
    "words": '{"choices": [{"logprobs": {"tokens": ["a"], "token_logprobs": ["much"]}}]}',
    "nan": '{"choices": [{"logprobs": {"tokens": ["ab", "c"], "token_logprobs": [null, NaN]}}]}',
    "prompt-odd": '{"choices": [{"prompt_logprobs": [null, {}]}]}',
    "index-swapped": sampled((1, "b"), (0, "a")),
    "index-repeated": sampled((0, "a"), (0, "b")),
    "index-beyond": sampled((0, "a"), (2, "b")),
    "index-missing": sampled((0, "a"), (None, "b")),
    "index-text": sampled((0, "a"), ("1", "b")),
    "index-more": sampled((0, "a"), (1, "b"), (2, "c")),
    "prompt-list": '{"choices": [{"prompt_logprobs": [null, 7]}]}',
}


@cache
def weights(before: str) -> dict[str, float]:
    """The log-probability of each character after another."""
    logits = {
        after: blake2b(f"{before}\0{after}".encode(), digest_size=1).digest()[0] / 40 for after in ALPHABET
    }
    total = math.log(sum(math.exp(value) for value in logits.values()))
    return {after: value - total for after, value in logits.items()}


def log_probability(piece: str, before: str) -> float:
    """Of some characters after another."""
    kinds = [character if character in ALPHABET else "other" for character in before[-1:] + piece]
    return sum(weights(one)[other] for one, other in itertools.pairwise(kinds))


def pieces(text: str) -> list[str]:
    return [text[start : start + 3] for start in range(0, len(text), 3)]


def scores(text: str) -> list[float | None]:
    """Of each token; the first has none."""
    starts = range(3, len(text), 3)
    return [None, *(log_probability(text[start : start + 3], text[:start]) for start in starts)]


def written(prompt: str, request: dict, sample: int) -> str:
    """Characters drawn by the model, or its likeliest ones."""
    text = prompt or "\n"
    for step in range(3 * request.get("max_tokens", 16)):
        odds = weights(text[-1] if text[-1] in ALPHABET else "other")
        if request.get("temperature", 1) == 0:
            text += max(ALPHABET[:-2], key=odds.__getitem__)
        else:
            seed = f"{request.get('seed')}/{sample}/{step}/{text}".encode()
            draw = int.from_bytes(blake2b(seed, digest_size=7).digest(), "big") / 2**56
            text += ALPHABET[int(draw * (len(ALPHABET) - 2))]
    result = text[len(prompt or "\n") :]
    for stop in request.get("stop", []):
        result = result.split(stop)[0]
    return result


def shown(tokens: list[str], values: list, form: str) -> tuple[list[str], list, list[int]]:
    """Tokens as servers show them."""
    if form == "bytes":  # each character that is not ASCII is cut in two
        parts = [
            (piece, value)
            for token, value in zip(tokens, values, strict=True)
            for piece, value in cut(token, value)
        ]
        tokens, values = [piece for piece, _ in parts], [value for _, value in parts]
    if form == "marked":
        tokens = [token.replace(" ", "\u2581") for token in tokens]
    if form == "hidden":
        tokens = ["?" * len(token) for token in tokens]
    if form == "bos":
        tokens, values = ["<s>", *tokens], [None, -1.5, *values[1:]]
    offsets, at = [], 0
    for token in tokens:
        offsets.append(at)
        at += len(token)
    return tokens, values, offsets


def cut(token, value):
    if token.isascii():
        return [(token, value)]
    return [("\ufffd", value and value / 2), ("\ufffd", value and value / 2)]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def setup(self):
        super().setup()
        with LOCK:
            CONNECTIONS.add(id(self.connection))

    def do_GET(self):
        self.answer({"log": LOG, "connections": len(CONNECTIONS)})

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        request = json.loads(body)
        with LOCK:
            LOG.append(
                {"path": self.path, "headers": dict(self.headers), "request": request, "time": time.time()}
            )
        settings = dict(part.split("=", 1) for part in request["model"].split(";")[1:])
        self.keep = settings.get("keep")
        if fault := self.fault(request["model"], settings):
            self.fail(fault, settings)
        elif settings.get("says") in ODD:
            self.send(200, ODD[settings["says"]].encode())
        elif self.path.endswith("/chat/completions"):
            self.chat(request, settings)
        else:
            self.complete(request, settings)

    def fault(self, model, settings):
        faults = [fault for fault in settings.get("fail", "").split(",") if fault]
        with LOCK:
            number = FAULTS[model] = FAULTS.get(model, -1) + 1
        if faults[-1:] == ["always"]:
            return faults[min(number, len(faults) - 2)]
        return faults[number] if number < len(faults) else None

    def fail(self, fault, settings):
        headers = {"Retry-After": settings["after"]} if "after" in settings else {}
        if fault == "close":
            self.close_connection = True
        elif fault == "cut":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b'{"choices":')
            self.close_connection = True
        elif fault == "slow":
            time.sleep(1.5)
            self.close_connection = True
        elif fault == "huge":
            self.send(200, b" " * int(settings["size"]))
        elif fault == "redirect":
            self.send(307, b"", {"Location": settings["to"]})
        elif fault == "key":
            self.error(401, f"Incorrect key: {self.headers.get('Authorization')}", headers)
        elif fault == "fields":
            content = {"detail": [{"msg": "field is wrong", "input": self.path}, {"type": "odd"}]}
            self.answer(content, 422)
        elif fault == "strange":
            self.answer({"input": "what was sent"}, 400)
        elif fault == "text":
            self.send(400, b"plain \x1b[2J words")
        else:
            self.error(int(fault), settings.get("message", "as you wish"), headers)

    def error(self, status, message, headers=None):
        self.answer({"error": {"message": message, "type": "odd"}}, status, headers)

    def answer(self, content, status=200, headers=None):
        self.send(status, json.dumps(content).encode(), headers)

    def send(self, status, body, headers=None):
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if getattr(self, "keep", "") == "no":
            self.send_header("Connection", "close")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def samples(self, prompt, request, settings):
        count = 1 if settings.get("one") == "yes" else request.get("n", 1)
        return [written(prompt, request, sample) for sample in range(count)]

    def chat(self, request, settings):
        texts = self.samples(request["messages"][-1]["content"], request, settings)
        messages = [{"role": "assistant", "content": text} for text in texts]
        choices = [{"index": number, "message": message} for number, message in enumerate(messages)]
        self.answer({"choices": choices})

    def complete(self, request, settings):
        prompt, count = request["prompt"], request.get("max_tokens", 16)
        if count == 0 and settings.get("zero") == "no":
            return self.error(400, "max_tokens must be at least 1")
        if count == 0 and settings.get("zero") == "breaks":
            return self.error(500, "Internal Server Error")
        if request.get("echo") and settings.get("echo") == "no":
            return self.error(400, "echo is not known")
        texts = self.samples(prompt, request, settings)
        choices = [{"index": number, "text": text} for number, text in enumerate(texts)]
        if request.get("echo"):
            whole = prompt + texts[0]
            values = [*scores(prompt), *([-0.5] * count)]
            tokens = [*pieces(prompt), *([texts[0]] * count)]
            tokens, values, offsets = shown(tokens, values, settings.get("tokens", "plain"))
            found = {"tokens": tokens, "token_logprobs": values, "text_offset": offsets}
            if settings.get("offsets") == "no":
                del found["text_offset"]
            choices = [{"text": whole, "logprobs": found}]
        elif "prompt_logprobs" in request and settings.get("prompt") == "yes":
            ranked = [
                {str(number): {"logprob": value, "decoded_token": token}}
                for number, (token, value) in enumerate(zip(pieces(prompt), scores(prompt), strict=True))
            ]
            choices[0]["prompt_logprobs"] = [None, *ranked[1:]]
        usage = {} if settings.get("usage") == "no" else {"usage": {"completion_tokens": count}}
        return self.answer({"choices": choices, **usage})


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64


if __name__ == "__main__":
    server = Server(("127.0.0.1", 0), Handler)
    if len(sys.argv) > 1:  # a file with key and certificate
        import ssl

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[1])
        server.socket = context.wrap_socket(server.socket, server_side=True)
    sys.stdout.write(f"{server.server_address[1]}\n")
    sys.stdout.flush()
    server.serve_forever()
