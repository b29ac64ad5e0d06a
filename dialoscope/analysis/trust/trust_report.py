"""The tables and records of the trust in metrics."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dialoscope.analysis.coefficients import format_coefficient
from dialoscope.analysis.trust.evidence import FORMAT, VERSION, Family
from dialoscope.core.render.sections import Grid, GridCell, Quantity
from dialoscope.core.safe_text import printable

if TYPE_CHECKING:
    from dialoscope.analysis.trust.known import Trust

_SHOWN = 6
"""The number of metrics that are named where many have no coefficient for the same reason."""
DIGITS = 4
"""The number of significant digits."""


def rows(trust: "Trust") -> list[dict[str, Any]]:
    """One record for each metric, corpus and aspect."""
    return [
        {"metric": family.metric, **_plain(asdict(figure)), **_family_record(family)}
        for family in trust.families
        for figure in family.figures
    ]


def as_json(trust: "Trust") -> str:
    """The table as JSON, a figure on a line, as it is shipped."""
    head = {"format": FORMAT, "version": VERSION, "made": dict(trust.made), "aspect": trust.aspect}
    families = [
        _with_list(
            {**_family_record(family), "mean": _summary(trust, family)},
            "figures",
            [_dump(_plain(asdict(figure))) for figure in family.figures],
        )
        for family in trust.families
    ]
    return _with_list({**head, "corpora": list(map(asdict, trust.corpora))}, "metrics", families)


def grid(trust: "Trust") -> Grid:
    """The mean over corpora, and the coefficient on each."""
    corpora = list(trust.standing())
    numbers = [str(number) for number in range(1, len(corpora) + 1)]
    head = ["metric", "better", f"ρ [{100 * trust.made['confidence']:g}%]", "new corpus", "corpora", *numbers]
    return Grid(head, [_row(trust, family, corpora) for family in trust.ranked()])


def _row(trust: "Trust", family: Family, corpora: Sequence[str]) -> list[GridCell]:
    mean = trust.mean(family)
    coefficients = {figure.corpus: figure.spearman for figure in trust.summary_figures(family)}
    return [
        family.metric + (" *" if family.how else ""),
        {True: "more", False: "less", None: "–"}[family.higher_is_better],
        Quantity(*mean[:3], form=format_coefficient),
        "–"
        if math.isnan(mean.new_low)
        else f"{format_coefficient(mean.new_low)} to {format_coefficient(mean.new_high)}",
        str(mean.studies),
        *(format_coefficient(coefficients.get(name, math.nan)) for name in corpora),
    ]


def notes(trust: "Trust") -> list[str]:
    """The notes on the table that every reader needs."""
    wanted = trust.standing()
    aspect = printable(trust.aspect)
    numbered = [
        f"{number}: {printable(name)} ({printable(rated)})"
        for number, (name, rated) in enumerate(wanted.items(), 1)
    ]
    others = [printable(corpus.name) for corpus in trust.corpora if corpus.name not in wanted]
    when = trust.made.get("date")
    return [
        f"ρ: Spearman's correlation of replies' values with mean ratings ({aspect}), over corpora and on "
        "each; where less is better, ρ should be below 0.",
        f"Corpora, and the aspect that is used for {aspect}: {'; '.join(numbered) or 'none'}."
        + (f" Without such ratings: {', '.join(others)}." if others else ""),
        *(
            f"*: {printable(how)}."
            for how in dict.fromkeys(family.how for family in trust.families if family.how)
        ),
        *([f"Measured on {when} with dialoscope {trust.made['dialoscope']}."] if when else []),
    ]


def details(trust: "Trust") -> Iterator[str]:
    """Notes on the mean, and on missing coefficients, by metric and corpus."""
    yield (
        "[low, high] holds the mean over corpora (random effects, Hartung and Knapp's interval); new corpus: "
        "where ρ on a single further one would fall."
    )
    wanted, by_reason = trust.standing(), dict[str, dict[str, list[str]]]()
    corpora = list(wanted)
    for family in trust.ranked():
        gaps: dict[str, list[str]] = {}
        for figure in family.figures:
            if figure.why and wanted.get(figure.corpus) == figure.aspect:
                gaps.setdefault(figure.why, []).append(str(corpora.index(figure.corpus) + 1))
        for why, places in gaps.items():
            by_reason.setdefault(why, {}).setdefault(", ".join(places), []).append(printable(family.metric))
    for why, by_place in by_reason.items():
        parts = [f"{_shorten(metrics)} on {places}" for places, metrics in by_place.items()]
        yield f"No ρ of {'; '.join(parts)}: {why}."


def _shorten(names: Sequence[str]) -> str:
    """The first few names, and the number of the others."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _summary(trust: "Trust", family: Family) -> dict[str, Any]:
    """The mean, and the lowest and highest coefficient on a corpus."""
    on = [figure.spearman for figure in trust.summary_figures(family)] or [math.nan]
    return _plain({**trust.mean(family)._asdict(), "lowest": min(on), "highest": max(on)})


def _family_record(family: Family) -> dict[str, Any]:
    return {name: getattr(family, name) for name in ("metric", "signature", "higher_is_better", "how")}


def _plain(record: Mapping[str, Any]) -> dict[str, Any]:
    """The record with rounded numbers, and None for undefined ones."""
    return {name: _round(value) if isinstance(value, float) else value for name, value in record.items()}


def _round(value: float) -> float | None:
    return None if math.isnan(value) else round(value, DIGITS) + 0.0


def _dump(record: Mapping[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False)


def _with_list(record: Mapping[str, Any], name: str, lines: Sequence[str]) -> str:
    """An object with one more entry, a list with a line for each item, so that a change shows as one."""
    return f'{_dump(record)[:-1]}, "{name}": [\n' + ",\n".join(lines) + "\n]}"
