"""The verb `metrics`."""

from typing import TYPE_CHECKING, Any

from dialoscope.cli import options, screen
from dialoscope.cli.options import AsJson, AsMarkdown

if TYPE_CHECKING:
    from dialoscope import Metric


def metrics(json: AsJson = False, markdown: AsMarkdown = False) -> None:
    """List the metrics: direction, bounds, needs, settings, paper, how far each can be trusted."""
    import dialoscope
    from dialoscope.metrics.catalogue import catalogue

    trust = dialoscope.trust()

    def trusted(one: "Metric[Any]") -> dict[str, Any]:
        known = trust.of(one)
        return {"told": known.told, **known.numbers}

    screen.show(catalogue(trust=trusted).printed(options.form(json=json, csv=False, markdown=markdown)))
