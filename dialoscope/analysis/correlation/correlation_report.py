"""The report of the correlations of metrics with people."""

import math
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from dialoscope.analysis.coefficients import format_coefficient
from dialoscope.analysis.correlation.correlation_notes import list_notes, reading_details
from dialoscope.analysis.correlation.estimates import (
    MAIN,
    Correlation,
    CorrelationSettings,
    RatedAspect,
    capitalize_name,
)
from dialoscope.analysis.correlation.metric_pairs import Contests, compare_metrics
from dialoscope.analysis.correlation.panel import Panel
from dialoscope.core.errors import DialoscopeError
from dialoscope.core.render.document import Report, choose_notes, list_signatures
from dialoscope.core.render.sections import Grid, GridCell, NoteLines, Quantity, Section, p_value


@dataclass(frozen=True, eq=False, repr=False)
class Correlations(Report):
    """A coefficient for each metric, aspect, level and group."""

    cells: tuple[Correlation, ...]
    aspects: tuple[RatedAspect, ...]
    settings: CorrelationSettings
    about: tuple[str, ...]
    """Notes on the ratings and scores."""
    panel: Panel
    """The values and the ratings of the replies."""

    def cell(
        self, metric: str, aspect: str, coefficient: str = MAIN, level: str = "reply", group: str = "overall"
    ) -> Correlation:
        """The correlation of one metric with one aspect."""
        wanted = (metric, aspect, coefficient, level, group)
        for cell in self.cells:
            if (cell.metric, cell.aspect, cell.coefficient, cell.level, cell.group) == wanted:
                return cell
        raise DialoscopeError(
            f"There is no {coefficient} of {metric} with {aspect} at {level} level ({group}) here; it has: "
            f"{', '.join(dict.fromkeys(cell.metric for cell in self.cells))}; "
            f"{', '.join(rated.name for rated in self.aspects)}; {', '.join(self.settings.coefficients)}."
        )

    def better(
        self, first: str | None = None, second: str | None = None, *, coefficient: str | None = None
    ) -> Contests:
        """Test which of two metrics correlates better with people; every pair of metrics if none is named."""
        chosen = self.settings.main if coefficient is None else coefficient
        return compare_metrics(
            self.panel, self.settings.random_draws, self.settings.confidence, chosen, first, second
        )

    def sections(self, *, notes: bool = False) -> list[Section]:
        """A table for each aspect, and how to read them."""
        return [*map(self.grid, self.aspects), NoteLines(self.notes(details=notes))]

    def rows(self) -> list[dict[str, Any]]:
        """One record for each metric, aspect, level, group and coefficient."""
        return [asdict(cell) for cell in self.cells]

    def columns(self) -> list[str]:
        """The names in a record, also where there is none."""
        return list(Correlation.__dataclass_fields__)

    def ranked(self, aspect: str) -> list[Correlation]:
        """The first kind's main coefficient of every metric, the best correlation with people first."""
        kind, main = self.settings.kinds[0], self.settings.main
        main_cells = [
            cell for cell in self.cells if (cell.aspect, cell.kind, cell.coefficient) == (aspect, kind, main)
        ]
        return sorted(main_cells, key=lambda cell: (math.isnan(cell.value), -cell.agreement, cell.metric))

    def grid(self, aspect: RatedAspect) -> Grid:
        """The table of an aspect: all coefficients of the first kind, and the main one of the others."""
        kinds, main = self.settings.kinds, self.settings.main
        rest = [name for name in self.settings.coefficients if name != main]
        head = [
            "metric",
            capitalize_name(main),
            "p",
            *map(capitalize_name, rest),
            *(kind.head for kind in kinds[1:]),
        ]
        cells = {
            (cell.metric, cell.kind, cell.coefficient): cell
            for cell in self.cells
            if cell.aspect == aspect.name
        }
        metrics = {cell.metric: cell for cell in self.ranked(aspect.name)}
        metrics |= {cell.metric: cell for cell in cells.values() if cell.metric not in metrics}
        rows: list[list[GridCell]] = []
        for name, metric in metrics.items():
            first = cells.get((name, kinds[0], main))
            keys = [(name, kinds[0], other) for other in rest] + [(name, kind, main) for kind in kinds[1:]]
            others = [_quantity(cells.get(key), interval=False) for key in keys]
            p = p_value(first.p_holm) if first else "–"
            rows.append([name + _arrow(metric), _quantity(first), p, *others])
        return Grid(head, rows, self._title(aspect))

    def notes(self, *, details: bool = False) -> list[str]:
        """The notes: all of them, or the short ones."""
        more = reading_details(self.settings, self.cells)
        return choose_notes(
            [*list_notes(self.settings, self.aspects, self.cells), *self.about], more, details=details
        )

    def signatures(self) -> list[str]:
        """The signatures of the metrics, a line each."""
        return list_signatures((cell.metric, cell.signature) for cell in self.cells if cell.signature)

    def __repr__(self) -> str:
        metrics = len({cell.metric for cell in self.cells})
        return (
            f"<Correlations: {metrics} metrics, {len(self.aspects)} aspects, {len(self.cells)} coefficients>"
        )

    def _title(self, aspect: RatedAspect) -> str:
        kind = self.settings.kinds[0]
        ceiling = aspect.ceiling_at(kind)
        note = "" if math.isnan(ceiling) else f"; ceiling {format_coefficient(ceiling, 3)}"
        return f"{aspect.name}: {kind.title}{note}"


def _arrow(cell: Correlation) -> str:
    return " ↓" if cell.higher_is_better is False else ""


def _quantity(cell: Correlation | None, *, interval: bool = True) -> Quantity:
    """A coefficient with its interval, or alone."""
    if cell is None:
        return Quantity(math.nan)
    low, high = (cell.low, cell.high) if interval else (math.nan, math.nan)
    return Quantity(cell.value, low, high, form=partial(format_coefficient, digits=3))
