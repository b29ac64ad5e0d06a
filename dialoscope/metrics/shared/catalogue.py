"""The list of metrics, for people and for the documentation."""

import dataclasses
import inspect
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dialoscope.core.errors import MetricError
from dialoscope.core.render.document import Report
from dialoscope.core.render.sections import Grid, LinkCell, Section
from dialoscope.metrics import metric_class, metric_names, plugin_named
from dialoscope.metrics.shared.base import Metric

TrustOf = Callable[[Metric[Any]], Mapping[str, Any]]
"""Returns the correlation of a metric with people, in words and numbers."""


@dataclass(frozen=True)
class Entry:
    """The description of a metric."""

    name: str
    what: str
    direction: str
    bounds: str
    needs: str
    settings: str
    variants: str
    paper: str
    trust: Mapping[str, Any]
    """Its correlation with people: under `told` in words, or why it is unknown, and in numbers."""


@dataclass(frozen=True)
class Catalogue(Report):
    """All metrics."""

    entries: tuple[Entry, ...]
    broken: tuple[str, ...] = ()
    """For each plug-in that cannot be used, a sentence that says why."""

    def sections(self, *, notes: bool = False) -> list[Section]:
        """A table whose names lead to the metrics' cards."""
        rows = [
            [
                LinkCell(entry.name, f"{entry.name}.md"),
                *(entry.what, entry.direction, entry.bounds, entry.needs, entry.variants),
                entry.trust.get("told", "–"),
            ]
            for entry in self.entries
        ]
        return [Grid(["metric", "what it is", "direction", "bounds", "needs", "variants", "trust"], rows)]

    def rows(self) -> list[dict[str, Any]]:
        """One record for each metric."""
        return [dataclasses.asdict(entry) for entry in self.entries]

    def text(self, width: int | None = None, *, notes: bool = False) -> str:
        """A paragraph for each."""
        return "\n\n".join([*map(_paragraph, self.entries), *self.broken])


def catalogue(trust: TrustOf = lambda _: {}) -> Catalogue:
    """All metrics that are installed, and what is known of each by its default settings."""
    entries, broken = [], []
    for name in metric_names():
        try:
            chosen = metric_class(name)
            with plugin_named(chosen):
                entries.append(_entry(chosen, trust))
        except MetricError as error:
            broken.append(str(error))
    return Catalogue(tuple(entries), tuple(broken))


def _entry(chosen: type[Metric[Any]], trust: TrustOf) -> Entry:
    default = chosen()
    direction = {True: "higher is better", False: "lower is better", None: "neither end is better"}
    settings = [f"{field.name}={getattr(default, field.name)}" for field in dataclasses.fields(default)]
    return Entry(
        name=chosen.name,
        what=(inspect.getdoc(chosen) or "").split("\n\n")[0].replace("\n", " "),
        direction=direction[chosen.higher_is_better],
        bounds=str(default.bounds),
        needs=", ".join(sorted(default.needs)) or "nothing",
        settings=", ".join(settings),
        variants=", ".join(chosen.variants) or "–",
        paper=chosen.paper,
        trust=trust(default),
    )


def _paragraph(entry: Entry) -> str:
    lines = [
        f"{entry.name}",
        textwrap.fill(entry.what, 100, initial_indent="  ", subsequent_indent="  "),
        f"  {entry.direction}; {entry.bounds}; needs {entry.needs}",
        f"  settings: {entry.settings}",
        *([f"  variants: {entry.variants}"] if entry.variants != "–" else []),
        f"  {entry.paper}",
        *([f"  trust: {entry.trust['told']}"] if entry.trust else []),
    ]
    return "\n".join(lines)
