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
        help="Replace words by synonyms, or continue the turns before the query with a language model.",
    ),
]
Count = Annotated[int, typer.Option("-k", min=1, help="Number of variants of each query, besides itself.")]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Output file; standard output if not named."),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an existing file.")]
Ask = Annotated[
    str,
    typer.Option(
        metavar="instead|again",
        help="Whether a variant replaces the query (for diversity), or is asked again after the reply to it "
        "(for self-consistency; rows need a response).",
    ),
]
System = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="With --ask again: system that is asked again, where files have several."
    ),
]
Full = Annotated[
    bool,
    typer.Option(
        "--full", help="Leave out queries with fewer than k variants, so that all groups are of one size."
    ),
]
MinSimilarity = Annotated[
    float | None,
    typer.Option(
        min=-1,
        max=1,
        help="Minimum cosine similarity of a variant and the query; for wordnet 0.7 if not named.",
    ),
]
Encoder = Annotated[str, typer.Option(metavar="MODEL", help="Encoder that computes the similarity.")]
LanguageModel = Annotated[
    str | None,
    typer.Option("--lm", metavar="MODEL", help="Language model of the generator; smollm2 if not named."),
]
Sample = Annotated[
    bool, typer.Option("--sample", help="Sample from the generator at random, instead of beam search.")
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of random choices.")]


def augment(
    files: Files,
    method: Method = "wordnet",
    k: Count = 4,
    output: Output = None,
    overwrite: Overwrite = False,
    ask: Ask = "instead",
    system: System = None,
    full: Full = False,
    min_similarity: MinSimilarity = None,
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
    """Paraphrase queries, to ask a system several variants."""
    import dialoscope
    from dialoscope.augmentation.augmented import check_output
    from dialoscope.data.contexts import read_contexts

    if output is not None:
        check_output(output, overwrite=overwrite)
    settings: dict[str, Any] = {
        "separator": separator,
        "speaker": speaker,
        "format": format,
        "on_error": on_error,
    }
    source = (
        options.read_source(files, [], map, **settings)
        if ask == "again"
        else read_contexts(*files, columns=options.parse_columns(map), **settings)
    )
    augmented = dialoscope.augment(
        source,
        method,
        k,
        ask=ask,
        min_similarity=min_similarity,
        encoder=encoder,
        lm=lm,
        sample=sample,
        seed=seed,
        system=system,
        full=full,
        licence=licence,
    )
    if output is None and augmented.rows:
        screen.show(augmented.jsonl().removesuffix("\n"))
    elif output is not None:
        augmented.save(output, overwrite=overwrite)
    for line in augmented.summary():
        screen.note(line)
