"""The table of trust in metrics, and the one that is shipped as data."""

import json
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dialoscope.analysis.aspects import standing
from dialoscope.analysis.coefficients import format_interval
from dialoscope.analysis.trust import trust_report
from dialoscope.analysis.trust.evidence import FORMAT, VERSION, CorpusRecord, Family, Figure
from dialoscope.analysis.trust.pooling import Mean, pool_coefficients
from dialoscope.core.errors import DialoscopeError
from dialoscope.core.render.document import Report, choose_notes
from dialoscope.core.render.sections import NoteLines, Section
from dialoscope.runs.result import Result
from dialoscope.runs.table import MetricTrust

if TYPE_CHECKING:
    from dialoscope.metrics import Metric

SHIPPED = Path(__file__).with_name("trust.json")
FITTED = "its weights were fitted to some of these very ratings"


@dataclass(frozen=True, repr=False)
class Trust(Report):
    """Figures for each metric, corpus and rated aspect, and their means over corpora."""

    corpora: tuple[CorpusRecord, ...]
    families: tuple[Family, ...]
    made: Mapping[str, Any]
    """The date, the version and the number of random halves."""
    aspect: str = "overall"
    """The rated aspect of the summary."""

    def standing(self) -> dict[str, str]:
        """The rated aspect of each corpus that is the requested one or its proxy, where there is one."""
        rated_aspects = {corpus.name: standing(corpus.aspects, self.aspect) for corpus in self.corpora}
        return {name: aspect for name, aspect in rated_aspects.items() if aspect is not None}

    def summary_figures(self, family: Family) -> list[Figure]:
        """The figures of the summary, one for each corpus where the metric has one."""
        wanted = self.standing()
        return [
            figure
            for figure in family.figures
            if wanted.get(figure.corpus) == figure.aspect and math.isfinite(figure.error)
        ]

    def mean(self, family: Family) -> Mean:
        """The mean of Spearman's coefficient over corpora."""
        figures = self.summary_figures(family)
        values, errors = (
            np.array([getattr(figure, name) for figure in figures]) for name in ("spearman", "error")
        )
        pooled = pool_coefficients(values, errors, self.made["confidence"])
        if pooled.studies == 1:
            return pooled._replace(low=figures[0].low, high=figures[0].high)
        return pooled

    def of(self, metric: "Metric[Any]") -> MetricTrust:
        """The trust in a metric with its settings, or why it is not known."""
        plain = metric.unfitted
        family = next((family for family in self.families if family.signature == plain.signature), None)
        if family is None:
            return MetricTrust(told=self._unknown(metric))
        mean = self.mean(family)
        if not mean.studies:
            return MetricTrust(told="no corpus has ratings of replies with a value")
        return MetricTrust(mean.value, mean.low, mean.high, mean.studies, describe_mean(family, mean))

    def signatures_fitted_to(self, data: Collection[str]) -> frozenset[str]:
        """The signatures of metrics whose weights were fitted to ratings of data with one of these hashes."""
        if {corpus.data for corpus in self.corpora}.isdisjoint(data):
            return frozenset()
        return frozenset(family.signature for family in self.families if family.how)

    def _unknown(self, metric: "Metric[Any]") -> str:
        if not metric.of_replies:
            return "not measured: a single reply has no value"
        if any(family.metric == str(metric.unfitted) for family in self.families):
            return "not measured since the metric or its model changed"
        kin = [family.metric for family in self.families if family.signature.partition("|")[0] == metric.name]
        return (
            f"not measured with these settings; measured: {', '.join(kin)}"
            if kin
            else "not among those measured"
        )

    def ranked(self) -> list[Family]:
        """The metrics, the most trustworthy first; those with the wrong sign, and unknown ones, last."""
        means = {family.signature: family.sign * self.mean(family).value for family in self.families}
        return sorted(
            self.families,
            key=lambda family: (math.isnan(means[family.signature]), -means[family.signature], family.metric),
        )

    def sections(self, *, notes: bool = False) -> list[Section]:
        """The most trustworthy first, and how to read the table."""
        return [trust_report.grid(self), NoteLines(self.notes(details=notes))]

    def notes(self, *, details: bool = False) -> list[str]:
        """The notes: all of them, or the short ones."""
        return choose_notes(trust_report.notes(self), trust_report.details(self), details=details)

    def rows(self) -> list[dict[str, Any]]:
        """One record for each metric, corpus and aspect."""
        return trust_report.rows(self)

    def columns(self) -> list[str]:
        """The names in a record."""
        return ["metric", *(field.name for field in fields(Figure)), "higher_is_better", "how", "signature"]

    def json(self) -> str:
        """Everything, a figure on a line; what is shipped has this form."""
        return trust_report.as_json(self)

    def __repr__(self) -> str:
        return f"<Trust: {len(self.families)} metrics, {len(self.corpora)} corpora>"


@cache
def load_shipped() -> Trust:
    """The table that was measured for this version of dialoscope."""
    return read(SHIPPED)


def read(path: Path) -> Trust:
    """Read a table that `Trust.json` wrote."""
    content = json.loads(path.read_text(encoding="utf-8"))
    if (content.get("format"), content.get("version")) != (FORMAT, VERSION):
        raise DialoscopeError(f"{path} is no table of trust that this version of dialoscope can read.")
    corpora = tuple(
        CorpusRecord(**{**record, "aspects": tuple(record["aspects"])}) for record in content["corpora"]
    )
    families = tuple(
        Family(
            record["metric"],
            record["signature"],
            record["higher_is_better"],
            tuple(
                Figure(**{name: _nan(value) for name, value in each.items()}) for each in record["figures"]
            ),
            record["how"],
        )
        for record in content["metrics"]
    )
    return Trust(corpora, families, content["made"], content["aspect"])


def describe_mean(family: Family, mean: Mean) -> str:
    """A text such as `ρ .42 [.35, .49] on 5 corpora`."""
    corpora = "1 corpus" if mean.studies == 1 else f"{mean.studies} corpora"
    less = ", where less is better" if family.higher_is_better is False else ""
    how = f"; {family.how}" if family.how else ""
    return f"ρ {format_interval(*mean[:3])} on {corpora}{less}{how}"


def _nan(value: object) -> Any:  # noqa: ANN401 - of any of the types of a figure
    return math.nan if value is None else value


def metrics_fitted_to(result: Result) -> list[str]:
    """The metrics of a run that were trained on ratings of its replies."""
    fitted = load_shipped().signatures_fitted_to([result.provenance.data])
    return [result.label(metric) for metric in result.metrics if metric.unfitted.signature in fitted]
