"""A run as a folder: its numbers, their statistics, and hashes that show if either was changed.

manifest.json        settings, signatures, provenance, the table, a hash of every other file
replies.parquet      one row for each reply: id, system, item, a column of values for each metric
statistics.parquet   the statistics of the same rows, from which every number can be made again
ratings.parquet      the ratings of the replies, if the data had any
points-N.npy         for metrics that compare distributions: the different points, in the order of their keys
crowd-N.npz          what is kept of a corpus they were compared with
"""

import dataclasses
import json
import re
from collections.abc import Hashable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dialoscope.core.arrays import Floats
from dialoscope.core.errors import MetricError, RunError
from dialoscope.core.files import check_writable, follow_link, hash_file, recover, stage
from dialoscope.core.json_values import undefined_as_null
from dialoscope.core.tally import Column, Ragged, Tally
from dialoscope.metrics import Metric
from dialoscope.metrics import metric as read_metric
from dialoscope.runs.provenance import Provenance
from dialoscope.runs.rating_columns import Ratings
from dialoscope.runs.result import CONFIDENCE, DRAWS, ReplyIndex, Result

FORMAT = "dialoscope run"
VERSION = 1
FILES = re.compile(r"manifest\.json|(replies|statistics|ratings)\.parquet|points-\d+\.npy|crowd-\d+\.npz")


