"""How far metrics can be trusted, in the forms people read and programs pass on."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from dialoscope.analysis.coefficients import bracketed, short
from dialoscope.analysis.trust.evidence import FORMAT, VERSION, Family, Figure
from dialoscope.core.json_values import undefined_as_null
from dialoscope.core.render import serialization
from dialoscope.core.safe_text import listed_in_markdown, printable
from dialoscope.runs.table import aligned, marked_down

if TYPE_CHECKING:
    from dialoscope.analysis.trust.known import Trust

_SHOWN = 6
"""Metrics that are named where many lack the same."""
DIGITS = 4
"""No more of them mean anything."""


def text(trust: "Trust") -> str:
    """For a terminal or a mail: the most trustworthy first."""
    return "\n".join([aligned(grid(trust)), "", *notes(trust)])


def markdown(trust: "Trust") -> str:
    """For a README or an issue."""
    return "\n".join([marked_down(grid(trust)), "", *listed_in_markdown(notes(trust))])


def as_csv(trust: "Trust") -> str:
    """One line for each metric, corpus and aspect."""
    columns = ["metric", *(field.name for field in fields(Figure)), "higher_is_better", "how", "signature"]
    rows = [{**_plain(asdict(one)), **_whose(family)} for family in trust.families for one in family.figures]
    return serialization.as_csv(rows, columns)


def as_json(trust: "Trust") -> str:
    """Everything, a figure on a line; what is shipped has this form."""
    head = {"format": FORMAT, "version": VERSION, "made": dict(trust.made), "aspect": trust.aspect}
    families = [
        _with_list(
            {**_whose(family), "mean": _summary(trust, family)},
            "figures",
            [_dumped(_plain(asdict(one))) for one in family.figures],
        )
        for family in trust.families
    ]
    return _with_list({**head, "corpora": list(map(asdict, trust.corpora))}, "metrics", families)


def grid(trust: "Trust") -> list[list[str]]:
    """Texts with a head row: the mean over corpora, and the coefficient on each."""
    corpora = list(trust.standing())
    places = [str(place) for place in range(1, len(corpora) + 1)]
    head = ["metric", "better", f"ρ [{100 * trust.made['confidence']:g}%]", "new corpus", "corpora", *places]
    return [head, *(_row(trust, family, corpora) for family in trust.ranked())]


def _row(trust: "Trust", family: Family, corpora: Sequence[str]) -> list[str]:
    better = {True: "more", False: "less", None: "–"}[family.higher_is_better]
    mean, on = trust.mean(family), {figure.corpus: figure.spearman for figure in trust.counted(family)}
    cells = [short(on.get(name, math.nan)) for name in corpora]
    mark = " *" if family.how else ""
    further = "–" if math.isnan(mean.new_low) else f"{short(mean.new_low)} to {short(mean.new_high)}"
    return [printable(family.metric) + mark, better, bracketed(*mean[:3]), further, str(mean.studies), *cells]


def notes(trust: "Trust") -> list[str]:
    """What a reader must know to read the table."""
    wanted = trust.standing()
    aspect = printable(trust.aspect)
    numbered = [
        f"{place}: {printable(name)} ({printable(rated)})"
        for place, (name, rated) in enumerate(wanted.items(), 1)
    ]
    others = [printable(corpus.name) for corpus in trust.corpora if corpus.name not in wanted]
    when = trust.made.get("date")
    return [
        f"ρ: Spearman's correlation of replies' values with mean ratings ({aspect}), over corpora (random "
        "effects, Hartung and Knapp's interval) and on each. Signs are kept: where less is better, ρ should "
        "be below 0. [low, high] holds the mean over corpora; new corpus: where ρ on a single further one "
        "would fall.",
        f"Corpora, and what stands for {aspect}: {'; '.join(numbered) or 'none'}."
        + (f" Without such ratings: {', '.join(others)}." if others else ""),
        *_gaps(trust, list(wanted)),
        *(f"*: {printable(how)}." for how in dict.fromkeys(one.how for one in trust.families if one.how)),
        *([f"Measured on {when} with dialoscope {trust.made['dialoscope']}."] if when else []),
    ]


def _gaps(trust: "Trust", corpora: Sequence[str]) -> Iterator[str]:
    """Why a coefficient is missing, and of which metrics on which corpora."""
    wanted, found = trust.standing(), dict[str, dict[str, list[str]]]()
    for family in trust.ranked():
        gaps: dict[str, list[str]] = {}
        for one in family.figures:
            if one.why and wanted.get(one.corpus) == one.aspect:
                gaps.setdefault(one.why, []).append(str(corpora.index(one.corpus) + 1))
        for why, places in gaps.items():
            found.setdefault(why, {}).setdefault(", ".join(places), []).append(printable(family.metric))
    for why, by_place in found.items():
        told = [f"{_some(metrics)} on {places}" for places, metrics in by_place.items()]
        yield f"No ρ of {'; '.join(told)}: {why}."


def _some(names: Sequence[str]) -> str:
    """The first few of them, and how many more there are."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _summary(trust: "Trust", family: Family) -> dict[str, Any]:
    """The mean, and between what the corpora lie."""
    on = [figure.spearman for figure in trust.counted(family)] or [math.nan]
    return _plain({**trust.mean(family)._asdict(), "lowest": min(on), "highest": max(on)})


def _whose(family: Family) -> dict[str, Any]:
    return {name: getattr(family, name) for name in ("metric", "signature", "higher_is_better", "how")}


def _plain(told: Mapping[str, Any]) -> dict[str, Any]:
    """Rounded; undefined as nothing."""
    return {
        name: undefined_as_null(round(value, DIGITS) + 0.0 if isinstance(value, float) else value)
        for name, value in told.items()
    }


def _dumped(told: Mapping[str, Any]) -> str:
    return json.dumps(told, ensure_ascii=False)


def _with_list(told: Mapping[str, Any], name: str, lines: Sequence[str]) -> str:
    """An object with one more entry, a list with a line for each thing, so that a change shows as one."""
    return f'{_dumped(told)[:-1]}, "{name}": [\n' + ",\n".join(lines) + "\n]}"
