"""Time from the start of a process to the first output.

    python benchmarks/start.py [--quick]

Each figure is the fastest of seven starts of a new process, including the start of Python itself. That of the
language model is from the first import to the first score, with the model in the cache and no score in it.
With --quick each process is started once, and the bars are not compared.
"""

import subprocess
import sys
import time

from benchmarks._shared import benchmark_parser

ROUNDS = 7
BARS = {"import dialoscope": 0.3, "dialoscope --help": 0.5, "language model": 1.5}
SCORE = """
import os, time
os.environ["DIALOSCOPE_SCORES"], clock = "off", time.perf_counter()
from dialoscope.models.protocols import Continuation
from dialoscope.models.language_model import TransformerLanguageModel
TransformerLanguageModel().log_probabilities([Continuation("How are you?\\n", "Fine.")])
print(time.perf_counter() - clock)
"""
COMMANDS = {
    "import dialoscope": [sys.executable, "-c", "import dialoscope"],
    "dialoscope --help": [sys.executable, "-m", "dialoscope", "--help"],
}


def main() -> None:
    quick = benchmark_parser(__doc__).parse_args().quick
    rounds = 1 if quick else ROUNDS
    times = {name: fastest(command, rounds) for name, command in COMMANDS.items()}
    times["language model"] = min(first_score() for _ in range(rounds))
    for name, seconds in times.items():
        print(f"{name:20} {seconds:.3f} s, bar {BARS[name]} s")
    short = [name for name, seconds in times.items() if seconds >= BARS[name]]
    figures = ", ".join(f"{name} {seconds:.3f} s (bar {BARS[name]} s)" for name, seconds in times.items())
    print(figures)
    sys.exit(bool(short) and not quick)


def first_score() -> float:
    done = subprocess.run([sys.executable, "-c", SCORE], check=True, capture_output=True, text=True)
    return float(done.stdout)


def fastest(command: list[str], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        clock = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - clock)
    return min(times)


if __name__ == "__main__":
    main()
