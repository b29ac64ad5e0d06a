"""The pairs of systems that are compared."""

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from dialoscope.core.errors import DialoscopeError
from dialoscope.core.safe_text import printable
from dialoscope.runs.result import Result


class SystemPair(NamedTuple):
    """Two systems, the old one before the new."""

    a: str
    b: str


class ComparisonPlan(NamedTuple):
    """The pairs of systems to compare."""

    pairs: tuple[SystemPair, ...]
    directed: bool
    """Whether the first of each pair is known to be the old one."""
    every_pair: bool
    """Whether each is compared with each, and there are more than two."""


def plan_pairs(
    run: Result, systems: Sequence[str], baseline: str | None, first: Result | None
) -> ComparisonPlan:
    """The pairs that are asked for; with two runs, of which this is the first, namesakes if none is named."""
    if first is not None and not systems and baseline is None:
        return ComparisonPlan(_namesakes(run, len(first.systems)), directed=True, every_pair=False)
    named = [system for name in systems for system in _find_systems(run, name)] or list(run.systems)
    if baseline is not None:
        old = _find_systems(run, baseline)[0]
        pairs = tuple(SystemPair(old, name) for name in named if name != old)
    else:
        pairs = tuple(SystemPair(*pair) for pair in combinations(named, 2))
    twice = [name for name in named if named.count(name) > 1]
    if twice:
        raise DialoscopeError(f"System '{printable(twice[0])}' is named twice.")
    if not pairs:
        raise DialoscopeError(
            f"There is nothing to compare {printable(named[0])} with; name another system of the run "
            f"({', '.join(map(printable, run.systems))}), or another run with --with (other=)."
        )
    return ComparisonPlan(pairs, len(pairs) == 1 or baseline is not None, len(pairs) > 1 and baseline is None)


def _find_systems(run: Result, name: str) -> list[str]:
    """The system of that name; where two runs have it, that of the first and that of the second."""
    if not isinstance(name, str):
        raise DialoscopeError("A system is named as text; a second run is given as other=.")
    if name not in run.systems and f"1:{name}" in run.systems:
        return [f"1:{name}", f"2:{name}"]
    if name not in run.systems and _is_folder(name):
        raise DialoscopeError(
            f"There is no system '{printable(name)}' in this run; to compare it with another run, say "
            f"--with {printable(name)} (other=)."
        )
    run.rows(name)  # says which there are where it is none of them
    return [name]


def _namesakes(run: Result, ours: int) -> tuple[SystemPair, ...]:
    """Each system of the first run, which has so many, with that of the same name in the second."""
    first, second = run.systems[:ours], run.systems[ours:]
    shared = (name.removeprefix("1:") for name in first if name.startswith("1:"))
    pairs = tuple(SystemPair(f"1:{name}", f"2:{name}") for name in shared if f"2:{name}" in second)
    if not pairs and len(first) == len(second) == 1:
        return (SystemPair(first[0], second[0]),)
    if not pairs:
        raise DialoscopeError(
            f"No system has the same name in both runs: the first has {', '.join(map(printable, first))}, "
            f"the second {', '.join(map(printable, second))}. Name those to compare."
        )
    return pairs


def _is_folder(name: str) -> bool:
    try:
        return bool(name) and Path(name).is_dir()
    except OSError:  # too long for a file system
        return False
