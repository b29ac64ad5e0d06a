"""The verb `lint`."""

from dialoscope.cli import options, screen
from dialoscope.cli.options import Files, Format, Map, OnError, RepliesOf, Scale, Separator, Speaker, System
from dialoscope.core.progress import progress_bar


def lint(
    files: Files,
    map: Map = [],
    separator: Separator = None,
    system: System = None,
    speaker: Speaker = None,
    replies: RepliesOf = [],
    format: Format = None,
    on_error: OnError = "stop",
    scale: Scale = [],
) -> None:
    """Check replies for problems without scoring them."""
    import dialoscope

    source = options.read_source(
        files,
        replies,
        map,
        separator=separator,
        system=system,
        speaker=speaker,
        format=format,
        on_error=on_error,
    )
    with progress_bar("Reading", source.size()) as progress:
        warnings = dialoscope.lint(source, scales=options.parse_scales(scale), progress=progress)
    screen.warn(warnings)
    if not warnings:
        screen.show("Nothing odd.")
