"""The verb `augment`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from dialoscope.cli import options, screen
from dialoscope.cli.options import Files, Format, Licence, Map, OnError, Separator, Speaker

Method = Annotated[
    str,
    typer.Option(
        metavar="wordnet|generator",
        help="Replace words by synonyms, or let a language model go on from what was said before the query.",
    ),
]
Count = Annotated[int, typer.Option("-k", min=1, help="Variants of each query, besides itself.")]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write the rows into this file, not to standard output.")
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace a file of the same name.")]
Ask = Annotated[
    str,
    typer.Option(
        metavar="instead|again",
        help="Ask a variant in place of the query (for diversity), or again after the reply to it "
        "(for self-consistency; rows need a response).",
    ),
]
System = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="With --ask again: whose replies are followed, where the files hold several's."
    ),
]
Full = Annotated[
    bool, typer.Option("--full", help="Leave out queries with fewer than k variants: groups of one size.")
]
Nearest = Annotated[
    float | None,
    typer.Option(
        min=-1,
        max=1,
        help="The least cosine of a variant and the query; 0.7 for wordnet if not named, any for generator.",
    ),
]
Encoder = Annotated[str, typer.Option(help="The model that says how near a variant is.")]
LanguageModel = Annotated[
    str | None, typer.Option("--lm", help="The generator's model; smollm2 if not named.")
]
Sample = Annotated[
    bool, typer.Option("--sample", help="Let the generator draw at random in place of its best beams.")
]
Seed = Annotated[int, typer.Option(min=0, help="For choices between synonyms, and for drawing.")]


def augment(
    files: Files,
    method: Method = "wordnet",
    k: Count = 4,
    output: Output = None,
    overwrite: Overwrite = False,
    ask: Ask = "instead",
    system: System = None,
    full: Full = False,
    nearest: Nearest = None,
    encoder: Encoder = "minilm",
    lm: LanguageModel = None,
    sample: Sample = False,
    seed: Seed = 0,
    licence: Licence = None,
    map: Map = [],
    separator: Separator = None,
    speaker: Speaker = None,
    format: Format = None,
    on_error: OnError = "stop",
) -> None:
    """Paraphrase queries, to ask a system each variant."""
    import dialoscope
    from dialoscope.augmentation.augmented import refuse_taken
    from dialoscope.data.contexts import read_contexts

    if output is not None:
        refuse_taken(output, overwrite=overwrite)
    how: dict[str, Any] = {
        "separator": separator,
        "speaker": speaker,
        "format": format,
        "on_error": on_error,
    }
    source = (
        options.source(files, [], map, **how)
        if ask == "again"
        else read_contexts(*files, columns=options.columns(map), **how)
    )
    made = dialoscope.augment(
        source,
        method,
        k,
        ask=ask,
        nearest=nearest,
        encoder=encoder,
        lm=lm,
        sample=sample,
        seed=seed,
        system=system,
        full=full,
        licence=licence,
    )
    if output is None and made.rows:
        screen.show(made.jsonl().removesuffix("\n"))
    elif output is not None:
        made.save(output, overwrite=overwrite)
    for line in made.summary():
        screen.note(line)