def save(result: Result, folder: Path, *, overwrite: bool = False) -> Path:
    """Write the run beside its place and move it there when it is whole."""
    check_target(folder, overwrite=overwrite)
    _refuse_nameless(result.metrics)
    try:
        target = follow_link(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        with stage(target) as staging:
            _write_files(result, staging.new)
            path = staging.place(target, replace=overwrite)
    except OSError as failed:
        raise RunError(f"{folder} cannot be written: {failed.strerror}.") from failed
    if path != target:
        raise RunError(
            f"{folder} was written by another process in the meantime, and is not replaced without "
            f"--overwrite (overwrite=True). This run was saved as {path}."
        )
    return target


def _write_files(result: Result, work: Path) -> None:
    """All files of a run, the manifest last because it lists the others."""
    work.mkdir()
    _write(work / "replies.parquet", _replies_table(result))
    _write(work / "statistics.parquet", _statistics_table(result))
    if len(result.ratings):
        _write(work / "ratings.parquet", _ratings_table(result.ratings))
    for number, tally in enumerate(_tallies_with_files(result).values()):
        tally.write_files(work, number)
    hashes = {path.name: _hash(path) for path in sorted(work.iterdir())}
    manifest = _manifest(result, hashes)
    # ASCII, because paths and commands may hold bytes that are no text.
    text = json.dumps({**manifest, "seal": _seal(manifest)}, indent=1, allow_nan=False)
    (work / "manifest.json").write_text(text + "\n", encoding="utf-8")


def check_target(folder: Path, *, overwrite: bool = False) -> None:
    """Refuse early a folder that would be overwritten, or cannot be written."""
    try:
        target = follow_link(folder)
        recover(target)
        check_writable(target)
        exists = target.exists()
    except OSError as failed:
        raise RunError(f"{folder} cannot be written: {failed.strerror}.") from failed
    if exists and not overwrite:
        raise RunError(
            f"{folder} exists already. Choose another name, or replace it with --overwrite (overwrite=True)."
        )
    if exists and not _holds_only_a_run(folder):
        raise RunError(
            f"{folder} is not a run, or holds more than one, so it is not replaced. Choose another name."
        )


def _holds_only_a_run(folder: Path) -> bool:
    try:
        _read_manifest(folder)
        return all(FILES.fullmatch(path.name) for path in folder.iterdir())
    except (RunError, OSError):
        return False


def _refuse_nameless(metrics: tuple[Metric[Any], ...]) -> None:
    """A run can be loaded only if its metrics can be made again from their names."""
    for metric in metrics:
        try:
            read_again = read_metric(str(metric))
        except MetricError as unknown:
            raise RunError(
                f"{metric} cannot be saved, for it could not be loaded: {unknown} "
                "Register it through the entry point 'dialoscope.metrics' of its package."
            ) from unknown
        if read_again != metric:
            raise RunError(
                f"{metric} cannot be saved: its name stands for {read_again.signature}, "
                f"not {metric.signature}."
            )


def load(folder: Path) -> Result:
    """Read a run, refusing anything that is not whole and unchanged."""
    _recover(folder)
    manifest = _read_manifest(folder)
    _check_hashes(folder, manifest)
    try:
        metrics = tuple(read_metric(entry["metric"]) for entry in manifest["metrics"])
        _check_signatures(folder, metrics, manifest)
        replies = _read(folder / "replies.parquet")
        statistics = _read(folder / "statistics.parquet")
        tallies = _tallies(folder, metrics, manifest, replies, statistics)
        return Result(
            replies=_index(replies, tuple(manifest["systems"])),
            metrics=metrics,
            tallies={
                metric.statistics: tallies[entry["statistics"]]
                for metric, entry in zip(metrics, manifest["metrics"], strict=True)
            },
            ratings=_ratings(folder, manifest["files"]),
            provenance=_provenance(manifest["provenance"]),
        )
    except MetricError as unknown:
        raise RunError(f"{folder} has a metric that is not installed here: {unknown}") from unknown
    except _BROKEN as broken:
        raise RunError(f"{folder} is not a whole run ({broken}). Score the data again.") from broken


def _tallies(
    folder: Path,
    metrics: tuple[Metric[Any], ...],
    manifest: Mapping[str, Any],
    replies: pa.Table,
    statistics: pa.Table,
) -> dict[str, Tally]:
    """The statistics by their names; a damaged manifest may name those of another metric."""
    tallies: dict[str, Tally] = {}
    for metric, entry in zip(metrics, manifest["metrics"], strict=True):
        name = entry["statistics"]
        if name not in tallies:
            files = _files_of(folder, manifest["files"], entry.get("points"))
            tallies[name] = metric.tally.from_columns(_columns(name, replies, statistics), files)
        if type(tallies[name]) is not metric.tally:
            raise ValueError(f"the statistics of {metric} are not of its kind")
    return tallies


def _columns(name: str, replies: pa.Table, statistics: pa.Table) -> Mapping[str, Column]:
    """The columns of statistics; values that are not among them are in the table of replies."""
    if name not in statistics.column_names:
        return {name: _floats(replies[name])}
    array = statistics[name].combine_chunks()
    if pa.types.is_struct(array.type):
        return {field.name: _read_column(array.field(field.name)) for field in array.type}
    return {name: _read_column(array)}


def _read_column(array: pa.Array) -> Column:
    if pa.types.is_fixed_size_list(array.type):
        values: np.ndarray = array.flatten().to_numpy(zero_copy_only=False)
        return values.reshape(-1, array.type.list_size)
    if pa.types.is_large_list(array.type):
        lengths = array.value_lengths().to_numpy(zero_copy_only=False).astype(np.int64)
        return Ragged(array.flatten().to_numpy(zero_copy_only=False), lengths)
    column: np.ndarray = array.to_numpy(zero_copy_only=False)
    return column


def _files_of(folder: Path, listed: Mapping[str, str], number: int | None) -> dict[str, Path]:
    """The files of statistics with this number, by what they hold; only listed files have been checked."""
    stems = {Path(name).stem: folder / name for name in listed}
    return {stem.partition("-")[0]: path for stem, path in stems.items() if stem.endswith(f"-{number}")}


def _recover(folder: Path) -> None:
    """Put a run back whose process died while it replaced it."""
    try:
        recover(follow_link(folder))
    except OSError as refused:
        raise RunError(f"{folder} cannot be read: {refused.strerror}.") from refused


_BROKEN = (LookupError, TypeError, ValueError, OverflowError, AttributeError, pa.ArrowException, OSError)
"""The errors of reading a run that is not as it was written."""


class RecordedNumbers(NamedTuple):
    """The numbers in the files of a run, to be compared with those that its statistics give."""

    values: dict[str, Floats]
    cells: list[dict[str, Any]]


def read_recorded_numbers(folder: Path) -> RecordedNumbers:
    """Read the numbers in the files of a run that has been loaded already."""
    replies = _read(folder / "replies.parquet")
    values = {name: _floats(replies[name]) for name in replies.column_names[3:]}
    try:
        cells = [_cell(cell) for cell in _read_manifest(folder)["table"]["cells"]]
    except (LookupError, TypeError, OverflowError) as broken:
        raise RunError(f"{folder} is not a whole run ({broken!r}). Score the data again.") from broken
    return RecordedNumbers(values, cells)


def _cell(cell: Any) -> dict[str, Any]:  # noqa: ANN401 - whatever the manifest holds
    """The values of a cell of the recorded table that are compared."""
    fields = {name: cell[name] for name in ("metric", "system", "value")}
    texts, value = (fields["metric"], fields["system"]), fields["value"]
    if not all(isinstance(text, str) for text in texts) or not isinstance(value, (int, float, type(None))):
        raise TypeError(f"a cell of its table is {fields!r:.100}")
    return fields if value is None else {**fields, "value": float(value)}


def _replies_table(result: Result) -> pa.Table:
    names = pa.DictionaryArray.from_arrays(
        pa.array(result.replies.system, pa.int32()), pa.array(result.systems)
    )
    columns = {
        "id": pa.array(result.replies.ids, pa.large_string()),
        "system": names,
        "item": pa.array(result.replies.item),
    }
    values = {
        result.label(metric): _nullable(result.values(metric))
        for metric in result.metrics
        if metric.of_replies
    }
    return pa.table({**columns, **values})


def _statistics_table(result: Result) -> pa.Table:
    """A column for each kind of statistics, save for those that the table of replies holds already."""
    arrays = {
        result.label(metric): _array(result.tallies[key])
        for key, metric in _first_metrics(result).items()
        if not _are_its_values(result, metric)
    }
    return pa.table(arrays or {"none": pa.nulls(len(result.replies))})


def _are_its_values(result: Result, metric: Metric[Any]) -> bool:
    """Whether the statistics of a metric are nothing but the value of each reply."""
    (column, *more) = result.tallies[metric.statistics].columns().values()
    return (
        metric.of_replies
        and not more
        and not isinstance(column, Ragged)
        and column.dtype == float
        and np.array_equal(column, result.values(metric), equal_nan=True)
    )


def _first_metrics(result: Result) -> dict[Hashable, Metric[Any]]:
    """The first metric that uses each kind of statistics, which is what its column is named after."""
    metrics: dict[Hashable, Metric[Any]] = {}
    for metric in result.metrics:
        metrics.setdefault(metric.statistics, metric)
    return metrics


def _array(tally: Tally) -> pa.Array:
    """A column as it is, several as the fields of a struct."""
    arrays = {name: _arrow_column(column) for name, column in tally.columns().items()}
    if len(arrays) == 1:
        return next(iter(arrays.values()))
    return pa.StructArray.from_arrays(list(arrays.values()), list(arrays))


def _arrow_column(column: Column) -> pa.Array:
    if isinstance(column, Ragged):
        offsets = np.concatenate(([0], np.cumsum(column.lengths)))
        return pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(column.values))
    if column.ndim == 2:
        flat = pa.array(np.ascontiguousarray(column).ravel())
        return pa.FixedSizeListArray.from_arrays(flat, column.shape[1])
    return pa.array(column)


