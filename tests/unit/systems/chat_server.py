"""A small server for chat completions, run as a process of its own: `python chat_server.py`.

What it does depends on the first word of what the user says:

    busy     is turned away twice (429, Retry-After 0.3), then answered
    broken   500, always
    slow     answers after two seconds
    drip     answers byte by byte, each after a twentieth of a second; `ooze` too, without saying how many
    …        see ODD; anything else is answered at once, or after the seconds of `/wait/SECONDS` in the path

A GET shows what was asked for, in order, and how many requests were being answered at the same time.
"""

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock

LOG: list[dict] = []
NOW = {"open": 0, "most": 0}
LOCK = Lock()


def said(content, **more):
    return json.dumps({"choices": [{"message": {"role": "assistant", "content": content}, **more}]})


ODD = {
    "html": "<html><body>502 Bad Gateway</body></html>",
    "cut": '{"choices": [{"mess',
    "list": "[1, 2]",
    "nothing": "{}",
    "choiceless": '{"choices": []}',
    "flat": '{"choices": ["hello"]}',
    "null": said(None, finish_reason="content_filter"),
    "mute": said(None),
    "number": said(7),
    "empty": said(""),
    "half": '{"choices": [{"message": {"content": "a \\ud800 half"}}]}',
    "zero": said("a\0b"),
    "huge": said("x" * 200_000),
    "terminal": said("\x1b[2J gone\nnext"),
}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.send(200, json.dumps({"log": LOG, "most": NOW["most"]}))

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = request["messages"][-1]["content"]
        with LOCK:
            before = sum(one["text"] == text for one in LOG)
            LOG.append({"text": text, "request": request, "headers": dict(self.headers), "time": time.time()})
            NOW["open"] += 1
            NOW["most"] = max(NOW["most"], NOW["open"])
        try:
            self.answer(text, request, before)
        finally:
            with LOCK:
                NOW["open"] -= 1

    def answer(self, text, request, before):
        word = text.split()[0] if text.split() else ""
        if "/wait/" in self.path:
            time.sleep(float(self.path.split("/")[2]))
        if word == "slow":
            time.sleep(2)
        if word == "busy" and before < 2:
            self.send(429, '{"error": {"message": "slow down"}}', {"Retry-After": "0.3", "X": "1"})
        elif word == "later" and before < 1:
            self.send(503, "{}", {"Retry-After": "1"})
        elif word == "broken":
            self.send(500, '{"error": {"message": "out of \\u001b[2J order"}}')
        elif word == "forbidden":
            self.send(401, json.dumps({"error": {"message": self.headers.get("Authorization", "no key")}}))
        elif word == "echo":
            self.send(200, said(self.headers.get("Authorization", "no key")))
        elif word in ("drip", "ooze"):
            self.drip(said(text).encode(), is_counted=word == "drip")
        elif word in ODD:
            self.send(200, ODD[word])
        else:
            self.send(200, said(f"about {text}, seed {request.get('seed')}"))

    def drip(self, body, *, is_counted):
        self.send_response(200)
        self.send_header(*(("Content-Length", str(len(body))) if is_counted else ("Connection", "close")))
        self.end_headers()
        try:
            for byte in body:
                self.wfile.write(bytes([byte]))
                time.sleep(0.05)
        except OSError:
            self.close_connection = True

    def send(self, status, text, headers=None):
        body = text.encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:  # nobody waits any more
            self.close_connection = True


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64


if __name__ == "__main__":
    server = Server(("127.0.0.1", 0), Handler)
    sys.stdout.write(f"{server.server_address[1]}\n")
    sys.stdout.flush()
    server.serve_forever()
