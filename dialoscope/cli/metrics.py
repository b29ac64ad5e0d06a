"""The verb `metrics`."""

from typing import TYPE_CHECKING, Any

from dialoscope.cli import options, screen
from dialoscope.cli.options import AsJson, AsMarkdown

if TYPE_CHECKING:
    from dialoscope import Metric


def metrics(json: AsJson = False, markdown: AsMarkdown = False) -> None:
    """List the metrics: direction, bounds, needs, settings, paper, how far each can be trusted."""
    import dialoscope
    from dialoscope.metrics.shared.catalogue import catalogue

    trust = dialoscope.trust()

    def trusted(one: "Metric[Any]") -> dict[str, Any]:
        known = trust.of(one)
        return {"told": known.told, **known.numbers}

    form = options.form(json=json, markdown=markdown)
    listed = catalogue(trust=trusted)
    screen.show(listed.text() if form == "text" else listed.printed(form))
    if form != "text":  # the text has them
        screen.warn(listed.broken)
