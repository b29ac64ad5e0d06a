"""Parquet files, and folders saved by `save_to_disk` of datasets.

Arrow takes a fifth of a second to import, so each function imports it when called.
"""

import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from dialoscope.core.errors import DataError
from dialoscope.data.cells import Cells
from dialoscope.data.columns import ColumnNames
from dialoscope.data.opening import OpenSource
from dialoscope.data.problems import BadRow, ReadLog
from dialoscope.data.source import Source, error_reason

if TYPE_CHECKING:
    import pyarrow as pa

_BATCH = 1024
"""Number of rows that are converted to Python objects at a time."""

_BLOCK = 2**20

MOST_UNPACKED = 2**30
"""Maximum unpacked size of a packed Parquet file in bytes; it must be unpacked to the disk to be read."""


class ArrowTable:
    """A table that is read in batches of rows."""

    def __init__(self, schema: "pa.Schema", batches: Iterator["pa.RecordBatch"], names: ColumnNames) -> None:
        self.columns: Sequence[str] = schema.names
        self._batches = batches
        ignored = set(names.find_ignored(schema.names))
        self._used = [name for name in dict.fromkeys(schema.names) if name not in ignored]

    def records(self) -> Iterator[tuple[int, Cells | BadRow]]:
        """Yield each row with its number."""
        number = 0
        for batch in self._batches:
            for cells in _convert(batch.select(self._used)):
                number += 1
                yield number, cells


@contextmanager
def parquet_table(file: OpenSource, names: ColumnNames) -> Iterator[ArrowTable]:
    """Open the table in a Parquet file."""
    import pyarrow.parquet as pq

    with _refuse_damage(file.source, "Parquet file"), ExitStack() as stack:
        path = None if file.is_packed else file.source.path
        # The table of contents is at the end, so a stream that cannot seek is copied to a file.
        readable = path or stack.enter_context(_copy_to_disk(file))
        # No threads: a process whose Arrow threads had just worked was seen to abort at its exit.
        parquet = stack.enter_context(pq.ParquetFile(readable, pre_buffer=False))
        columns = [name for name in parquet.schema_arrow.names if not names.find_ignored([name])]
        batches = parquet.iter_batches(_BATCH, columns=columns, use_threads=False)
        if path is not None:
            size = path.stat().st_size - file.peeked
            batches = _report_progress(batches, size, parquet.metadata.num_rows, file.log)
        yield ArrowTable(parquet.schema_arrow, batches, names)


@contextmanager
def folder_table(source: Source, names: ColumnNames, log: ReadLog) -> Iterator[ArrowTable]:
    """Open the table in a folder that `save_to_disk` wrote."""
    import pyarrow as pa

    with _refuse_damage(source, "datasets folder"):
        shards = _find_shards(cast(Path, source.path))
        with pa.OSFile(str(shards[0])) as file:
            schema = pa.ipc.open_stream(file).schema
        batches = (batch for shard in shards for batch in _read_shard(shard, log))
        yield ArrowTable(schema, batches, names)


def _convert(batch: "pa.RecordBatch") -> Iterator[Cells | BadRow]:
    """Yield the rows of a batch as Python objects."""
    maps = [field.name for field in batch.schema if _is_map(field.type)]
    for row in _rows(batch):
        if isinstance(row, BadRow):
            yield row
            continue
        for name in maps:
            row[name] = _as_object(row[name])
        yield row


def _rows(batch: "pa.RecordBatch") -> Iterator[Cells | BadRow]:
    try:
        yield from batch.to_pylist()
    except UnicodeDecodeError:
        for index in range(batch.num_rows):
            yield _convert_single(batch.slice(index, 1))


def _convert_single(row: "pa.RecordBatch") -> Cells | BadRow:
    try:
        return cast(Cells, row.to_pylist()[0])
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        return BadRow(f"not UTF-8: byte 0x{byte:02x} at offset {error.start}; write the column as text again")


def _is_map(type_: "pa.DataType") -> bool:
    import pyarrow as pa

    return bool(pa.types.is_map(type_))


def _as_object(value: Any) -> object:  # noqa: ANN401 - whatever a map holds
    """Return an Arrow map, which is a list of pairs, as a dictionary, and so the maps in it."""
    if not isinstance(value, list) or not all(isinstance(pair, tuple) for pair in value):
        return value
    return {key: _as_object(inner) if inner else inner for key, inner in value}


@contextmanager
def _refuse_damage(source: Source, noun: str) -> Iterator[None]:
    """Turn the errors of Arrow into a `DataError`."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, ValueError, KeyError, OverflowError) as error:
        first_line = str(error).split("\n", 1)[0]
        raise DataError(
            f"{source.name}: this {noun} is damaged, or none at all ({first_line}). Write or fetch it again."
        ) from error


@contextmanager
def _copy_to_disk(file: OpenSource) -> Iterator[BinaryIO]:
    """Copy the bytes to a file without a name, which disappears when it is closed or the process ends."""
    with tempfile.TemporaryFile() as copy:
        while block := file.stream.read(_BLOCK):
            try:
                copy.write(block)
            except OSError as error:
                raise DataError(
                    f"{file.source.name}: cannot be copied to {tempfile.gettempdir()}: "
                    f"{error_reason(error)}. Make room there, set TMPDIR to another folder, "
                    "or name an unpacked file."
                ) from error
            if file.is_packed and copy.tell() > MOST_UNPACKED:
                raise DataError(
                    f"{file.source.name}: unpacked, it is larger than {MOST_UNPACKED // 1024**2} MiB, "
                    "which is more than is unpacked on the way. Unpack it with gunzip and name the outcome."
                )
        copy.seek(0)
        yield cast(BinaryIO, copy)


def _report_progress(
    batches: Iterator["pa.RecordBatch"], size: int, rows: int, log: ReadLog
) -> Iterator["pa.RecordBatch"]:
    """Yield the batches; each counts as its share of the file, since Parquet is not read front to back."""
    rows_read = consumed = 0
    for batch in batches:
        yield batch
        rows_read += batch.num_rows
        log.consume(size * rows_read // rows - consumed)
        consumed = size * rows_read // rows


def _find_shards(folder: Path) -> list[Path]:
    """Return the files with the rows, in their order; only the folder's list excludes stale files."""
    try:
        state = json.loads((folder / "state.json").read_bytes())
        # Only the names are used: a list that refers to other folders is not followed there.
        names = [Path(entry["filename"]).name for entry in state["_data_files"]]
    except (TypeError, KeyError, RecursionError):
        names = []
    if not names:
        raise ValueError("state.json names no data files")
    return [folder / name for name in names]


def _read_shard(shard: Path, log: ReadLog) -> Iterator["pa.RecordBatch"]:
    import pyarrow as pa

    consumed = 0
    with pa.OSFile(str(shard)) as file:
        for batch in pa.ipc.open_stream(file):
            # Arrow trusts the offsets in a stream; following wrong ones would end the process.
            batch.validate(full=True)
            yield batch
            log.consume(file.tell() - consumed)
            consumed = file.tell()
        log.consume(file.size() - consumed)
