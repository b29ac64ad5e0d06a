"""The verb `metrics`."""

from dialoscope.cli import options, screen
from dialoscope.cli.options import AsJson, AsMarkdown


def metrics(json: AsJson = False, markdown: AsMarkdown = False) -> None:
    """List the metrics: direction, bounds, needs, settings, paper."""
    from dialoscope.metrics.catalogue import catalogue

    screen.show(catalogue().printed(options.form(json=json, csv=False, markdown=markdown)))
