"""Guesses at the name that a user meant, for the messages about names that do not exist."""

from collections.abc import Iterable
from difflib import get_close_matches


def closest_names(name: str, choices: Iterable[str], *, most: int = 1, cutoff: float = 0.6) -> list[str]:
    """Return the choices that are most similar to a name, the most similar first."""
    return get_close_matches(name, list(choices), n=most, cutoff=cutoff)


def did_you_mean(name: str, choices: Iterable[str], otherwise: str) -> str:
    """Return the question whether the most similar choice was meant, or `otherwise` if none is similar."""
    closest = closest_names(name, choices)
    return f"Did you mean '{closest[0]}'?" if closest else otherwise