def _tallies_with_files(result: Result) -> dict[Hashable, Tally]:
    """Statistics with files of their own, which are numbered in this order."""
    return {key: result.tallies[key] for key in _first_metrics(result) if result.tallies[key].has_files}


def _ratings_table(ratings: Ratings) -> pa.Table:
    return pa.table(
        {
            "reply": pa.array(ratings.reply),
            "aspect": pa.array(ratings.aspect).dictionary_encode(),
            "rater": pa.array(ratings.rater).dictionary_encode(),
            "value": _nullable(ratings.value),
        }
    )


def _ratings(folder: Path, files: Mapping[str, str]) -> Ratings:
    if "ratings.parquet" not in files:
        return Ratings(np.empty(0, np.int64), (), (), np.empty(0))
    table = _read(folder / "ratings.parquet")
    return Ratings(
        table["reply"].to_numpy(),
        tuple(table["aspect"].to_pylist()),
        tuple(table["rater"].to_pylist()),
        _floats(table["value"]),
    )


def _index(replies: pa.Table, systems: tuple[str, ...]) -> ReplyIndex:
    number_of = {name: number for number, name in enumerate(systems)}
    encoded = replies["system"].combine_chunks()
    if not pa.types.is_dictionary(encoded.type):
        encoded = encoded.dictionary_encode()
    renumber = np.array([number_of[name] for name in encoded.dictionary.to_pylist()], np.int64)
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    return ReplyIndex(tuple(replies["id"].to_pylist()), systems, renumber[codes], replies["item"].to_numpy())


def _manifest(result: Result, hashes: Mapping[str, str]) -> dict[str, Any]:
    first, with_files = _first_metrics(result), list(_tallies_with_files(result))
    return {
        "format": FORMAT,
        "version": VERSION,
        "systems": list(result.systems),
        "metrics": [
            {
                "metric": str(metric),
                "signature": metric.signature,
                "statistics": result.label(first[metric.statistics]),
                "points": with_files.index(metric.statistics) if metric.statistics in with_files else None,
            }
            for metric in result.metrics
        ],
        "table": {
            "confidence": CONFIDENCE,
            "draws": DRAWS,
            "cells": undefined_as_null(result.table().content()),
        },
        "provenance": dataclasses.asdict(result.provenance),
        "files": dict(hashes),
    }


def _seal(manifest: Mapping[str, Any]) -> str:
    """A hash of everything the manifest says, files' hashes included."""
    text = json.dumps(manifest, sort_keys=True, separators=(",", ":"))
    return f"sha256:{sha256(text.encode()).hexdigest()}"


