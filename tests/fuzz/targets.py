"""What reads each file: a table to which a reader, or a verb of the command line, is added as a row."""

import atexit
import contextlib
import copy
import hashlib
import io
import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from tempfile import mkdtemp

import numpy as np
import pyarrow as pa

import dialoscope as ds
from dialoscope.cli import main
from dialoscope.data.problems import ReadLog
from dialoscope.metrics.shared import combination
from dialoscope.metrics.shared.bertscore_baseline import Baseline
from dialoscope.models import registry as assets
from dialoscope.models.bilinear import BilinearRegressor
from dialoscope.models.checkpoints import Checkpoint
from dialoscope.models.corpus import FileCorpus
from dialoscope.models.vector_files import find_files, read_blocks, read_matrix
from dialoscope.training.nli_pairs import read_pairs
from tests.fuzz import mutations, seeds
from tests.fuzz.seeds import FORMATS, Rows

METRICS = ("words", "distinct-1", "bleu-2", "rouge-l", "entropy-2", "repetition", "copying", "self-bleu-2")
"""Metrics whose time grows gently with the length of replies, which have up to a million letters here."""

FORMS = ("text", "markdown", "csv", "json")
DRAWS = 100

USUAL = (*("jsonl",) * 8, *("csv",) * 5, *("tsv", "parquet", "arrow") * 2, "json", "txt")
"""Formats of rows, each as often as it is tried."""

Read = Callable[[Path, Random], object]


@dataclass(frozen=True)
class Target:
    """What is read, and by what; `read` returns the texts that it shows, if it shows any."""

    name: str
    read: Read
    rows: tuple[Rows, ...] = ()
    formats: tuple[str, ...] = USUAL
    content: tuple[bytes, ...] = ()
    """Sound files that are no rows."""
    folder: Callable[[], dict[str, bytes]] | None = None
    """The sound files of a folder, one of which is changed."""

    def write(self, place: Path, rng: Random) -> Path:
        """Write damaged input into an empty folder, and return what is to be read."""
        if self.folder is not None:
            return _write_folder(place, self.folder(), rng)
        if self.content:
            return _write(
                place / f"file.{rng.choice(('txt', 'vec', 'bin', 'csv'))}", rng.choice(self.content), rng
            )
        rows = copy.deepcopy(rng.choice(self.rows))
        for _ in range(rng.choice((0, 1, 1, 1, 2))):
            mutations.ROWS[rng.choice(list(mutations.ROWS))](rng, rows)
        ending = rng.choice(self.formats)
        try:
            data = FORMATS[ending](rows)
        except (pa.ArrowException, ValueError, RecursionError):
            data = seeds.as_jsonl(rows)  # what this format cannot hold
        return _write(place / f"file.{ending}", data, rng)


