"""How metrics agree with people, in the forms people read and programs take on."""

import math
from dataclasses import asdict, dataclass
from typing import Any

from dialoscope.analysis.coefficients import bracketed, short
from dialoscope.analysis.correlation.correlation_notes import notes
from dialoscope.analysis.correlation.estimates import MAIN, Aspect, Correlation, Settings, written
from dialoscope.analysis.correlation.metric_pairs import Contests, contests
from dialoscope.analysis.correlation.panel import Panel
from dialoscope.core.errors import DialoscopeError
from dialoscope.core.render.document import Report
from dialoscope.core.render.serialization import as_csv, as_json
from dialoscope.core.safe_text import listed_in_markdown, plain_in_markdown, printable
from dialoscope.runs.table import aligned, chance, marked_down


@dataclass(frozen=True, eq=False, repr=False)
class Correlations(Report):
    """A coefficient for each metric, aspect, level and group."""

    cells: tuple[Correlation, ...]
    aspects: tuple[Aspect, ...]
    settings: Settings
    about: tuple[str, ...]
    """What a reader must know of the ratings and scores."""
    panel: Panel
    """The numbers themselves."""

    def cell(
        self, metric: str, aspect: str, coefficient: str = MAIN, level: str = "reply", group: str = "overall"
    ) -> Correlation:
        """What is said of one metric and one aspect."""
        wanted = (metric, aspect, coefficient, level, group)
        for one in self.cells:
            if (one.metric, one.aspect, one.coefficient, one.level, one.group) == wanted:
                return one
        raise DialoscopeError(
            f"There is no {coefficient} of {metric} with {aspect} at {level} level ({group}) here; it has: "
            f"{', '.join(dict.fromkeys(one.metric for one in self.cells))}; "
            f"{', '.join(one.name for one in self.aspects)}; {', '.join(self.settings.coefficients)}."
        )

    def better(
        self, first: str | None = None, second: str | None = None, *, coefficient: str | None = None
    ) -> Contests:
        """Which of two metrics follows people more closely; every pair of metrics, if none is named."""
        chosen = self.settings.main if coefficient is None else coefficient
        return contests(self.panel, self.settings.chance, self.settings.confidence, chosen, first, second)

    def text(self) -> str:
        """For a terminal or a mail: a table for each aspect, and how to read it."""
        tables = [f"{self._title(one)}\n{aligned(self.grid(one))}" for one in self.aspects]
        return "\n\n".join([*tables, "\n".join(self.notes())])

    def markdown(self) -> str:
        """For a README or an issue."""
        tables = [
            f"{plain_in_markdown(self._title(one))}\n\n{marked_down(self.grid(one))}" for one in self.aspects
        ]
        return "\n\n".join([*tables, "\n".join(listed_in_markdown(self.notes()))])

    def csv(self) -> str:
        """One line for each metric, aspect, level, group and coefficient."""
        return as_csv(self.rows(), list(Correlation.__dataclass_fields__))

    def json(self) -> str:
        """The same as a list of objects, undefined as null."""
        return as_json(self.rows())

    def rows(self) -> list[dict[str, Any]]:
        """One record for each metric, aspect, level, group and coefficient."""
        return [asdict(one) for one in self.cells]

    def ranked(self, aspect: str) -> list[Correlation]:
        """The first kind's main coefficient of every metric, those that follow people best first."""
        kind, main = self.settings.kinds[0], self.settings.main
        found = [one for one in self.cells if (one.aspect, one.kind, one.coefficient) == (aspect, kind, main)]
        return sorted(found, key=lambda one: (math.isnan(one.value), -one.agreement, one.metric))

    def grid(self, aspect: Aspect) -> list[list[str]]:
        """Texts with a head row: the first kind in full, of the others the main coefficient."""
        kinds, main = self.settings.kinds, self.settings.main
        rest = [name for name in self.settings.coefficients if name != main]
        head = ["metric", written(main), "p", *map(written, rest), *(kind.head for kind in kinds[1:])]
        found = {
            (one.metric, one.kind, one.coefficient): one for one in self.cells if one.aspect == aspect.name
        }
        ranked = self.ranked(aspect.name)
        alone = {
            one.metric: one for one in found.values() if one.metric not in {two.metric for two in ranked}
        }
        rows = []
        for one in (*ranked, *alone.values()):
            keys = [(one.metric, kinds[0], name) for name in (main, *rest)]
            keys += [(one.metric, kind, main) for kind in kinds[1:]]
            first, *others = (found.get(key) for key in keys)
            told = [_estimate(first), chance(first.p_holm) if first else "–", *map(_value, others)]
            rows.append([printable(one.metric) + _arrow(one), *told])
        return [head, *rows]

    def notes(self) -> list[str]:
        """What a reader must know to read the tables."""
        return [*notes(self.settings, self.aspects, self.cells), *self.about]

    def signatures(self) -> list[str]:
        """How each number was made."""
        found = (one for one in self.cells if one.signature)
        return list(dict.fromkeys(printable(f"{one.metric}: {one.signature}") for one in found))

    def __repr__(self) -> str:
        metrics = len({one.metric for one in self.cells})
        return (
            f"<Correlations: {metrics} metrics, {len(self.aspects)} aspects, {len(self.cells)} coefficients>"
        )

    def _title(self, aspect: Aspect) -> str:
        kind = self.settings.kinds[0]
        ceiling = aspect.ceiling_at(kind)
        told = "" if math.isnan(ceiling) else f"; ceiling {short(ceiling, 3)}"
        return f"{printable(aspect.name)}: {kind.title}{told}"


def _arrow(one: Correlation) -> str:
    return " ↓" if one.higher_is_better is False else ""


def _value(one: Correlation | None) -> str:
    return "–" if one is None else short(one.value, 3)


def _estimate(one: Correlation | None) -> str:
    return "–" if one is None else bracketed(one.value, one.low, one.high, 3)
