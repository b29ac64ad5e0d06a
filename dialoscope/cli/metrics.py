"""The verb `metrics`."""

from typing import TYPE_CHECKING, Any

from dialoscope.cli import options, screen
from dialoscope.cli.options import AsJson, AsMarkdown

if TYPE_CHECKING:
    from dialoscope import Metric


def metrics(json: AsJson = False, markdown: AsMarkdown = False) -> None:
    """List the metrics: direction, bounds, needs, settings, trust."""
    import dialoscope
    from dialoscope.metrics.shared.catalogue import catalogue

    trust = dialoscope.trust()

    def trust_of(metric: "Metric[Any]") -> dict[str, Any]:
        record = trust.of(metric)
        return {"told": record.told, **record.numbers}

    form = options.choose_form(json=json, markdown=markdown)
    listing = catalogue(trust=trust_of)
    screen.show(listing.text() if form == "text" else listing.printed(form))
    if form != "text":  # the text has these warnings itself
        screen.warn(listing.broken)
