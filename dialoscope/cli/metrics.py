"""The verb `metrics`."""

from dialoscope.cli import options, screen
from dialoscope.cli.options import AsJson, AsMarkdown


def metrics(json: AsJson = False, markdown: AsMarkdown = False) -> None:
    """List the metrics: direction, bounds, needs, settings, paper, how far each can be trusted."""
    import dialoscope
    from dialoscope.metrics.catalogue import catalogue

    trust = dialoscope.trust()
    listed = catalogue(trust=lambda one: {"told": trust.of(one).told, **trust.of(one).numbers})
    screen.show(listed.printed(options.form(json=json, csv=False, markdown=markdown)))