def _provenance(record: dict[str, Any]) -> Provenance:
    if "lacking" in record:  # the name of `missing` in runs saved before it was renamed
        record = {name: value for name, value in record.items() if name != "lacking"} | {
            "missing": record["lacking"]
        }
    lists = {name: tuple(record.get(name, ())) for name in ("warnings", "fitted")}
    provenance = Provenance(**{**record, **lists})
    for name, kind in _TYPES.items():
        if not isinstance(getattr(provenance, name), kind):
            raise TypeError(f"its {name} is {getattr(provenance, name)!r:.60}")
    if not all(
        isinstance(entry, dict) and {"licence", "terms"} <= entry.keys()
        for entry in provenance.licences.values()
    ):
        raise ValueError("its licences are not those of a run")
    if provenance.seed < 0 or not all(
        isinstance(text, str) for text in (*provenance.warnings, *provenance.fitted)
    ):
        raise ValueError("its provenance is not that of a run")
    return provenance


_TYPES: dict[str, Any] = {
    **dict.fromkeys(("data", "missing", "command", "started"), str),
    **dict.fromkeys(("replies", "skipped", "seed"), int),
    **dict.fromkeys(("versions", "models", "licences"), dict),
    "source": (dict, type(None)),
    "seconds": (int, float),
}
"""The types of the fields of a provenance in the manifest."""


def _read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / "manifest.json"
    try:
        if not folder.is_dir():
            raise RunError(f"There is no run at {folder}.")
        if not path.is_file():
            raise RunError(f"{folder} is not a run: it has no manifest.json.")
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except OSError as refused:
        raise RunError(f"{path} cannot be read: {refused.strerror}.") from refused
    except (ValueError, RecursionError) as broken:
        raise RunError(f"{path} cannot be read ({broken}). Score the data again.") from broken
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise RunError(f"{folder} is not a run: its manifest.json was written by something else.")
    if manifest.get("version") != VERSION:
        raise RunError(
            f"{folder} has run format {manifest.get('version')}, this Dialoscope reads {VERSION}. "
            "Use the version of Dialoscope that wrote it, or score the data again."
        )
    return manifest


def _check_hashes(folder: Path, manifest: Mapping[str, Any]) -> None:
    content = {key: value for key, value in manifest.items() if key != "seal"}
    if manifest.get("seal") != _seal(content):
        raise RunError(
            f"{folder}/manifest.json was changed: its seal is {manifest.get('seal')}, "
            f"its content has {_seal(content)}. Score the data again."
        )
    files = manifest.get("files")
    if not isinstance(files, dict) or not {"replies.parquet", "statistics.parquet"} <= files.keys():
        raise RunError(f"{folder}/manifest.json does not list the run's files. Score the data again.")
    for name, expected in files.items():
        path = folder / Path(name).name
        if not path.is_file():
            raise RunError(f"{folder} is damaged: {name} is missing. Score the data again.")
        try:
            actual = _hash(path)
        except OSError as refused:
            raise RunError(f"{path} cannot be read: {refused.strerror}.") from refused
        if actual != expected:
            raise RunError(
                f"{folder} is damaged or was changed: {name} has the hash {actual}, "
                f"the manifest says {expected}. Score the data again."
            )


def _check_signatures(folder: Path, metrics: tuple[Metric[Any], ...], manifest: Mapping[str, Any]) -> None:
    for metric, entry in zip(metrics, manifest["metrics"], strict=True):
        if metric.signature != entry["signature"]:
            raise RunError(
                f"{folder} holds {entry['signature']}, but this Dialoscope makes {metric.signature}: "
                "the numbers are not the same thing. Use the version that wrote it "
                f"({manifest['provenance']['versions'].get('dialoscope')}), or score the data again."
            )


def _write(path: Path, table: pa.Table) -> None:
    pq.write_table(table, path, compression="zstd", row_group_size=1 << 16)
    pa.default_memory_pool().release_unused()  # a million replies leave much behind


def _read(path: Path) -> pa.Table:
    # From memory, because Arrow opens only paths that are text. Without threads, because a process whose
    # Arrow threads had just worked was seen to abort at its exit, eight times in 390.
    with pq.ParquetFile(pa.BufferReader(path.read_bytes()), pre_buffer=False) as file:
        return file.read(use_threads=False)


def _hash(path: Path) -> str:
    return f"sha256:{hash_file(path)}"


def _nullable(values: np.ndarray) -> pa.Array:
    return pa.array(values, from_pandas=True)


def _floats(column: pa.ChunkedArray | pa.Array) -> np.ndarray:
    return np.asarray(
        column.to_numpy(zero_copy_only=False) if isinstance(column, pa.Array) else column.to_numpy(), float
    )
