"""Parquet files, and folders saved by `save_to_disk` of datasets.

Arrow takes a fifth of a second to import, so each function does so when it is called.
"""

import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from dialoscope.core.errors import DataError
from dialoscope.data.cells import Cells
from dialoscope.data.columns import Names
from dialoscope.data.opening import Opened
from dialoscope.data.problems import BadRow, ReadLog
from dialoscope.data.source import Source, reason

if TYPE_CHECKING:
    import pyarrow as pa

_BATCH = 1024
"""Rows turned into Python objects at a time."""

_BLOCK = 2**20

MOST_UNPACKED = 2**30
"""Bytes that a packed Parquet file may have unpacked, as it must be put on the disk to be read."""


class ArrowTable:
    """A table that comes in batches of rows."""

    def __init__(self, schema: "pa.Schema", batches: Iterator["pa.RecordBatch"], names: Names) -> None:
        self.columns: Sequence[str] = schema.names
        self._batches = batches
        ignored = set(names.ignored(schema.names))
        self._read = [name for name in dict.fromkeys(schema.names) if name not in ignored]

    def records(self) -> Iterator[tuple[int, Cells | BadRow]]:
        """Each row with its number."""
        number = 0
        for batch in self._batches:
            for cells in _cells(batch.select(self._read)):
                number += 1
                yield number, cells


@contextmanager
def parquet_table(file: Opened, names: Names) -> Iterator[ArrowTable]:
    """The table in a Parquet file."""
    import pyarrow.parquet as pq

    with _damage_is_a_data_error(file.source, "Parquet file"), ExitStack() as stack:
        path = None if file.is_packed else file.source.path
        # The table of contents is at the end, so what cannot seek is put where one can.
        place = path or stack.enter_context(_spooled(file))
        # No threads: a process whose Arrow threads had just worked was seen to abort at its exit.
        parquet = stack.enter_context(pq.ParquetFile(place, pre_buffer=False))
        columns = [name for name in parquet.schema_arrow.names if not names.ignored([name])]
        batches = parquet.iter_batches(_BATCH, columns=columns, use_threads=False)
        if path is not None:
            batches = _announced(
                batches, path.stat().st_size - file.peeked, parquet.metadata.num_rows, file.log
            )
        yield ArrowTable(parquet.schema_arrow, batches, names)


@contextmanager
def folder_table(source: Source, names: Names, log: ReadLog) -> Iterator[ArrowTable]:
    """The table in a folder that `save_to_disk` wrote."""
    import pyarrow as pa

    with _damage_is_a_data_error(source, "datasets folder"):
        shards = _shards(cast(Path, source.path))
        with pa.OSFile(str(shards[0])) as file:
            schema = pa.ipc.open_stream(file).schema
        batches = (batch for shard in shards for batch in _streamed(shard, log))
        yield ArrowTable(schema, batches, names)


def _cells(batch: "pa.RecordBatch") -> Iterator[Cells | BadRow]:
    maps = [field.name for field in batch.schema if _is_map(field.type)]
    for piece in _pieces(batch):
        if isinstance(piece, BadRow):
            yield piece
            continue
        for name in maps:
            piece[name] = _unmapped(piece[name])
        yield piece


def _pieces(batch: "pa.RecordBatch") -> Iterator[Cells | BadRow]:
    try:
        yield from batch.to_pylist()
    except UnicodeDecodeError:
        for place in range(batch.num_rows):
            yield _single(batch.slice(place, 1))


def _single(row: "pa.RecordBatch") -> Cells | BadRow:
    try:
        return cast(Cells, row.to_pylist()[0])
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        return BadRow(f"not UTF-8: byte 0x{byte:02x} at offset {error.start}; write the column as text again")


def _is_map(type_: "pa.DataType") -> bool:
    import pyarrow as pa

    return bool(pa.types.is_map(type_))


def _unmapped(value: Any) -> object:  # noqa: ANN401 - whatever a map holds
    """An Arrow map, which comes as pairs, as the object it stands for; maps within as well."""
    if not isinstance(value, list) or not all(isinstance(pair, tuple) for pair in value):
        return value
    return {key: _unmapped(inner) if inner else inner for key, inner in value}


@contextmanager
def _damage_is_a_data_error(source: Source, what: str) -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, ValueError, KeyError, OverflowError) as error:
        first_line = str(error).split("\n", 1)[0]
        raise DataError(
            f"{source.name}: this {what} is damaged, or none at all ({first_line}). Write or fetch it again."
        ) from error


@contextmanager
def _spooled(file: Opened) -> Iterator[BinaryIO]:
    """The bytes in a file without a name, which is gone when it is closed or the process ends."""
    with tempfile.TemporaryFile() as copy:
        while block := file.stream.read(_BLOCK):
            try:
                copy.write(block)
            except OSError as error:
                raise DataError(
                    f"{file.source.name}: cannot be copied to {tempfile.gettempdir()}: {reason(error)}. Make "
                    "room there, set TMPDIR to another folder, or name an unpacked file."
                ) from error
            if file.is_packed and copy.tell() > MOST_UNPACKED:
                raise DataError(
                    f"{file.source.name}: unpacked, it is larger than {MOST_UNPACKED // 1024**2} MiB, "
                    "which is more than is unpacked on the way. Unpack it with gunzip and name the outcome."
                )
        copy.seek(0)
        yield cast(BinaryIO, copy)


def _announced(
    batches: Iterator["pa.RecordBatch"], size: int, rows: int, log: ReadLog
) -> Iterator["pa.RecordBatch"]:
    """The batches; each counts as its share of the file, since Parquet is not read front to back."""
    done = told = 0
    for batch in batches:
        yield batch
        done += batch.num_rows
        log.consume(size * done // rows - told)
        told = size * done // rows


def _shards(folder: Path) -> list[Path]:
    """The files with the rows, in their order; only the folder's list tells stale ones from the rest."""
    try:
        state = json.loads((folder / "state.json").read_bytes())
        # Names only: a list that points elsewhere is not followed there.
        names = [Path(entry["filename"]).name for entry in state["_data_files"]]
    except (TypeError, KeyError, RecursionError):
        names = []
    if not names:
        raise ValueError("state.json names no data files")
    return [folder / name for name in names]


def _streamed(shard: Path, log: ReadLog) -> Iterator["pa.RecordBatch"]:
    import pyarrow as pa

    told = 0
    with pa.OSFile(str(shard)) as file:
        for batch in pa.ipc.open_stream(file):
            # Arrow trusts the offsets in a stream; following wrong ones would end the process.
            batch.validate(full=True)
            yield batch
            log.consume(file.tell() - told)
            told = file.tell()
        log.consume(file.size() - told)
