"""The verb `doctor`."""

import typer

from dialoscope.cli import screen
from dialoscope.cli.options import AsJson


def doctor(json: AsJson = False) -> None:
    """Check the installation, the device and the models."""
    import dialoscope

    checkup = dialoscope.doctor()
    screen.show(checkup.json() if json else checkup.text())
    if not checkup.healthy:
        raise typer.Exit(1)
