"""Read a GGUF file: its metadata, and its tensors as 32-bit numbers.

The format is llama.cpp's (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md). Only the three tensor
types of the registered file are read. The gguf package was tried in its place: it reads every type and gives
the same numbers, but takes three times as long to open a file and twice the memory, and needs three more
packages. The tests compare with it.
"""

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dialoscope.core.errors import AssetError

Floats = NDArray[np.float32]
Bytes = NDArray[np.uint8]

_ALIGNMENT = 32
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_TEXT, _ARRAY = 8, 9


class TensorInfo(NamedTuple):
    """The shape of a tensor, its type and its first byte after the header."""

    shape: tuple[int, ...]
    type: int
    offset: int


@dataclass(frozen=True)
class Gguf:
    """The content of a GGUF file; tensors are read from disk by `tensor`."""

    metadata: Mapping[str, Any]
    tensors: Mapping[str, TensorInfo]
    data: Bytes

    def tensor(self, name: str) -> Floats:
        """Return a tensor as numbers, with the axes in NumPy's order."""
        info = self.tensors[name]
        if info.type not in _TYPES:
            raise AssetError(f"The tensor {name} is of type {info.type}, which cannot be read.")
        tensor_type = _TYPES[info.type]
        size = int(np.prod(info.shape)) // tensor_type.numbers * tensor_type.width
        blocks = self.data[info.offset : info.offset + size].reshape(-1, tensor_type.width)
        return tensor_type.unpack(blocks).reshape(info.shape)


def read(path: Path) -> Gguf:
    """Read the header of a GGUF file; its tensors stay on disk."""
    data = np.memmap(path, dtype=np.uint8, mode="r")
    cursor = _Cursor(data)
    if cursor.read_bytes(4) != b"GGUF":
        raise AssetError(f"{path} is no GGUF file.")
    if (version := cursor.read_number("I")) != 3:
        raise AssetError(f"{path} is written in version {version} of GGUF; version 3 can be read.")
    tensor_count, entry_count = cursor.read_number("Q"), cursor.read_number("Q")
    metadata = {cursor.read_text(): cursor.read_value(cursor.read_number("I")) for _ in range(entry_count)}
    tensors = {cursor.read_text(): cursor.read_tensor_info() for _ in range(tensor_count)}
    start = -(-cursor.position // _ALIGNMENT) * _ALIGNMENT
    return Gguf(MappingProxyType(metadata), MappingProxyType(tensors), data[start:])


class _Cursor:
    """Reads values one after the other."""

    def __init__(self, data: Bytes) -> None:
        self.data = data
        self.position = 0

    def read_bytes(self, size: int) -> bytes:
        self.position += size
        return bytes(self.data[self.position - size : self.position])

    def read_number(self, code: str) -> Any:  # noqa: ANN401 - an integer, a fraction or a truth value
        return struct.unpack("<" + code, self.read_bytes(struct.calcsize("<" + code)))[0]

    def read_text(self) -> str:
        return self.read_bytes(self.read_number("Q")).decode("utf-8")

    def read_value(self, value_type: int) -> Any:  # noqa: ANN401 - a value of any type
        if value_type == _TEXT:
            return self.read_text()
        if value_type != _ARRAY:
            return self.read_number(_NUMBERS[value_type])
        item_type, count = self.read_number("I"), self.read_number("Q")
        return [self.read_value(item_type) for _ in range(count)]

    def read_tensor_info(self) -> TensorInfo:
        shape = tuple(self.read_number("Q") for _ in range(self.read_number("I")))
        return TensorInfo(shape[::-1], self.read_number("I"), self.read_number("Q"))


def _unpack_f32(blocks: Bytes) -> Floats:
    return blocks.view("<f4").astype(np.float32)


def _unpack_q4_1(blocks: Bytes) -> Floats:
    """Unpack a scale and a minimum in half precision, then 32 numbers of four bits, low bits first."""
    scale, minimum = (blocks[:, start : start + 2].copy().view("<f2").astype(np.float32) for start in (0, 2))
    packed = blocks[:, 4:]
    return np.concatenate((packed & 15, packed >> 4), axis=1).astype(np.float32) * scale + minimum


def _unpack_q8_0(blocks: Bytes) -> Floats:
    """Unpack a scale in half precision, then 32 signed bytes."""
    scale = blocks[:, :2].copy().view("<f2").astype(np.float32)
    return blocks[:, 2:].copy().view(np.int8).astype(np.float32) * scale


class _TensorType(NamedTuple):
    """A format of numbers in blocks."""

    numbers: int
    """The number of numbers in a block."""
    width: int
    """The number of bytes of a block."""
    unpack: Callable[[Bytes], Floats]


_TYPES = MappingProxyType(
    {
        0: _TensorType(1, 4, _unpack_f32),
        3: _TensorType(32, 20, _unpack_q4_1),
        8: _TensorType(32, 34, _unpack_q8_0),
    }
)
