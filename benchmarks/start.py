"""How long a user waits before anything happens.

python benchmarks/start.py

Each is the fastest of seven starts of a new process; the start of Python itself is part of it.
"""

import subprocess
import sys
import time

BARS = {"import dialoscope": 0.3, "dialoscope --help": 0.5}
COMMANDS = {
    "import dialoscope": [sys.executable, "-c", "import dialoscope"],
    "dialoscope --help": [sys.executable, "-m", "dialoscope", "--help"],
}


def main() -> None:
    times = {name: fastest(command) for name, command in COMMANDS.items()}
    for name, seconds in times.items():
        print(f"{name:20} {seconds:.3f} s, bar {BARS[name]} s")
    short = [name for name, seconds in times.items() if seconds >= BARS[name]]
    figures = ", ".join(f"{name} {seconds:.3f} s (bar {BARS[name]} s)" for name, seconds in times.items())
    print(figures)
    sys.exit(bool(short))


def fastest(command: list[str], rounds: int = 7) -> float:
    times = []
    for _ in range(rounds):
        clock = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - clock)
    return min(times)


if __name__ == "__main__":
    main()