def _write(path: Path, data: bytes, rng: Random) -> Path:
    for _ in range(rng.choice((0, 0, 0, 0, 0, 1, 1, 1, 2))):
        data = mutations.BYTES[rng.choice(list(mutations.BYTES))](rng, data)
    if path.suffix == ".arrow":
        folder = path.with_suffix("")
        folder.mkdir()
        (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": path.name}]}))
        (folder / path.name).write_bytes(data)
        return folder
    if rng.random() < 0.15:
        path = path.with_name(
            rng.choice(("file", "file.gz", f"{path.name}.gz", "file.csv", "file.jsonl", "file.JSON"))
        )
    path.write_bytes(data)
    return path


def _write_folder(place: Path, files: dict[str, bytes], rng: Random) -> Path:
    name = rng.choice([*files, *[name for name in files if name.endswith(".json")] * 3])
    content = files[name]
    if name.endswith(".json") and rng.random() < 0.7:
        rows = [json.loads(content)]
        for _ in range(rng.choice((1, 1, 2))):
            mutations.ROWS[rng.choice(list(mutations.ROWS))](rng, rows)
        content = json.dumps(_sealed(rows[0]) if rows else None).encode()
    else:
        content = mutations.BYTES[rng.choice(list(mutations.BYTES))](rng, content)
    for other, data in files.items():
        (place / other).write_bytes(data)
    if rng.random() < 0.05:
        (place / name).unlink()
    else:
        (place / name).write_bytes(content)
    return place


def _sealed(manifest: object) -> object:
    """The manifest of a run with a seal that fits, so that more of it is read than its seal."""
    if not isinstance(manifest, dict) or "seal" not in manifest:
        return manifest
    said = {key: value for key, value in manifest.items() if key != "seal"}
    text = json.dumps(said, sort_keys=True, separators=(",", ":"))
    return {**said, "seal": f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"}


@cache
def run_folder() -> Path:
    """A saved run with ratings, made once for a process."""
    folder = Path(mkdtemp(prefix="fuzz-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    replies = folder / "replies.jsonl"
    replies.write_bytes(seeds.as_jsonl(seeds.REPLIES))
    return ds.evaluate(ds.read(replies), ["words", "distinct-1", "bleu-2", "rouge-l"]).save(folder / "run")


@cache
def saved_run() -> "ds.Result":
    return ds.Result.load(run_folder())


def run_files() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in run_folder().iterdir() if path.is_file()}


def composite_files() -> dict[str, bytes]:
    shipped = Path(assets.__file__).parent / "trained" / "composite" / "spec.json"
    return {"spec.json": shipped.read_bytes()}


def checkpoint_files() -> dict[str, bytes]:
    name, weights = "weights.safetensors", b"\x08\x00\x00\x00\x00\x00\x00\x00{}      "
    noted = hashlib.sha256(f"{name} {hashlib.sha256(weights).hexdigest()}\n".encode()).hexdigest()
    settings = {"turns": 2, "model": "minilm", "embedding": "glove-50d", "perceptron": [4], "pooling": "mean"}
    spec = {
        "recipe": "adem",
        "settings": settings,
        "model": "a",
        "hash": noted,
        "dims": 3,
    }
    return {"spec.json": json.dumps(spec).encode(), name: weights}


def matrix_files() -> dict[str, bytes]:
    out = io.BytesIO()
    np.save(out, np.ones((3, 4), np.float32))
    return {"a.npy": out.getvalue(), "a.json": json.dumps({"a": 0, "b": 1, "c": 2}).encode()}


def settings_of(rng: Random) -> dict[str, object]:
    """Arguments of `read`, mostly none."""
    choices: dict[str, tuple[object, ...]] = {
        "on_error": ("skip", "skip", "skip", "stop"),
        "separator": (None,) * 8 + (" EOS ", "|", "\x1b"),
        "speaker": (None,) * 20 + ("bot", "*", "\u202e"),
        "system": (None,) * 6 + ("=me", "\x1b[2J", "a,b"),
        "format": (None,) * 60 + ("jsonl", "csv", "tsv", "parquet"),
        "columns": (None,) * 40
        + ({"response": "output"}, {"id": "\x1b"}, {"ratings": "r"}, {"context": "response"}),
    }
    chosen = {name: rng.choice(values) for name, values in choices.items()}
    return {name: value for name, value in chosen.items() if value is not None}


def read_replies(path: Path, rng: Random) -> object:
    source = ds.read(path, **settings_of(rng))
    log = ReadLog()
    rows = list(source.rows(log))
    return [*map(str, log.problems), *ds.lint([row.example for row in rows])]


def score_replies(path: Path, rng: Random) -> object:
    settings = settings_of(rng) | {"on_error": "skip"}
    result = ds.evaluate(ds.read(path, **settings), rng.sample(METRICS, 2), missing="undefined")
    table = result.table(draws=DRAWS, significance=rng.random() < 0.3)
    shown = {"text": table.text, "markdown": table.markdown, "csv": table.csv, "json": table.json}
    return [shown[rng.choice(FORMS)](), *table.notes(), *table.signatures(), *result.provenance.warnings]


def join_replies(path: Path, rng: Random) -> object:
    """As the replies to sound items, or as the items of sound replies."""
    other = path.parent / "other.jsonl"
    other.write_bytes(seeds.as_jsonl(seeds.ITEMS if rng.random() < 0.8 else seeds.ANSWERS))
    pair = (other, path) if rng.random() < 0.8 else (path, other)
    return len(list(ds.read(pair[0], replies={"bot": pair[1]}, on_error="skip")))


def read_contexts(path: Path, rng: Random) -> object:
    settings = {name: value for name, value in settings_of(rng).items() if name != "system"}
    return len(ds.read_contexts(path, **settings).rows)


def read_ratings(path: Path, rng: Random) -> object:
    ratings = ds.read_ratings(path)
    if rng.random() < 0.5:
        return ds.raters(saved_run(), ratings, draws=DRAWS).printed(rng.choice(FORMS))
    found = ds.correlate(saved_run(), ratings, draws=DRAWS, permutations=100)
    return found.printed(rng.choice(FORMS), signatures=True)


def read_scores(path: Path, rng: Random) -> object:
    scores = ds.read_scores(path)
    if rng.random() < 0.5:
        return ds.agree(saved_run(), scores=scores, draws=DRAWS).printed(rng.choice(FORMS))
    return ds.correlate(saved_run(), scores=scores, draws=DRAWS, permutations=100).printed(rng.choice(FORMS))


def answer_from_record(path: Path, rng: Random) -> object:
    responses = ds.respond([["Hello there.", "Who are you?"], "Hi?"], ds.system(f"file:{path}"), samples=2)
    return responses.summary()


def read_corpus(path: Path, rng: Random) -> object:
    return len(list(FileCorpus(path).examples()))


def load_run(path: Path, rng: Random) -> object:
    result = ds.Result.load(path)
    return [result.table(draws=DRAWS).text(), ds.compare(result, draws=DRAWS).printed(rng.choice(FORMS))]


def verify_run(path: Path, rng: Random) -> object:
    return list(ds.verify(path).differences)


def load_checkpoint(path: Path, rng: Random) -> object:
    if rng.random() < 0.5:
        return Checkpoint.load(path).folder
    return BilinearRegressor(str(path)).fingerprint


def read_vectors(path: Path, rng: Random) -> object:
    files = find_files(path)
    if files.vocabulary is not None:
        return len(read_matrix(files).words)
    return sum(len(block.words) for block in read_blocks(files.vectors))


def run_verb(*arguments: str) -> Read:
    """The command line in this process; `FILE` and `RUN` stand for what is damaged and for a sound run."""

    def run(path: Path, rng: Random) -> object:
        other = path.parent / "other.jsonl" if path.is_file() else path.with_name("other.jsonl")
        other.write_bytes(seeds.as_jsonl(seeds.ITEMS))
        names = {"FILE": str(path), "RUN": str(run_folder()), "ITEMS": str(other)}
        words = [
            word.replace("FILE", names["FILE"]) if "FILE" in word else names.get(word, word)
            for word in arguments
        ]
        if words[-1] == "FORM":
            words[-1:] = rng.choice(([], ["--json"], ["--csv"], ["--markdown"]))
        return _said(words)

    return run


def _said(words: list[str]) -> str:
    """What the command line prints; a status of 2 is an error as of a reader."""
    out, err, before = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = ["dialoscope", *words]
    status: object = 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                main()
            except SystemExit as stop:
                status = stop.code or 0
    finally:
        sys.argv = before
    assert status in (0, 1, 2), f"status {status}"
    shown = out.getvalue() + err.getvalue()
    assert "Traceback" not in shown
    if status == 2:
        raise ds.DialoscopeError(err.getvalue())
    return shown


REPLIES = (seeds.REPLIES, seeds.DIALOGUES, seeds.GROUPS)
QUICK = ("--draws", "100")

TARGETS = (
    Target("read replies", read_replies, REPLIES),
    Target("score replies", score_replies, REPLIES),
    Target("join replies", join_replies, (seeds.ANSWERS, seeds.ITEMS)),
    Target("read contexts", read_contexts, (*REPLIES, seeds.ITEMS)),
    Target("read ratings", read_ratings, (seeds.RATINGS, seeds.REPLIES)),
    Target("read scores", read_scores, (seeds.SCORES,)),
    Target("recorded system", answer_from_record, REPLIES),
    Target("corpus", read_corpus, REPLIES),
    Target(
        "pairs of sentences",
        lambda path, rng: len(list(read_pairs(str(path)))),
        (seeds.PAIRS,),
        ("jsonl", "json"),
    ),
    Target("word vectors", read_vectors, content=(seeds.VECTORS, b"4 3\n" + seeds.VECTORS)),
    Target("matrix of vectors", read_vectors, folder=matrix_files),
    Target("baselines", lambda path, rng: Baseline(str(path)).level(1), content=(seeds.BASELINE,)),
    Target("saved run", load_run, folder=run_files),
    Target("verified run", verify_run, folder=run_files),
    Target("composite", lambda path, rng: combination.load(path).hash, folder=composite_files),
    Target("checkpoint", load_checkpoint, folder=checkpoint_files),
    Target(
        "score",
        run_verb("score", "FILE", "-m", "words", "-m", "distinct-1", "--on-error", "skip", *QUICK, "FORM"),
        REPLIES,
    ),
    Target(
        "score joined",
        run_verb("score", "ITEMS", "--replies", "bot=FILE", "-m", "words", *QUICK, "FORM"),
        (seeds.ANSWERS,),
    ),
    Target("lint", run_verb("lint", "FILE", "--on-error", "skip"), REPLIES),
    Target(
        "audit",
        run_verb("audit", "FILE", "-m", "words", "-p", "noise", "--ratios", "0,1", *QUICK, "FORM"),
        REPLIES,
    ),
    Target("respond", run_verb("respond", "ITEMS", "-s", "file:FILE", "-o", "FILE.out"), REPLIES),
    Target(
        "correlate",
        run_verb("correlate", "RUN", "--ratings", "FILE", *QUICK, "--permutations", "100", "FORM"),
        (seeds.RATINGS,),
    ),
    Target("raters", run_verb("raters", "RUN", "--ratings", "FILE", *QUICK, "FORM"), (seeds.RATINGS,)),
    Target("agree", run_verb("agree", "RUN", "--scores", "FILE", *QUICK, "FORM"), (seeds.SCORES,)),
    Target("compare", run_verb("compare", "RUN", "--ratings", "FILE", *QUICK, "FORM"), (seeds.RATINGS,)),
    Target("show", run_verb("show", "FILE", *QUICK, "FORM"), folder=run_files),
    Target("verify", run_verb("verify", "FILE"), folder=run_files),
    Target("trust", run_verb("trust", "FILE", "--aspect", "coherence", *QUICK, "FORM"), folder=run_files),
)
