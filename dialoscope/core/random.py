"""Chance that is the same in every version: of `random.Random` only `random()` is promised to stay."""

from collections.abc import Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")


def chance(seed: int, purpose: str) -> Random:
    """A generator for one purpose, which does not depend on what else is drawn."""
    return Random(f"{seed} {purpose}")  # noqa: S311 - nothing is to be kept secret


def drawn(choices: Sequence[T], by: Random) -> T:
    """One of the choices."""
    return choices[between(0, len(choices) - 1, by)]


def between(low: int, high: int, by: Random) -> int:
    """A whole number from low to high, both included."""
    return low + int(by.random() * (high - low + 1))


def reordered(those: Sequence[T], by: Random) -> list[T]:
    """The same ones in a random order."""
    keys = [by.random() for _ in those]
    return [those[place] for place in sorted(range(len(those)), key=keys.__getitem__)]
