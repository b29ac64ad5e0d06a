"""Letters for significant differences of many systems: those that share one may be equally good."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import ascii_lowercase


@dataclass(frozen=True)
class RankedSystem:
    """A system with its value and its letters."""

    system: str
    value: float
    letters: str
    """Two systems without a common letter are surely different."""


@dataclass(frozen=True)
class Ordering:
    """Systems sorted by a metric, the best first; the highest where neither end is better."""

    metric: str
    places: tuple[RankedSystem, ...]


def order_systems(
    metric: str,
    values: Mapping[str, float],
    apart: Sequence[tuple[str, str]],
    higher_is_better: bool | None,
) -> Ordering:
    """The systems with these values, of which these pairs are surely different."""
    ranked = sorted(
        values, key=lambda system: (values[system], system), reverse=higher_is_better is not False
    )
    letters = _letters(ranked, apart)
    return Ordering(metric, tuple(RankedSystem(system, values[system], letters[system]) for system in ranked))


def _letters(ranked: Sequence[str], apart: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Groups without a sure difference, none within another (insert and absorb; Piepho, 2004)."""
    groups = [frozenset(ranked)]
    for pair in apart:
        split = [group - {system} for group in groups if group >= set(pair) for system in pair]
        groups = [group for group in groups if not group >= set(pair)] + split
        groups = [group for group in dict.fromkeys(groups) if not any(group < other for other in groups)]
    groups.sort(key=lambda group: [system not in group for system in ranked])
    names = [_letter(index) for index in range(len(groups))]
    return {
        system: "".join(name for name, group in zip(names, groups, strict=True) if system in group)
        for system in ranked
    }


def _letter(index: int) -> str:
    """The letter of a group; after z, a letter with a number."""
    number, letter = divmod(index, len(ascii_lowercase))
    return ascii_lowercase[letter] + (str(number) if number else "")
