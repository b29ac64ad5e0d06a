"""The reply-level numbers of a run as columns: those of its metrics, and those that others' code made."""

from collections.abc import Mapping
from dataclasses import dataclass

from dialoscope.errors import DialoscopeError
from dialoscope.printable import printable
from dialoscope.results import Result
from dialoscope.tally import Floats


@dataclass(frozen=True, eq=False)
class Column:
    """One number for each reply of a run; NaN where it is undefined."""

    name: str
    signature: str
    """How it was made; nothing where that is not known."""
    values: Floats
    higher_is_better: bool | None = None


def columns(result: Result, scores: Mapping[str, Floats] | None = None) -> tuple[Column, ...]:
    """Every metric that says something of each reply, in the run's order, then the scores of others."""
    ours = [
        Column(result.label(one), one.signature, result.values(one), one.higher_is_better)
        for one in result.metrics
        if one.of_replies
    ]
    theirs = [Column(name, "", values) for name, values in (scores or {}).items()]
    taken = {column.name for column in ours} & {column.name for column in theirs}
    if taken:
        named = printable(", ".join(sorted(taken)))
        raise DialoscopeError(f"The scores name {named}, which the run has as well; rename them.")
    return (*ours, *theirs)


def of_systems_alone(result: Result) -> tuple[str, ...]:
    """The metrics that have a value for a system and none for a reply."""
    return tuple(result.label(one) for one in result.metrics if not one.of_replies)
