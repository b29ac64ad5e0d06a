"""Try many damaged files and print what came of them: inputs, tracebacks, hangs, memory."""

import argparse
import sys
import time
from collections.abc import Iterator

from tests.fuzz.targets import TARGETS
from tests.fuzz.trial import SECONDS, Figures, try_files


def main() -> int:
    """Run the command; its status is 1 when a file did what none may do."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.run", description=__doc__)
    parser.add_argument("--files", type=int, default=2_000, help="Number of files to try.")
    parser.add_argument("--seed", type=int, default=0, help="Seed of the random generator.")
    parser.add_argument("--first", type=int, default=0, help="Number of the first file.")
    parser.add_argument("--target", help="Name of the only target, such as 'read replies'.")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="Seconds of processor time of a file.")
    parser.add_argument(
        "--minutes", type=float, default=float("inf"), help="Time after which no file is begun."
    )
    chosen = parser.parse_args()
    wanted = [at for at, target in enumerate(TARGETS) if chosen.target in (None, target.name)]
    if not wanted:
        parser.error(f"There is no target '{chosen.target}': {', '.join(target.name for target in TARGETS)}.")
    numbers = [at for at in range(chosen.first, chosen.first + chosen.files) if at % len(TARGETS) in wanted]
    start = time.monotonic()
    *_, figures = _until(start + 60 * chosen.minutes, try_files(numbers, chosen.seed, seconds=chosen.seconds))
    _report(figures, time.monotonic() - start)
    return int(bool(figures.failures))


def _until(end: float, tried: Iterator[Figures]) -> Iterator[Figures]:
    for figures in tried:
        yield figures
        if time.monotonic() > end:
            return


def _report(figures: Figures, seconds: float) -> None:
    write = sys.stdout.write
    for failure in figures.failures[:50]:
        write(f"{ascii(str(failure)).replace(chr(92) + 'n', chr(10))}\n\n")
    kinds = ("read", "refused", "traceback", "hang", "unprintable")
    for target in TARGETS:
        counts = [f"{figures.by_target[target.name, kind]} {kind}" for kind in kinds]
        write(f"{target.name:20} {', '.join(counts)}\n")
    write("\n")
    write(f"inputs tried      {figures.outcomes.total():,} in {seconds:.0f} s\n")
    for kind in kinds:
        write(f"{kind:17} {figures.outcomes[kind]:,}\n")
    write(f"peak memory       {figures.peak / 1e6:.0f} MB\n")
    write(f"greatest file     {figures.greatest[0] / 1e6:.0f} MB more (number {figures.greatest[1]})\n")
    write(f"slowest file      {figures.slowest[0]:.2f} s of processor time (number {figures.slowest[1]})\n")


if __name__ == "__main__":
    sys.exit(main())
