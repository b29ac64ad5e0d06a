"""Random numbers that every Python version repeats: `random.Random` promises this of `random()` only."""

from collections.abc import Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")


def seeded_random(seed: int, purpose: str) -> Random:
    """Return a generator for one purpose, which does not depend on the numbers drawn for others."""
    return Random(f"{seed} {purpose}")  # noqa: S311 - nothing is to be kept secret


def choose(choices: Sequence[T], rng: Random) -> T:
    """Return one of the choices at random."""
    return choices[random_integer(0, len(choices) - 1, rng)]


def random_integer(low: int, high: int, rng: Random) -> int:
    """Return an integer from low to high, both included."""
    return low + int(rng.random() * (high - low + 1))


def permute(items: Sequence[T], rng: Random) -> list[T]:
    """Return the items in a random order."""
    keys = [rng.random() for _ in items]
    return [items[index] for index in sorted(range(len(items)), key=keys.__getitem__)]
