"""The verb `score`."""

import signal
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from dialoscope.cli import options, screen
from dialoscope.cli.options import (
    AsCsv,
    AsJson,
    AsLatex,
    AsMarkdown,
    Confidence,
    Draws,
    Files,
    Format,
    Licence,
    Map,
    Mean,
    Notes,
    OnError,
    RepliesOf,
    Scale,
    Separator,
    Signatures,
    Significance,
    Speaker,
    System,
    WithTrust,
)
from dialoscope.core.errors import DialoscopeError
from dialoscope.core.progress import progress_bar

MetricNames = Annotated[
    list[str],
    typer.Option(
        "--metric",
        "-m",
        metavar="METRIC",
        help="Metric: bleu, rouge-l, distinct:n=2, bleu:variant=nltk, rouge:order=1/2/l; see 'dialoscope "
        "metrics'. Repeatable.",
    ),
]
Suites = Annotated[
    list[str],
    typer.Option(
        "--suite",
        metavar="SUITE",
        help="Set of metrics: lexical (the default), embedding, distribution, holistic, learned. Repeatable.",
    ),
]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="RUN", help="Folder to save the run in.")
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace a saved run of the same name.")]
Missing = Annotated[
    str | None,
    typer.Option(
        metavar="stop|undefined|leave-out",
        help="For replies without the input of a metric (context, references): stop (the default where "
        "metrics are named), count as undefined, or leave out metrics no reply has it for (the default for "
        "suites).",
    ),
]
Real = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Dialogues between people; fbd and prd compare systems with them, not with the references.",
    ),
]
ScalesFrom = Annotated[
    Path | None,
    typer.Option(
        metavar="RUN",
        help="A saved run whose metrics, or those named, are used with the scales fitted there.",
    ),
]
Seed = Annotated[int, typer.Option(metavar="N", min=0, help="Random seed of intervals and tests.")]
Workers = Annotated[
    int, typer.Option(metavar="N", min=1, help="Number of processes; the scores do not depend on it.")
]


def score(
    files: Files,
    metric: MetricNames = [],
    suite: Suites = [],
    output: Output = None,
    overwrite: Overwrite = False,
    map: Map = [],
    separator: Separator = None,
    system: System = None,
    speaker: Speaker = None,
    replies: RepliesOf = [],
    format: Format = None,
    on_error: OnError = "stop",
    missing: Missing = None,
    scale: Scale = [],
    real: Real = None,
    licence: Licence = None,
    scales_from: ScalesFrom = None,
    seed: Seed = 0,
    workers: Workers = 1,
    confidence: Confidence = 0.95,
    mean: Mean = "replies",
    draws: Draws = 1000,
    significance: Significance = False,
    trust: WithTrust = False,
    signatures: Signatures = False,
    json: AsJson = False,
    csv: AsCsv = False,
    markdown: AsMarkdown = False,
    latex: AsLatex = False,
    notes: Notes = False,
) -> None:
    """Score replies: systems × metrics, with intervals."""
    import dialoscope
    from dialoscope.runs.store import check_target

    form = options.choose_form(json=json, csv=csv, markdown=markdown, latex=latex)
    if output is not None:
        check_target(output, overwrite=overwrite)
    metrics = options.metrics(metric, suite, licence)
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
    with progress_bar("Scoring", source.size()) as progress, _pool(workers) as pool:
        result = dialoscope.evaluate(
            source,
            metrics,
            on=pool,
            missing=missing or ("leave-out" if suite and not metric else None),
            scales=options.parse_scales(scale),
            real=real,
            licence=licence,
            scales_from=scales_from,
            seed=seed,
            progress=progress,
        )
    screen.warn(result.provenance.notices())
    table = result.table(
        confidence=confidence,
        draws=draws,
        significance=significance,
        trust=dialoscope.trust() if trust else None,
        mean=mean,
    )
    screen.show_report(
        table, form, notes=notes, signatures=signatures, sources=result.provenance.list_licences()
    )
    if output is not None:  # last, so that the table is printed even if the disk fails
        result.save(output, overwrite=overwrite)
        screen.note(f"Saved to {output}")


@contextmanager
def _defer_signals() -> Iterator[None]:
    """Defer signals to the end of the block; processes started in it ignore those of the terminal.

    An exception raised by a handler would leave a worker half started, and nobody would stop it.
    """
    pending: list[int] = []
    names = ("SIGINT", "SIGTERM", "SIGHUP")
    before = {number: signal.getsignal(number) for name in names if (number := getattr(signal, name, None))}
    before = {number: handler for number, handler in before.items() if callable(handler)}
    for number in before:
        signal.signal(number, lambda number, _: pending.append(number))
    blocking = hasattr(signal, "pthread_sigmask")
    if blocking:  # processes inherit this; the handlers above are for signals to other threads
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})
    try:
        yield
    finally:
        if blocking:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in pending[:1]:
            signal.raise_signal(number)


@contextmanager
def _pool(workers: int) -> Iterator[Executor | None]:
    if workers == 1:
        yield None
        return
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from errno import EPIPE
    from multiprocessing import active_children, get_context

    class Pool(ProcessPoolExecutor):
        """Worker processes that ignore the terminal's Ctrl-C."""

        def submit(self, *arguments: Any, **options: Any) -> Future[Any]:  # noqa: ANN401
            try:
                with _defer_signals():  # this starts workers
                    return super().submit(*arguments, **options)
            except OSError as error:
                if error.errno in (EPIPE, None):  # a worker ended while another was started
                    raise BrokenProcessPool from error
                raise

    # Spawned, not forked: a progress bar has threads, which do not survive a fork.
    with _defer_signals():  # this starts a process of multiprocessing's own
        pool = Pool(workers, mp_context=get_context("spawn"))
    try:
        yield pool
    except BrokenProcessPool:
        for worker in active_children():  # the pool misses a worker that was being started, and waits for it
            worker.terminate()
        raise DialoscopeError(
            "A worker process was killed, perhaps because memory ran out. Try fewer workers: --workers 1."
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)
