"""A program that answers line by line, and does so in an odd way when it is told to: `python bot.py [MODE]`.

It notes each line it is given in the file that BOT_LOG names, with the number of its process.
"""

import json
import os
import subprocess
import sys
import time

MODE = sys.argv[1] if len(sys.argv) > 1 else ""


def noted(line):
    if "BOT_LOG" in os.environ:
        with open(os.environ["BOT_LOG"], "a") as log:  # noqa: PTH123 - as programs do
            log.write(json.dumps({"pid": os.getpid(), **json.loads(line)}) + "\n")


def write(text):
    sys.stdout.buffer.write(text if isinstance(text, bytes) else text.encode() + b"\n")
    sys.stdout.buffer.flush()


if MODE == "stillborn":
    sys.stderr.write("no weights here\n")
    sys.exit(3)
if MODE == "banner":
    write("Loading the model ...")
if MODE == "deaf":
    time.sleep(60)
if MODE == "stubborn":
    import signal

    signal.signal(signal.SIGTERM, signal.SIG_IGN)

for line in sys.stdin:
    noted(line)
    asked = json.loads(line)
    last = asked["context"][-1]
    word = last.split()[0] if last.split() else ""
    if MODE == "wait":
        time.sleep(0.05)
    if word == "crash":
        sys.stderr.write("first words\n\n\x1b[2Jsegmentation \xff fault\n")
        sys.stderr.flush()
        os._exit(9)
    elif word == "hang":
        sys.stderr.write("thinking\n")
        sys.stderr.flush()
        time.sleep(60)
    elif word == "words":
        write("I do not speak JSON")
    elif word == "bytes":
        write(b'"\xff\xfe"\n')
    elif word == "endless":
        write(b"x" * (2**20 + 10) + b"\n")
    elif word == "long":
        write(json.dumps("x" * 200_000))
    elif word == "number":
        write("7")
    elif word == "other":
        write(json.dumps({"text": "here"}))
    elif word == "void":
        write("{}")
    elif word == "wrong":
        write(json.dumps({"id": "someone", "response": "hi"}))
    elif word == "sorry":
        write(json.dumps({"error": "not \x1btoday"}))
    elif word == "plain":
        write(json.dumps("just text"))
    elif word == "twice":
        write(json.dumps("one"))
        write(json.dumps("two"))
    elif word == "empty":
        write(json.dumps({"response": ""}))
    elif word == "half":
        write('{"response": "\\ud83d"}')
    elif word == "close":
        write(json.dumps("bye"))
        sys.exit(0)
    elif word == "shut":
        os.close(1)
        time.sleep(60)
    elif word == "ghost":
        code = "import time; time.sleep(5)"
        subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
        time.sleep(60)
    elif word == "child":
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        os._exit(1)
    else:
        reply = f"{last}! sample {asked['sample']}, seed {asked['seed']}"
        write(json.dumps({"id": asked["id"], "response": reply}))
    if MODE == "stubborn":
        time.sleep(60)
